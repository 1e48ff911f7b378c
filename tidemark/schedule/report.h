// What a run did, beside what its schedule promised.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

struct LevelReport {
  std::string place = {};  // "memory", or the directory
  std::int64_t slots = 0, peak_slots = 0;
  Bytes peak_bytes = {};  // of the states and records held at once
  std::int64_t writes = 0, reads = 0;
  double stall_seconds = 0;  // the run waited for this level
};

// A snapshot whose bytes were not what was written, replaced by recomputing from an earlier one.
struct Healed {
  int level = 0;
  std::int32_t slot = 0;
  Step step = 0, from = 0;  // the state, and the one it was recomputed from
};

struct Resumed {
  bool in_reverse = false;
  Step step = 0;  // in_reverse: steps [step, n) were reversed already; else state `step` was reached
  std::uint64_t actions = 0;  // of the schedule, done before
};

// What RunOptions::memory_left did to a run.
struct BudgetChanges {
  std::int64_t changes = 0;       // how often another number of states was allowed than before
  std::int64_t dropped = 0;       // states that were held and had to go, or went to make room for better ones
  Step extra_forward = 0;         // forward steps beyond those of the first plan; below zero: fewer
  std::int64_t least_slots = -1;  // that were ever allowed; below zero: nobody was asked
};

struct Report {
  Promise promise = {};
  Step advances = 0, recorded = 0, reversed = 0;  // of the schedule, in this process
  Step repeated = 0;                              // forward steps beside it: measuring, healing, resuming
  std::vector<LevelReport> levels = {};
  Bytes staging = {};  // buffers of transfers in flight, beside the levels
  double seconds = 0;
  double stall_seconds = 0;               // waited for transfers to end
  double handling_seconds = 0;            // started transfers: opened, submitted and removed files
  std::int64_t hashed = 0, compared = 0;  // states, when replays are verified
  double largest_deviation = 0;           // of a replay, where the stepper compares for itself
  Step deviating_step = -1;               // the state where it was; below zero: none was compared
  std::vector<Healed> healed = {};
  std::optional<Resumed> resumed = {};
  BudgetChanges budget = {};
  std::int64_t checkpoints = 0;  // adjoints written, to resume from
  std::string io = {};           // "io_uring", "thread", or "" without a directory

  Step predicted_forward() const { return promise.total_forward(); }
  Step actual_forward() const { return advances + recorded; }
  std::string summary() const;  // a few lines of text
};

}  // namespace tidemark::schedule
