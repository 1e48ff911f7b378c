// One run from its first action to its last: opens levels and files, goes on where a journal says, carries out the
// schedule, cleans up.
#pragma once
#include "tidemark/schedule/journal.h"
#include "tidemark/schedule/run_folder.h"
#include "tidemark/schedule/simulation.h"

namespace tidemark::schedule {

struct Resumable {
  std::string identity;                // empty: the run keeps no journal
  std::optional<Journaled> journaled;  // a run to go on with
};

// Throws Error `run_directory` when the folder holds a run that is not this one.
Resumable look_for_run(const Simulation& simulation, Step steps, const RunOptions& options,
                       const RunFolders& folders);

// `plan` is written to a new journal, for `look_for_run` to find.
Report run_session(Simulation& simulation, const Schedule& schedule, const RunOptions& options,
                   RunFolders& folders, const Resumable& resumable, const std::string& plan);

}  // namespace tidemark::schedule
