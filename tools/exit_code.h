// What the command's exit status says.
#pragma once
#include "tidemark/base/error.h"

namespace tidemark::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_failure = 1,     // a bug of ours, or the machine
  exit_usage = 2,       // unknown options, missing arguments
  exit_infeasible = 3,  // what was asked for does not fit
  exit_bad_input = 4,   // a file or a value that is wrong
  exit_gave_up = 5,     // neither found nor refuted within the effort
};

inline ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::infeasible_budget:
      return exit_infeasible;
    case ErrorCode::disk_full:
    case ErrorCode::disk_failure:
    case ErrorCode::out_of_memory:
      return exit_failure;
    default:
      return exit_bad_input;
  }
}

}  // namespace tidemark::cli
