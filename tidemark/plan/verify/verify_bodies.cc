#include "tidemark/plan/verify/verify_bodies.h"

#include "tidemark/ir/graph.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {

void verify_bodies(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems) {
  std::size_t next = 0;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.regions.empty()) continue;
    if (next == plan.bodies.size() || plan.bodies[next].node != NodeId(n) ||
        plan.bodies[next].regions.size() != node.regions.size()) {
      return problems.report("node {} ({}): its regions are not planned", n, node.op->name);
    }
    for (std::size_t r = 0; r < node.regions.size(); ++r) {
      const Plan& region = plan.bodies[next].regions[r];
      if (!is_plain(region))
        problems.report("node {} ({}): region {} in several memories or lanes", n, node.op->name, r);
      if (!region.binds_outputs)
        problems.report("node {} ({}): region {} keeps its outputs", n, node.op->name, r);
      for (const std::string& problem : tidemark::problems(node.regions[r], region, target))
        problems.report("node {} ({}): region {}: {}", n, node.op->name, r, problem);
    }
    ++next;
  }
  if (next != plan.bodies.size()) problems.report("plans for regions that are not there");
}

}  // namespace tidemark
