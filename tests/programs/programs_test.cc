// Two thousand random programs. `tidemark_fuzz` takes further seeds for as long as one likes, and makes what
// fails smaller.
#include <gtest/gtest.h>

#include "tests/programs/check.h"
#include "tests/support/sanitized.h"
#include "tidemark/ir/print.h"

namespace tidemark::testing {
namespace {

class Programs : public ::testing::TestWithParam<int> {};

TEST_P(Programs, HaveTheSameBitsHoweverTheyRun) {
  constexpr unsigned share = 125;
  int refused = 0;
  for (unsigned k = 0; k < seeds(share); ++k) {
    const std::uint64_t seed = static_cast<unsigned>(GetParam()) * share + k;
    const Finding finding = check(seed, {});
    ASSERT_EQ(finding.what, "") << "seed " << seed << ", " << name_of(finding.part) << ", "
                                << finding.variation.text();
    refused += finding.refused;
  }
  EXPECT_LT(refused, static_cast<int>(seeds(share)) / 10 + 1);
}

INSTANTIATE_TEST_SUITE_P(Sixteenths, Programs, ::testing::Range(0, 16));

}  // namespace
}  // namespace tidemark::testing
