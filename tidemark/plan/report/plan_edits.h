// A finished plan with one thing changed: a value that is kept is computed again, or one that is computed
// again is kept. Order, kernels and everything else stay as they are; what shares memory with what, and every
// address, is decided anew. So what is changed is a plan like any other, which the verifier accepts or not,
// and its peak and its predicted time are those of that plan, not guesses.
//
//   as planned     x … x' ───────── kept ─────────▶ reader
//   recomputed     x … x'                     x x' ▶ reader     what it is made from, too, if it is not there
//
// Of plans in one memory only: what waits elsewhere has copies whose times hang on everything else.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/plan/passes/draft.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

struct EditedPlan {
  std::optional<Plan> plan = {};
  std::string why_not = {};  // where there is none
};

class PlanEdits {
 public:
  // `skip`: the passes that were left out when the plan was made.
  PlanEdits(const Graph& graph, const Plan& plan, const Target& target, const Machine& machine,
            const std::vector<std::string>& skip = {});

  // Can this plan be edited at all? Not with several memories.
  bool possible() const { return possible_; }
  const Draft& draft() const { return draft_; }  // with the plan's executions and groups

  // Let go after the use in front of its longest wait, and made again right before the next one.
  EditedPlan recomputed(ValueId root) const;
  // Made once; runs that served only to make it again are left out.
  EditedPlan kept(ValueId root) const;
  // What making it again in front of that use is predicted to take, each run by itself: of any plan. None: it
  // may not be, or nobody waits for it.
  std::optional<double> seconds_again(ValueId root) const;
  // With another plan of a region.
  EditedPlan with_body(NodeId node, std::size_t region, Plan body) const;

 private:
  EditedPlan finished(std::vector<Execution> executions, const RegionPlans* regions = nullptr) const;

  const Graph& graph_;
  const Plan& plan_;
  std::shared_ptr<const RegionPlans> regions_;  // of the plan; null: none
  Draft draft_;
  bool possible_ = false;
};

}  // namespace tidemark
