// The values of a plan that are worth explaining, with what became of each: read off the plan, bodies of
// loops and branches included. Alternatives are for others to find.
#pragma once
#include <vector>

#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/explain.h"

namespace tidemark {

struct Target;

// A graph with its plan: the program's, or that of a region.
struct PlannedRegion {
  const Graph* graph = nullptr;
  const Plan* plan = nullptr;
  ExplainedRegion region;
  int parent = -1;  // the one around it; -1: none
};
// The program first, each before what is inside of it.
std::vector<PlannedRegion> planned_regions(const Graph& graph, const Plan& plan);

// What waits for the backward pass, and what takes a 64th of the peak or more. Sorted as Explanation::values.
// `skip`: passes that were left out when the plan was made.
std::vector<ExplainedValue> explained_values(const std::vector<PlannedRegion>& regions, const Target& target,
                                             const Machine& machine,
                                             const std::vector<std::string>& skip = {});

// What became of every value, without the rest.
struct DecidedValue {
  std::vector<std::uint32_t> path;  // of its region
  std::uint32_t value = 0;
  Decision decision = Decision::kept;
};
std::vector<DecidedValue> decisions_of(const std::vector<PlannedRegion>& regions, const Target& target,
                                       const Machine& machine, const std::vector<std::string>& skip = {});

}  // namespace tidemark
