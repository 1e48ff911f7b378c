#include "tidemark/plan/verify/verify_effects.h"
#include "tidemark/ir/graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tidemark {
namespace {

// What a node does, with all that stands in its regions.
struct Conduct {
  std::set<std::string_view> domains;
  bool once = false;  // it may not run again
};

void add(const Node& node, Conduct& conduct) {
  const Effect& effect = node.op->effect;
  if (!effect.domain.empty()) {
    conduct.domains.insert(effect.domain);
    conduct.once = conduct.once || effect.on_replay != OnReplay::repeat;
  }
  conduct.once = conduct.once || node.op->replay == Replay::never;
  for (const Graph& region : node.regions) {
    for (const Node& inner : region.nodes()) add(inner, conduct);
  }
}

std::vector<Conduct> conduct_of(const Graph& graph) {
  std::vector<Conduct> list(graph.nodes().size());
  for (std::size_t n = 0; n < list.size(); ++n) add(graph.nodes()[n], list[n]);
  return list;
}

// Regions that are run as often as values are wanted back: what they do, they do that often.
void verify_replayed_regions(const Graph& graph, ProblemList& problems) {
  for (const Node& node : graph.nodes()) {
    for (std::size_t r = 0; r < node.regions.size(); ++r) {
      if (!node.op->replays || !node.op->replays(NodeCall(graph, node), r)) continue;
      for (const Node& inner : node.regions[r].nodes()) {
        Conduct conduct;
        add(inner, conduct);
        if (conduct.once)
          problems.report(
              "{}: region {} is run again and again, and {} may run only once for each of its calls",
              node.op->name, r, inner.op->name);
      }
    }
  }
}

}  // namespace

void verify_effects(const Graph& graph, const Plan& plan, ProblemList& problems) {
  const bool sound = std::ranges::all_of(plan.steps, [&](const Step& step) {
    return step.kind != StepKind::compute || step.node.index < graph.nodes().size();
  });
  if (!sound) return;  // said already
  const std::vector<Conduct> conduct = conduct_of(graph);
  std::vector<int> runs(graph.nodes().size(), 0);
  std::map<std::string_view, NodeId> last;  // per domain: of the first runs
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    if (step.kind != StepKind::compute) continue;
    const std::string_view name = graph[step.node].op->name;
    const Conduct& does = conduct[step.node.index];
    if (++runs[step.node.index] > 1) {
      if (does.once) problems.report("step {} ({}): may not run twice", t, name);
      continue;
    }
    for (std::string_view domain : does.domains) {
      const auto [before, first] = last.try_emplace(domain, step.node);
      if (!first && step.node < before->second)
        problems.report("step {} ({}): effects out of order in the domain {}", t, name, domain);
      before->second = step.node;
    }
  }
  for (std::size_t n = 0; n < runs.size(); ++n) {
    if (runs[n] == 0 && !conduct[n].domains.empty())
      problems.report("effect {} never runs", graph.nodes()[n].op->name);
  }
  verify_replayed_regions(graph, problems);
}

std::vector<std::pair<std::size_t, std::size_t>> effect_pairs(const Graph& graph, const Plan& plan) {
  const std::vector<Conduct> conduct = conduct_of(graph);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::map<std::string_view, std::size_t> last;  // per domain: its latest step
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    if (plan.steps[t].kind != StepKind::compute) continue;
    for (std::string_view domain : conduct[plan.steps[t].node.index].domains) {
      const auto [before, first] = last.try_emplace(domain, t);
      if (!first) pairs.emplace_back(before->second, t);
      before->second = t;
    }
  }
  return pairs;
}

}  // namespace tidemark
