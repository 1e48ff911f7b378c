// What `tidemark plan` found for a graph of costs and bytes, for people and as JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tidemark/solve/dag/schedule.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark::cli {

struct DagReport {
  std::string file;
  std::optional<std::int64_t> budget = {};
  bool fixed_order = false;
  std::int64_t base_peak = 0;  // of the file's own order
  double base_cost = 0;        // every node once

  bool fits = false;
  Sequence schedule = {};      // if it fits; else the one with the least memory
  ScheduleCheck figures = {};  // of the schedule
  double cost_bound = 0;       // no schedule within the budget costs less
  bool optimal = false;

  std::int64_t memory_bound = 0;  // no schedule has a lower peak
  std::string effort = {};
  std::int64_t work = 0;
  SolverLog solvers = {};  // what each of them did; with a budget
  double seconds = 0;

  double overhead_percent(double cost) const { return base_cost > 0 ? 100 * (cost / base_cost - 1) : 0; }
};

void print_text(const Dag& dag, const DagReport& report);
void print_json(const Dag& dag, const DagReport& report);

// Of a schedule that was only judged.
void print_verdict(const DagReport& report);
void print_verdict_json(const DagReport& report);

// Why the budget is too small, as an error message.
std::string misfit_text(const Dag& dag, const DagReport& report);

}  // namespace tidemark::cli
