// One run from its first action to its last: opens levels and files, goes on where a journal says, carries
// out the schedule, cleans up.
#pragma once
#include <functional>
#include <memory>

#include "tidemark/base/stopwatch.h"
#include "tidemark/schedule/run/journal.h"
#include "tidemark/schedule/run/run_folder.h"
#include "tidemark/schedule/run/run_keeper.h"
#include "tidemark/schedule/run/run_lookahead.h"
#include "tidemark/schedule/run/simulation.h"

namespace tidemark::schedule {

struct Resumable {
  std::string identity;                // empty: the run keeps no journal
  std::optional<Journaled> journaled;  // a run to go on with
};

// Throws Error `run_directory` when the folder holds a run that is not this one.
Resumable look_for_run(const Simulation& simulation, Step steps, const RunOptions& options,
                       const RunFolders& folders);

// What a run holds while it goes.
class Session {
 public:
  Session(Simulation& simulation, const Promise& promise, const RunOptions& options, RunFolders& folders);

  // Begins a journal, or brings everything to where one says. `scout` is the schedule from its beginning; so
  // is what `skip` and `peek` give, the one taking an action, the other only looking.
  void start(const Resumable& resumable, const std::string& plan, ActionStream& scout,
             const std::function<bool(Action&)>& skip, const std::function<const Action*()>& peek);
  void perform(const Action& action);
  void perform(Lookahead& lookahead);  // to its end
  void abandon() noexcept;             // after an error: makes safe what is on its way
  Report close();                      // after success: leaves nothing behind

  RunActions& actions() { return *actions_; }
  Report& report() { return report_; }
  void ended(Step steps) {  // of a run whose length was not known before
    if (keeper_) keeper_->ended(steps);
  }
  const std::vector<bool>& in_files() const { return in_files_; }

 private:
  Simulation& simulation_;
  const RunOptions& options_;
  RunFolders& folders_;
  Stopwatch watch_;
  Report report_;
  std::vector<bool> in_files_;
  std::unique_ptr<SnapshotFiles> files_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<RunActions> actions_;
  std::unique_ptr<RunKeeper> keeper_;
};

// `plan` is written to a new journal, for `look_for_run` to find.
Report run_session(Simulation& simulation, const Schedule& schedule, const RunOptions& options,
                   RunFolders& folders, const Resumable& resumable, const std::string& plan);

}  // namespace tidemark::schedule
