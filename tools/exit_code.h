// What the command's exit status says.
#pragma once

namespace tidemark::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_failure = 1,     // a bug of ours, or the machine
  exit_usage = 2,       // unknown options, missing arguments
  exit_infeasible = 3,  // what was asked for does not fit
  exit_bad_input = 4,   // a file or a value that is wrong
  exit_gave_up = 5,     // neither found nor refuted within the effort
};

}  // namespace tidemark::cli
