#include "tidemark/base/source.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tidemark/base/ids.h"
#include "tidemark/base/philox.h"

namespace tidemark {
namespace {

TEST(SourceLine, ComesFromTheCompiler) {
  const SourceLine here = std::source_location::current();
  EXPECT_TRUE(here.known());
  EXPECT_EQ(here.line, static_cast<std::uint32_t>(__LINE__ - 2));
  EXPECT_TRUE(short_form(here).starts_with("source_test.cc:"));
}

TEST(SourceLine, TheShortFormLeavesDirectoriesOut) {
  EXPECT_EQ(short_form({"/a/b/train.cpp", 88}), "train.cpp:88");
  EXPECT_EQ(short_form({"train.cpp", 1}), "train.cpp:1");
  EXPECT_EQ(short_form({}), "");
  EXPECT_FALSE(SourceLine().known());
}

TEST(Intern, TheSameTextIsStoredOnce) {
  std::string text = "file one.cc";
  const std::string_view first = intern(text);
  text[0] = 'x';
  EXPECT_EQ(first, "file one.cc");
  EXPECT_EQ(intern("file one.cc").data(), first.data());
  EXPECT_NE(intern(text).data(), first.data());
}

TEST(Intern, StaysPutWhileManyThreadsIntern) {
  const std::string_view first = intern("anchor");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(intern("text " + std::to_string(i)), "text " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(intern("anchor").data(), first.data());
}

TEST(Ids, AreInvalidUntilSetAndDoNotMix) {
  EXPECT_FALSE(ValueId().valid());
  EXPECT_TRUE(ValueId(0).valid());
  EXPECT_LT(ValueId(1), ValueId(2));
  EXPECT_FALSE((std::is_convertible_v<ValueId, NodeId>));
  EXPECT_FALSE((std::is_convertible_v<int, ValueId>));
}

// Known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, GivesThePublishedWords) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(Philox{0}(0, 0), (Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(Philox{~std::uint64_t{0}}(~std::uint64_t{0}, ~std::uint64_t{0}),
            (Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(Philox{0x299f31d0a4093822u}(0x85a308d3243f6a88u, 0x0370734413198a2eu),
            (Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, UnitNumbersStayBelowOne) {
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_LT(unit_float(~0u), 1.0f);
  EXPECT_EQ(unit_double(0, 0), 0.0);
  EXPECT_LT(unit_double(~0u, ~0u), 1.0);
}

}  // namespace
}  // namespace tidemark
