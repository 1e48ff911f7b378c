#include "tidemark/plan/passes/regions.h"

namespace tidemark {

RegionPlans plan_regions(const Graph& graph, const Target& target, const PlanOptions& options) {
  RegionPlans plans;
  PlanOptions inside;
  inside.machine = options.machine;
  inside.fixed_order = options.fixed_order;
  inside.skip = options.skip;
  inside.effort = options.effort;
  inside.control = options.control;
  inside.one_round = true;
  inside.binds_outputs = true;
  inside.check_every_pass = options.check_every_pass;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.regions.empty()) continue;
    plans.facts.resize(graph.nodes().size());
    NodePlans& body = plans.bodies.emplace_back();
    body.node = NodeId(n);
    for (const Graph& region : node.regions) {
      body.regions.push_back(make_plan(region, target, inside));
      plans.facts[n].push_back(facts_of(body.regions.back()));
    }
  }
  return plans;
}

}  // namespace tidemark
