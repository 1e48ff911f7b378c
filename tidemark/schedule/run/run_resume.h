// Goes on with a run that ended before it was done, from its journal and its files.
#pragma once
#include <functional>

#include "tidemark/schedule/run/journal.h"
#include "tidemark/schedule/run/run_actions.h"
#include "tidemark/schedule/run/run_folder.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark::schedule {

// Who a run is: what must be the same for it to be resumed, as JSON. `kind` and `levels` are as they were
// asked for.
std::string identity_of(const Simulation& simulation, Step steps, const RunOptions& options);
// Throws Error `run_directory` that names the first difference.
void require_same(const std::string& journaled, const std::string& now, const std::string& folder);

// Where in the schedule the run can go on: after the last snapshot that was committed with no reverse since
// the last adjoint, or at that adjoint. Throws Error `run_directory` when the schedule has another action
// where the journal says that something was stored, or cannot have written an adjoint where it says that one
// was.
std::uint64_t resume_position(ActionStream& scout, const Journaled& journaled, const std::vector<bool>& files,
                              const std::string& path);

// Brings the simulation and the slots to where they were after `position` actions. The simulation's state
// must be the initial state, its adjoint that of the journal.
void restore(RunActions& actions, Simulation& simulation, const Journaled& journaled, SnapshotFiles& files,
             const RunFolders& folders, std::uint64_t position, const std::function<bool(Action&)>& skip,
             const std::function<const Action*()>& peek, Report& report);

}  // namespace tidemark::schedule
