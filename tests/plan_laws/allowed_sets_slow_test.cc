// As allowed_sets_test.cc, for many more.
#include <gtest/gtest.h>

#include "tests/support/allowed_sets.h"

namespace tidemark::testing {
namespace {

class AllowedSetsSlow : public ::testing::TestWithParam<int> {};

TEST_P(AllowedSetsSlow, AreKeptAndMoreIsNeverWorse) {
  constexpr unsigned share = 50;
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  for (unsigned k = 0; k < share; ++k) {
    const std::uint64_t seed = 10'000 + static_cast<unsigned>(GetParam()) * share + k;
    EXPECT_EQ(law.check(seed).wrong, "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, AllowedSetsSlow, ::testing::Range(0, 40));

}  // namespace
}  // namespace tidemark::testing
