// What the command's exit status says.
#pragma once
#include <string_view>

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

// In words, for help.
inline std::string_view meaning_of(ExitCode code) {
  switch (code) {
    case exit_ok:
      return "done";
    case exit_failure:
      return "the machine failed (no memory, no room on the disk, no such device), or a bug of ours";
    case exit_usage:
      return "wrong usage: an unknown command or option, a value that is missing";
    case exit_infeasible:
      return "what was asked for does not fit; the message says what would";
    case exit_bad_input:
      return "bad input: a file or a value that is wrong, with the place";
    case exit_gave_up:
      return "neither found nor refuted within the effort given";
  }
  return "";
}

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
