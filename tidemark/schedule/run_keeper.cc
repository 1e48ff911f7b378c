#include "tidemark/schedule/run_keeper.h"

namespace tidemark::schedule {

RunKeeper::RunKeeper(RunActions& actions, Simulation& simulation, SnapshotFiles& files, Journal* journal,
                     std::vector<std::int64_t> capacity, Report& report)
    : actions_(actions),
      simulation_(simulation),
      files_(files),
      journal_(journal),
      capacity_(std::move(capacity)),
      report_(report) {
  if (journal_) files_.on_commit = [this](const Commit& commit) { committed(commit); };
}

void RunKeeper::continued(const Journaled& journaled) {
  logged_bytes_ = journaled.log.size();
  hashed_ = journaled.hashes.size();
  reversed_at_checkpoint_ = actions_.reversed();
  if (journaled.adjoint) adjoint_generation_ = journaled.adjoint->generation;
}

// Dropped files still count against the level: they go when the run can be resumed from here.
void RunKeeper::before_file_store(const Action& action) {
  if (!journal_) return;
  const std::int64_t capacity = capacity_[static_cast<std::size_t>(action.level)];
  const std::int64_t dropped = files_.dropped_on(action.level);
  if (capacity < 0 || dropped == 0 || actions_.table().totals(action.level).slots + dropped <= capacity)
    return;
  checkpoint();
  files_.drain();
}

void RunKeeper::before_file_load(const Action& action) {
  if (!journal_ || action.step >= outer_) return;
  outer_ = action.step;
  if (actions_.reversed() > reversed_at_checkpoint_) checkpoint();
}

void RunKeeper::checkpoint() {
  simulation_.save_adjoint(files_.open_adjoint(simulation_.adjoint_bytes()));
  files_.close_adjoint({.step = actions_.at(), .is_record = false, .action = actions_.position()});
  reversed_at_checkpoint_ = actions_.reversed();
  ++report_.checkpoints;
}

void RunKeeper::committed(const Commit& commit) {
  write_steps();
  if (commit.level != working) return journal_->stored(commit);
  journal_->adjoint(commit);
  if (adjoint_generation_ != 0) files_.remove_adjoint(adjoint_generation_);
  adjoint_generation_ = commit.generation;
  files_.reclaim(commit.generation);
}

// What steps decided, and what they hashed to, before anything that rests on it.
void RunKeeper::write_steps() {
  const auto log = simulation_.log.bytes();
  if (log.size() > logged_bytes_) journal_->log(log.subspan(logged_bytes_), simulation_.log.entry_bytes());
  logged_bytes_ = log.size();
  const auto hashes = actions_.hashes().known();
  if (hashes.size() > hashed_) journal_->hashes(static_cast<Step>(hashed_), hashes.subspan(hashed_));
  hashed_ = hashes.size();
}

}  // namespace tidemark::schedule
