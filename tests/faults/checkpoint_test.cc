// A training run with dropout that is killed again and again, at moments drawn from a seed, and goes on each
// time inside another budget, ends with the bits of one that was left alone and had none.
#include <gtest/gtest.h>

#include "tests/faults/checkpoint_runs.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/base/philox.h"

namespace tidemark {
namespace {

using testing::CheckpointRun;
using testing::run_with_checkpoints;
using testing::ScratchFolder;

TEST(KilledTraining, ResumesToTheSameBitsInsideOtherBudgets) {
  const CheckpointRun whole = run_with_checkpoints(ScratchFolder().path(), 0);
  ASSERT_FALSE(whole.state.empty()) << whole.all;
  ASSERT_GT(whole.events, 100);
  ASSERT_GT(whole.least, 0);
  ASSERT_LT(whole.least, whole.most);
  const unsigned all = seeds(50);
  unsigned kills = 0, finished = 0;
  bool resumed_in_the_middle = false;
  for (std::uint64_t draw = 0; kills < all; ++finished) {
    const ScratchFolder folder;
    for (bool ended = false; !ended;) {
      // Early enough that a run is killed several times on its way, and each resumed run too.
      const long kill_at = kills < all ? 1 + Philox{2024}(draw++)[0] % (whole.events / 3) : 0;
      // From the smallest budget to as much as a plan without one takes.
      const long budget = whole.least + (whole.most - whole.least) * (Philox{2025}(draw)[0] % 5) / 4;
      const CheckpointRun run = run_with_checkpoints(folder.path(), kill_at, budget);
      resumed_in_the_middle |= run.resumed > 0;
      ended = !run.killed;
      kills += run.killed;
      if (ended) ASSERT_EQ(run.state, whole.state) << run.all;
    }
  }
  EXPECT_GE(kills, all);
  EXPECT_GE(finished, 1u);
  EXPECT_TRUE(resumed_in_the_middle);
}

}  // namespace
}  // namespace tidemark
