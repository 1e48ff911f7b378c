// Makes a run resumable while it goes: lists snapshots in the journal when they have reached their files, and
// writes the adjoint whenever the reversal enters another outer interval, or before a file that an earlier
// resumption would need is given up.
#pragma once
#include <limits>

#include "tidemark/schedule/run/journal.h"
#include "tidemark/schedule/run/run_actions.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark::schedule {

class RunKeeper final : public RunObserver {
 public:
  // `capacity`: slots by level, below zero for any number. `journal`: none for a run that cannot be resumed.
  // `context`: what all blocks rest on.
  RunKeeper(RunActions& actions, Simulation& simulation, SnapshotFiles& files, Journal* journal,
            const BlockContext& context, std::vector<std::int64_t> capacity, Report& report);

  void before_file_store(const Action& action) override;
  void before_file_load(const Action& action) override;
  void poll() override { files_.poll(); }

  void continued(const Journaled& journaled);  // what is in the journal already
  void ended(Step steps);  // the number of steps is known now: it is kept, with the adjoint as it is

 private:
  void checkpoint();
  void committed(const Commit& commit);
  void write_steps(const BlockContext& context);
  BlockContext context() const;

  RunActions& actions_;
  Simulation& simulation_;
  SnapshotFiles& files_;
  Journal* journal_;
  BlockContext context_;
  std::vector<std::int64_t> capacity_;
  Report& report_;
  Step outer_ = std::numeric_limits<Step>::max();  // the earliest state loaded from a file so far
  Step reversed_at_checkpoint_ = 0;
  std::uint64_t adjoint_generation_ = 0;
  std::size_t logged_bytes_ = 0;  // in the journal
  std::uint64_t hashed_ = 0;      // states, in the journal
  bool keeps_hashes_ = true;      // they are as long as those in the journal
};

}  // namespace tidemark::schedule
