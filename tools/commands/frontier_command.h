// What `tidemark frontier` was asked for, and the points that answer it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/options/effort_option.h"
#include "tools/options/model_option.h"

namespace tidemark::cli {

struct FrontierCommand {
  ModelOption model;
  int points = 16;
  EffortOption effort;
  bool fixed_order = false, json = false;
  std::string svg;
  std::string machine;  // plan for the machine in this file; graphs of operations only
};

// One plan. Times are costs for a graph of costs and bytes, else predicted seconds.
struct FrontierPoint {
  std::int64_t budget = 0, peak = 0;
  double time = 0, bound = 0;  // no plan within the budget takes less than the bound
  int recomputed = 0;          // runs beyond the first of each node
};

struct Frontier {
  std::string_view unit;                   // of times: "cost" or "s"
  double least_time = 0;                   // nothing recomputed
  std::vector<FrontierPoint> points = {};  // budgets rising, times falling

  double percent(double time) const { return least_time > 0 ? 100 * (time / least_time - 1) : 0; }
};

// A bound holds for every smaller budget too.
void tighten_bounds(std::vector<FrontierPoint>& points);

Frontier frontier_of_dag(const FrontierCommand& command);    // a .dag.json file
Frontier frontier_of_graph(const FrontierCommand& command);  // a .ir file or a built-in model

}  // namespace tidemark::cli
