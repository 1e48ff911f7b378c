#include "tidemark/schedule/run/run_keeper.h"

#include <algorithm>

namespace tidemark::schedule {

RunKeeper::RunKeeper(RunActions& actions, Simulation& simulation, SnapshotFiles& files, Journal* journal,
                     const BlockContext& context, std::vector<std::int64_t> capacity, Report& report)
    : actions_(actions),
      simulation_(simulation),
      files_(files),
      journal_(journal),
      context_(context),
      capacity_(std::move(capacity)),
      report_(report) {
  if (!journal_) return;
  files_.on_commit = [this](const Commit& commit) { committed(commit); };
  files_.context = [this] { return this->context(); };
}

void RunKeeper::continued(const Journaled& journaled) {
  logged_bytes_ = journaled.log.size();
  keeps_hashes_ = journaled.hash_words == 0 || journaled.hash_words == actions_.hashes().words();
  hashed_ = journaled.hash_words == 0 ? 0 : journaled.hashes.size() / journaled.hash_words;
  reversed_at_checkpoint_ = actions_.reversed();
  if (journaled.adjoint) adjoint_generation_ = journaled.adjoint->generation;
}

// The journal may know more hashes than a run that does not verify.
BlockContext RunKeeper::context() const {
  BlockContext now = context_;
  now.log_entries = static_cast<std::uint64_t>(simulation_.log.count());
  now.log_digest = simulation_.log.digest();
  const ReplayHashes& hashes = actions_.hashes();
  now.hashes =
      keeps_hashes_ ? std::max<std::uint64_t>(hashed_, hashes.known().size() / hashes.words()) : hashed_;
  return now;
}

void RunKeeper::ended(Step steps) {
  context_.length = steps;
  if (!journal_ || steps == 0) return;
  journal_->length(steps);
  checkpoint();
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
  write_steps(commit.context);
  if (commit.level != working) return journal_->stored(commit);
  journal_->adjoint(commit);
  if (adjoint_generation_ != 0) files_.remove_adjoint(adjoint_generation_);
  adjoint_generation_ = commit.generation;
  files_.reclaim(commit.generation);
}

// What steps decided, and what they hashed to, before the block that rests on it; and no more, so that what
// nothing rests on can be decided again.
void RunKeeper::write_steps(const BlockContext& context) {
  const std::size_t entry = simulation_.log.entry_bytes();
  const auto log = simulation_.log.bytes().first(context.log_entries * entry);
  if (log.size() > logged_bytes_) {
    journal_->log(log.subspan(logged_bytes_), entry);
    logged_bytes_ = log.size();
  }
  if (context.hashes > hashed_) {
    const std::size_t words = actions_.hashes().words();
    const auto hashes = actions_.hashes().known().first(context.hashes * words);
    journal_->hashes(static_cast<Step>(hashed_), words, hashes.subspan(hashed_ * words));
    hashed_ = context.hashes;
  }
}

}  // namespace tidemark::schedule
