// Time against memory: the smallest budget, what pins it, and the curve of plans from there to no extra time.
//
//   time │ ╲             every point a verified plan, found from the one before it;
//        │  ╲__          a plan fits every larger budget too, so none is slower than the one to its left
//        │     ╲_____
//        └──────────────▶ memory
//          floor   no recomputation
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

// The plan with the lowest peak that is found, at the least time found for that peak. `options.memory` plays
// no part.
Plan smallest_plan(const Graph& graph, const Target& target, const PlanOptions& options = {});

// Plans for `points` budgets, evenly from the smallest to what the plan without a budget takes; Plan::budget
// says which. Budgets and peaks rise, times fall. One point where nothing can be gained.
std::vector<Plan> frontier(const Graph& graph, const Target& target, const PlanOptions& options = {},
                           int points = 16);

// The nodes that a plan runs, in order: what PlanOptions::warm_start takes.
std::vector<NodeId> executions_of(const Plan& plan);

// The walk behind it, for whatever is planned: from the floor's solution up to the top's, each tried as a
// start for the next. `solve(budget, neighbour)` returns a Point or nothing; a Point has `peak()` and
// `time()`.
template <class Point, class Solve>
std::vector<std::pair<std::int64_t, Point>> walk_frontier(Point floor, Point top, int points, Solve&& solve) {
  const std::int64_t low = floor.peak(), high = top.peak();
  std::vector<std::pair<std::int64_t, Point>> curve;
  if (low < high) {
    const int steps = std::max(1, points - 1);
    curve.emplace_back(low, std::move(floor));
    for (int k = 1; k < steps; ++k) {
      const auto budget = low + static_cast<std::int64_t>(static_cast<double>(high - low) * k / steps);
      const Point& neighbour = curve.back().second;
      auto found = solve(budget, neighbour);
      const bool better = found && found->peak() <= budget && found->time() < neighbour.time();
      curve.emplace_back(budget, better ? std::move(*found) : Point(neighbour));
    }
  }
  curve.emplace_back(high, std::move(top));
  // A plan that is no slower in no more memory takes the place of its neighbour, on either side.
  for (std::size_t i = 1; i < curve.size(); ++i) {
    Point &left = curve[i - 1].second, &right = curve[i].second;
    if (left.time() <= right.time() && left.peak() <= right.peak()) right = left;
  }
  for (std::size_t i = curve.size(); i-- > 1;) {
    Point &left = curve[i - 1].second, &right = curve[i].second;
    if (right.time() <= left.time() && right.peak() <= left.peak()) left = right;
  }
  return curve;
}

}  // namespace tidemark
