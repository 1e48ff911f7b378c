// The fuzz target of every format on fixed mutations of its corpus. For longer runs see driver/main.cc.
#include "tests/fuzz/formats.h"

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"

namespace tidemark {
namespace {

using testing::FuzzFormat;

class Formats : public ::testing::TestWithParam<FuzzFormat> {};

TEST_P(Formats, MutatedFilesGiveOnlyCleanErrors) {
  const FuzzFormat& format = GetParam();
  const std::vector<std::string> seeds = testing::seeds_of(format, TIDEMARK_TEST_DIR);
  ASSERT_GE(seeds.size(), 2u);
  const unsigned count = tidemark::seeds(format.corpus ? 5000 : 400);
  testing::Mutator mutator(seeds, format.words);
  int failures = 0;
  for (unsigned i = 0; i < count && failures < 5; ++i) {
    const std::string text = i < seeds.size() ? seeds[i] : mutator.next(i);
    try {
      ASSERT_EQ(format.target(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), 0);
    } catch (const std::exception& error) {
      ++failures;
      ADD_FAILURE() << format.name << ", mutation " << i << ": " << error.what() << "\n" << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Formats, ::testing::ValuesIn(testing::fuzz_formats()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tidemark
