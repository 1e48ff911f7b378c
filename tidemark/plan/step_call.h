// The call of a compute step as a target is asked about it: with the strides that its operands are read with
// and what its regions take.
#pragma once
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

struct StepCall {
  // The step has a node of the graph, and an operand for each of the node's.
  StepCall(const Graph& graph, const Plan& plan, const Step& step);
  StepCall(const StepCall&) = delete;
  StepCall& operator=(const StepCall&) = delete;
  operator const Call&() const { return types.call; }  // NOLINT: implicit by design

  NodeCall types;
  std::vector<Strides> strides;
  std::vector<RegionFacts> facts;
};

}  // namespace tidemark
