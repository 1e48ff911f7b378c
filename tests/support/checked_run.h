// Runs a plan in memory that is watched, so that what a plan claims can be held against what its kernels do.
// It stands behind the device (runtime/device.h): memory has guard pages around it, and every launch, also of
// those in the bodies of loops and branches, goes through a check that
//
//   before   fills what is dead by the plan, what the launch is to write and its scratch with a pattern that
//            as numbers is NaN;
//   after    sees that nothing has changed but its results and its scratch, and notes which bytes were
//            written.
//
// Whoever reads what is dead, or not yet written, then computes with NaN, and the bits of the results differ
// from those of a plain run. The library itself knows nothing of this.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark::testing {

struct CheckedOptions {
  int threads = 1;
  // Which of two patterns: what is written looks like at most one of them. They also differ in where memory
  // lies between its guard pages, at the end or at the beginning.
  bool second_pattern = false;
  const Plan* watched = nullptr;  // what the watch believes; null: the plan that is run
};

struct CheckedRun {
  std::vector<std::string> faults;  // the first few: which launch wrote where it may not
  std::vector<std::vector<std::byte>> outputs;
  std::vector<bool> written;  // per byte of the arena
  std::int64_t launches = 0;  // those in bodies included, as often as they ran
};
CheckedRun run_checked(const Graph& graph, const Plan& plan,
                       const std::vector<std::vector<std::byte>>& inputs, const CheckedOptions& options = {});

// The same plan as anybody would run it, in memory of which the operating system says which pages were
// touched.
struct PlainRun {
  std::vector<std::vector<std::byte>> outputs;
  std::vector<bool> pages;  // of the arena: touched
  std::int64_t page_bytes = 0;
};
PlainRun run_plain(const Graph& graph, const Plan& plan, const std::vector<std::vector<std::byte>>& inputs,
                   int threads = 1);

// Which bytes of the arena the plan gives to values, and which a kernel need not write all of: scratch, slots
// for states.
struct PlannedBytes {
  std::vector<bool> values, scratch;
};
PlannedBytes planned_bytes(const Graph& graph, const Plan& plan);

}  // namespace tidemark::testing
