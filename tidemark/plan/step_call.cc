#include "tidemark/plan/step_call.h"

namespace tidemark {

StepCall::StepCall(const Graph& graph, const Plan& plan, const Step& step)
    : types(graph, graph[step.node]), facts(region_facts(plan, step.node)) {
  strides.reserve(step.in.size());
  for (const Ref& ref : step.in) strides.push_back(ref.strides);
  types.call.in_strides = strides;
  types.call.planned = facts;
}

}  // namespace tidemark
