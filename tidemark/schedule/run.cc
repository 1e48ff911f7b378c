#include "tidemark/schedule/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run/run_session.h"

namespace tidemark::schedule::detail {

Report run(Simulation& simulation, const Schedule& schedule, const RunOptions& options) {
  refuse_memory_left(options, "a run on a schedule of one's own");
  RunFolders folders(options);
  const Promise& promise = schedule.promise();
  std::string plan = fmt::format("{{\"schedule\":[{},{}", promise.advances, promise.recorded);
  for (const std::int64_t slots : promise.slots) plan += fmt::format(",{}", slots);
  plan += "]}";
  const Resumable resumable = look_for_run(simulation, promise.steps, options, folders);
  if (resumable.journaled && resumable.journaled->plan != plan)
    fail(ErrorCode::run_directory,
         {.what = fmt::format("{} holds a run on another schedule", folders.journal()),
          .help = "give the run another name, remove the folder, or do not resume"});
  return run_session(simulation, schedule, options, folders, resumable, plan);
}

}  // namespace tidemark::schedule::detail
