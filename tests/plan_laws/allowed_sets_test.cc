// Random training steps, budgets and sets of choices: plans verify, keep every budget and do only what is
// allowed; exact ones keep every bit; and allowing more is never slower and fits wherever less did.
#include <gtest/gtest.h>

#include "tests/support/allowed_sets.h"
#include "tests/support/sanitized.h"

namespace tidemark::testing {
namespace {

class AllowedSets : public ::testing::TestWithParam<int> {};

TEST_P(AllowedSets, AreKeptAndMoreIsNeverWorse) {
  constexpr unsigned share = 6;
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  int busy = 0;
  for (unsigned k = 0; k < seeds(share); ++k) {
    const std::uint64_t seed = static_cast<unsigned>(GetParam()) * share + k;
    const AllowedOutcome outcome = law.check(seed);
    ASSERT_EQ(outcome.wrong, "") << "seed " << seed;
    busy += outcome.again || outcome.packed || outcome.moved || outcome.cut;
  }
  if (!few) {
    EXPECT_GT(busy, static_cast<int>(share) / 4);
  }
}

// A plan whose loops computed steps again counted as one without extra time; one that fits without the disk
// was made without care for the budget; the lowest plan without the disk was no candidate beside those with
// it.
TEST(AllowedSetsFound, StayMended) {
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  for (const std::uint64_t seed : {10405u, 10407u, 10540u, 11004u})
    EXPECT_EQ(law.check(seed).wrong, "") << "seed " << seed;
}

// The last two undid blocks where smaller forms were faster, and fewer with recomputation allowed than was
// best with these forms.
TEST(AllowedSetsWithBlocks, AreKeptAndMoreIsNeverWorse) {
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  int undone = 0;
  for (const std::uint64_t seed : {20000u, 20006u, 20007u, 20009u, 20013u, 20024u, 20490u}) {
    const AllowedOutcome outcome = law.check(seed);
    EXPECT_EQ(outcome.wrong, "") << "seed " << seed;
    undone += outcome.undone;
  }
  EXPECT_GE(undone, 3);
}

TEST(AllowedSetsWithMasks, AreKeptAndMoreIsNeverWorse) {
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  for (std::uint64_t seed = 40000; seed < 40000 + seeds(10); ++seed)
    EXPECT_EQ(law.check(seed).wrong, "") << "seed " << seed;
}

TEST(AllowedSetsWithLoops, AreKeptAndMoreIsNeverWorse) {
  const ScratchFolder folder;
  const AllowedLaw law(folder.path());
  int moved = 0;
  for (const std::uint64_t seed : {30009u, 30012u, 30017u, 30018u}) {
    const AllowedOutcome outcome = law.check(seed);
    EXPECT_EQ(outcome.wrong, "") << "seed " << seed;
    moved += outcome.moved;
  }
  EXPECT_GE(moved, 1);
}

INSTANTIATE_TEST_SUITE_P(Quarters, AllowedSets, ::testing::Range(0, 4));

}  // namespace
}  // namespace tidemark::testing
