// As allowed_sets_test.cc, for many more.
#include <gtest/gtest.h>

#include "tests/support/allowed_sets.h"

namespace tidemark::testing {
namespace {

// The first seed of fifty.
class AllowedSetsSlow : public ::testing::TestWithParam<unsigned> {};
constexpr unsigned share = 50;

TEST_P(AllowedSetsSlow, AreKeptAndMoreIsNeverWorse) {
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  for (unsigned k = 0; k < share; ++k) {
    const std::uint64_t seed = GetParam() + k;
    EXPECT_EQ(law.check(seed).wrong, "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, AllowedSetsSlow, ::testing::Range(10'000u, 12'000u, share));
INSTANTIATE_TEST_SUITE_P(WithBlocks, AllowedSetsSlow, ::testing::Range(20'000u, 20'500u, share));

}  // namespace
}  // namespace tidemark::testing
