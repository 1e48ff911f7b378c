// The same, killed once at every single event of a run.
#include <gtest/gtest.h>

#include "tests/faults/checkpoint_runs.h"
#include "tests/support/scratch_folder.h"

namespace tidemark {
namespace {

using testing::CheckpointRun;
using testing::run_with_checkpoints;
using testing::ScratchFolder;

TEST(KilledTrainingSlow, AtEveryEventResumesToTheSameBits) {
  const CheckpointRun whole = run_with_checkpoints(ScratchFolder().path(), 0);
  ASSERT_FALSE(whole.state.empty()) << whole.all;
  for (long kill_at = 1; kill_at <= whole.events; ++kill_at) {
    const ScratchFolder folder;
    ASSERT_TRUE(run_with_checkpoints(folder.path(), kill_at).killed) << kill_at;
    const CheckpointRun rest = run_with_checkpoints(folder.path(), 0);
    ASSERT_EQ(rest.state, whole.state) << "killed at event " << kill_at << "\n" << rest.all;
  }
}

}  // namespace
}  // namespace tidemark
