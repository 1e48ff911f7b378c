// What compiled functions hold: the arena they run in, results that the caller has not let go of, and the
// graphs, plans and kernels of the calls they remember.
//
//   fmt::print("{}", step.memory_report().text());    // of one function
//   fmt::print("{}", td::memory_report().text());     // of all there are
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/source.h"

namespace tidemark {

struct FunctionMemory {
  SourceLine where;          // of compile
  Bytes budget;              // 0: none
  Bytes peak;                // of the latest plan: what a call takes, arguments and captured tensors included
  std::string device;        // on which it runs, by the name of its target; empty: the CPU
  Bytes arena;               // reserved, on the device
  Bytes arguments;           // reserved there for arguments that lie elsewhere and are copied for each call
  Bytes host;                // reserved in the host's memory, for values that wait there; of devices
  Bytes disk;                // reserved there
  Bytes disk_values;         // moved there and back so far, by all calls
  Bytes disk_moved;          // what the disk wrote and read for these: less, where they were compressed
  std::string disk_failure;  // why it is not used, where the function does without (DiskBudget::fallback)
  std::size_t arenas = 0;    // without a budget, one for each call that runs beside others
  std::int64_t results = 0;
  Bytes
      held_results;  // larger than 4 KiB each: beside the peak of the next call, unless they are its arguments
  Bytes results_in_arena;  // of these: move to memory of their own at the next call
  std::size_t calls = 0, plans = 0;
  std::int64_t evicted = 0;  // plans that made room for others, ever
  Bytes graphs, plan_bytes, kernels,
      constants;  // constants: tensors made inside the functions, not from_dlpack
  Bytes cache_limit;

  Bytes cached() const { return graphs + plan_bytes + kernels + constants; }
  // Beside the arguments that lie where they are used, and the disk.
  Bytes total() const { return arena + arguments + host + held_results - results_in_arena + cached(); }
  std::string text() const;
};

struct MemoryReport {
  std::vector<FunctionMemory> functions;
  Bytes total() const;
  std::string text() const;
};

// Of every compiled function of the process, in the order they were made.
MemoryReport memory_report();

}  // namespace tidemark
