#include "tidemark/base/spelling.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

constexpr std::string_view names[] = {"plan", "frontier", "schedule", "ops"};

TEST(Spelling, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(edit_distance("plan", "pln"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("gtp2", "gpt2"), 1u) << "neighbours swapped";
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(Spelling, ProposesWhatIsClose) {
  EXPECT_EQ(nearest_name("plann", names), "plan");
  EXPECT_EQ(nearest_name("fronteir", names), "frontier");
  EXPECT_EQ(nearest_name("op", names), "ops");
}

TEST(Spelling, ProposesNothingThatIsFar) {
  EXPECT_EQ(nearest_name("layout", names), "");
  EXPECT_EQ(nearest_name("cat", names), "") << "two of three letters differ";
  EXPECT_EQ(nearest_name(std::string(200, 'p'), names), "");
  EXPECT_EQ(nearest_name("plan", {}), "");
}

}  // namespace
}  // namespace tidemark
