// Errors are for people. Every mistake of the caller is an `Error` with the same four parts:
//
//   error[TM0203]: matmul: the inner sizes differ: 784 and 512          code, what
//     --> train.cpp:88                                                  where: the user's own line
//     expected: lhs (…, M, K) and rhs (…, K, N) with equal K            expected
//     help: transpose the right operand                                 help
//
// Codes are documented one by one in docs/errors.md. `InternalError` is a bug of ours, `DeviceError` the
// machine's.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "tidemark/base/source.h"

namespace tidemark {

enum class ErrorCode : int {
  // 01xx: memory and plans
  infeasible_budget = 101,
  bad_plan_file = 102,
  bad_layout_input = 103,
  bad_plan_option = 104,
  bad_machine_file = 105,
  bad_schedule = 106,
  // 02xx: types
  shape_mismatch = 201,
  dtype_mismatch = 202,
  bad_attribute = 203,
  index_out_of_range = 204,
  wrong_operand_count = 205,
  bad_dlpack = 206,
  // 03xx: differentiation
  not_differentiable = 301,
  loss_not_scalar = 302,
  // 04xx: tracing
  foreign_tensor = 401,
  traced_value_read = 402,
  structure_mismatch = 403,
  // 05xx: text and files
  syntax = 501,
  unknown_op = 502,
  bad_file = 503,
  malformed_graph = 504,
  bad_data_file = 505,
  tensors_differ = 506,
  // 06xx: running
  no_kernel = 601,
  numeric = 602,
  memory_in_use = 603,
  out_of_memory = 604,
  read_only_memory = 605,
  disk_failure = 606,
  no_device = 607,
  device_failure = 608,
  // 07xx: reversing a simulation
  bad_run_option = 701,
  replay_diverged = 702,
  snapshot_lost = 703,
  run_directory = 704,
  disk_full = 705,
  // 08xx: data and training
  bad_loader_option = 801,
  data_source_failed = 802,
  no_checkpoint = 803,
  // 09xx: scalars
  tape_full = 901,
  foreign_real = 902,
  bad_tape_use = 903,
};

struct ErrorParts {
  std::string what;
  std::string expected = "";
  SourceLine where = {};
  std::string help = "";
  std::vector<std::string> notes = {};  // further indented lines, e.g. "peak: …"
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, ErrorParts parts);
  ErrorCode code() const { return code_; }
  const ErrorParts& parts() const { return parts_; }
  const SourceLine& where() const { return parts_.where; }
  // Adds the user's line where the one who noticed could not know it.
  void set_where(SourceLine where);

 private:
  ErrorCode code_;
  ErrorParts parts_;
};

// A broken invariant of the library itself.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

// The machine failed: out of memory, disk full, a driver's error.
class DeviceError : public Error {
  using Error::Error;
};

[[noreturn]] void fail(ErrorCode code, ErrorParts parts);

// What `body` returns. An Error out of it that names no line gets this one.
template <class Body>
decltype(auto) at_line(SourceLine where, Body&& body) {
  try {
    return body();
  } catch (Error& error) {
    if (!error.where().known()) error.set_where(where);
    throw;
  }
}

}  // namespace tidemark
