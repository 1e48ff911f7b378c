// Is this plan right for this graph on this target? Plays the plan on symbolic memory and believes nothing:
// what a buffer holds is what was last written there, what a view shows follows from the op's own facts, and
// every figure is counted again. Shares no code with the passes, so that one misunderstanding cannot hide in
// both.
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

// What is wrong, in the order it was met; empty: the plan is right. Stops after a few dozen problems.
std::vector<std::string> problems(const Graph& graph, const Plan& plan, const Target& target);

// Throws InternalError with the problems.
void verify_or_throw(const Graph& graph, const Plan& plan, const Target& target);

// A plan that was found right for a graph: the only kind that is executed. Nothing but the verifier makes
// one, and nobody changes it.
class VerifiedPlan {
 public:
  const Plan& operator*() const { return plan_; }
  const Plan* operator->() const { return &plan_; }
  const Target& target() const { return *target_; }

 private:
  friend VerifiedPlan verified(const Graph& graph, Plan plan, const Target& target);
  VerifiedPlan(Plan plan, const Target& target) : plan_(std::move(plan)), target_(&target) {}
  Plan plan_;
  const Target* target_;
};

// Throws InternalError with the problems.
VerifiedPlan verified(const Graph& graph, Plan plan, const Target& target);

}  // namespace tidemark
