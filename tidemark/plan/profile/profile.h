// What runs of a plan really took: when each kernel began and ended, run by run, beside what was predicted,
// and how many bytes were live meanwhile. Plain data; compile.h records it, docs/profiles.md shows it,
// docs/profile_format.md is the file.
//
// A *kernel* is what a device runs as one: a step by itself, or a group of steps. Times are seconds on a
// monotonic clock. Of the body of a loop or a branch, which runs many times within one kernel, the times of
// all iterations are added up.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/dtype.h"
#include "tidemark/ir/cost.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

struct ProfileStep {
  StepKind kind = StepKind::compute;
  std::string op = {};    // "matmul"; of what computes nothing: "copy", "encode", …
  std::string name = {};  // the user's, of what it makes or moves; may be empty
  std::string file = {};  // the user's line; empty: unknown
  std::uint32_t line = 0;
  std::int32_t kernel = 0;  // that it is part of
  // The step that computed the same first, of a recomputation; that took the value out, of a transfer that
  // brings it back. -1: none.
  std::int32_t origin = -1;
  // What the step adds to its kernel (ir/cost.h): of a group, bytes from and to memory alone.
  WorkKind work = WorkKind::opaque;
  DType dtype = DType::f32;  // of the arithmetic
  double flops = 0;
  double bytes = 0;     // of a copy: as it moves them; of a code: plain
  double speed = 1;     // Cost::speed
  double declared = 0;  // Cost::seconds: regions or the host do the work, and rates play no part
  // Of a copy: the memories, by number. Of a code: its codec.
  std::int32_t from = 0, to = 0;
  std::string codec = {};
};

struct ProfileKernel {
  std::int32_t first = 0, last = 0;  // steps [first, last)
  std::int32_t lane = 0;
  double predicted = 0;  // of one run of it
  double measured = 0;   // median over the runs; of a body: of all iterations of a run
};

// Of a plan, or of the body of a loop or branch. Kernels have all steps, in order.
struct ProfileBody {
  std::int32_t step = 0, region = 0;  // whose body it is, in what encloses it; 0 of the plan's own
  double iterations = 1;              // how often it ran in a run of the plan, median
  std::vector<ProfileStep> steps = {};
  std::vector<ProfileKernel> kernels = {};
  std::vector<ProfileBody> bodies = {};  // of its loops and branches
};

// "tanh mul add": the ops of a kernel, each once, in order; of many the first.
std::string ops_of(const ProfileBody& body, const ProfileKernel& kernel);

struct ProfileRun {
  double begin = 0;  // when it began, counted from the first of the profile
  double seconds = 0;
  std::vector<double> kernel_begin = {}, kernel_end = {};  // of the plan's own kernels, from its begin
};

struct ProfileMemory {
  struct Point {
    double seconds = 0;
    std::int64_t bytes = 0;  // from then on
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::string name = {};
  std::int64_t input_bytes = 0, arena_bytes = 0;  // as planned
  std::int64_t high_water = 0;                    // one past the last byte of the arena that was given out
  std::vector<Point> curve = {};                  // live bytes, inputs included, in the typical run
  std::int64_t planned_peak() const { return input_bytes + arena_bytes; }
  std::int64_t peak() const { return input_bytes + high_water; }  // as it was
};

struct Profile {
  std::string plan_hash = {};  // 16 hexadecimal digits
  std::string target = {};     // that the plan was made for
  std::string machine = {};    // whose rates predicted
  double predicted = 0;        // of the whole plan, lanes side by side
  std::vector<std::string> lanes = {};
  std::vector<ProfileMemory> memories = {};
  std::vector<ProfileRun> runs = {};  // at least one
  ProfileBody body = {};              // the plan's own

  double measured() const;            // median over the runs
  const ProfileRun& typical() const;  // the run whose seconds are that; of an even number the faster

  // A page of text: predicted and measured, the kinds of kernels that take the time, memory.
  std::string summary() const;
  // For chrome://tracing and ui.perfetto.dev: the typical run.
  std::string to_trace() const;
  // Throw Error bad_file where it cannot be written.
  void write(const std::string& path) const;
  void write_trace(const std::string& path) const;
};

std::string to_json(const Profile& profile);

// Throws Error bad_plan_file, naming the place ("/steps/3/line"), on anything that no profile can be.
Profile profile_from_json(std::string_view text, std::string_view file = "");  // `file`: its name, for errors
// The same from a file. Throws Error bad_file when it cannot be read.
Profile load_profile(const std::string& path);

}  // namespace tidemark
