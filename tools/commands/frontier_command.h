// What `tidemark frontier` was asked for, and the points that answer it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/options/choice_option.h"
#include "tools/options/device_option.h"
#include "tools/options/effort_option.h"
#include "tools/options/model_option.h"

namespace tidemark::cli {

struct FrontierCommand {
  ModelOption model;
  int points = 16;
  EffortOption effort;
  bool fixed_order = false, json = false;
  std::string svg;

  // Graphs of operations only.
  DeviceOption device;            // where the step is to run
  std::string machine;            // plan for the machine in this file
  std::vector<TierBudget> tiers;  // further memories: a curve with them and one without, unless `allow` says
  std::optional<Lossy> lossy;     // forms that values may wait in; built-in models only
  bool split = false;             // in micro-batches where that is faster; built-in models only
  std::vector<Choices> allow;     // a curve for each; none: one with all that is provided for
};

// One plan. Times are costs for a graph of costs and bytes, else predicted seconds.
struct FrontierPoint {
  std::int64_t budget = 0, peak = 0;
  double time = 0, bound = 0;  // no plan within the budget takes less than the bound
  int recomputed = 0;          // runs beyond the first of each node
};

// A curve.
struct Frontier {
  Choices allow = {};
  std::vector<TierBudget> tiers = {};      // beside the memory
  std::string_view unit;                   // of times: "cost" or "s"
  double least_time = 0;                   // nothing recomputed
  std::vector<FrontierPoint> points = {};  // budgets rising, times falling

  std::string name() const;  // what tells it from others in a plot
  double percent(double time) const { return least_time > 0 ? 100 * (time / least_time - 1) : 0; }
};

// A bound holds for every smaller budget too.
void tighten_bounds(std::vector<FrontierPoint>& points);

Frontier frontier_of_dag(const FrontierCommand& command);  // a .dag.json file
// A .ir file or a built-in model: a curve for each set of choices, or for each set of memories, extra times
// counted from the same.
std::vector<Frontier> frontiers_of_graph(const FrontierCommand& command);

}  // namespace tidemark::cli
