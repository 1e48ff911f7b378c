#include "tidemark/plan/passes/draft_model.h"

#include <algorithm>

#include "tidemark/ir/effects.h"
#include "tidemark/plan/passes/groups.h"

namespace tidemark {
namespace {

// The executions of each node, in order.
std::vector<std::vector<int>> executions_of(const Draft& draft) {
  std::vector<std::vector<int>> list(draft.graph->nodes().size());
  for (std::size_t t = 0; t < draft.executions.size(); ++t) {
    list[draft.executions[t].node.index].push_back(static_cast<int>(t));
  }
  return list;
}

}  // namespace

OrderModel order_model_of(const Draft& draft) {
  const Graph& graph = *draft.graph;
  OrderParts parts;
  const std::size_t count = draft.executions.size();
  parts.before.resize(count);
  parts.uses.resize(count);
  parts.makes.resize(count);
  parts.reuses.resize(count);

  const std::vector<std::vector<int>> executions = executions_of(draft);
  std::vector<int> task_of(graph.nodes().size(), -1);            // the latest execution
  std::vector<int> item_of(graph.values().size(), -1);           // the latest version of each root
  std::vector<std::vector<int>> readers(graph.values().size());  // of that version
  const std::vector<bool> pinned = output_roots(draft);
  // What a region puts out lies in its caller's memory: a budget is for the arena alone.
  const bool outputs_elsewhere = draft.binds_outputs && draft.arena_budget >= 0;
  EffectOrder effects;
  for (std::size_t t = 0; t < count; ++t) {
    const NodeId id = draft.executions[t].node;
    const Node& node = graph[id];
    const PlannedCall call(draft, node);
    const bool last = executions[id.index].back() == static_cast<int>(t);
    parts.scratch.push_back(draft.target->aligned(draft.target->scratch(call)));
    if (task_of[id.index] >= 0) parts.before[t].push_back(task_of[id.index]);
    for (int earlier : effects.follow(node, static_cast<int>(t))) parts.before[t].push_back(earlier);
    for (ValueId v : node.operands) {
      const ValueId root = draft.root(v);
      if (graph.is_input(root)) continue;
      parts.before[t].push_back(task_of[graph[root].producer.index]);
      const int item = item_of[root.index];
      if (item < 0 || std::ranges::count(parts.uses[t], item) > 0) continue;
      parts.uses[t].push_back(item);
      readers[root.index].push_back(static_cast<int>(t));
    }
    task_of[id.index] = static_cast<int>(t);
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const ValueId v = node.results[r];
      // Who read the version before must have run: a plan reads the latest.
      parts.before[t].insert(parts.before[t].end(), readers[v.index].begin(), readers[v.index].end());
      readers[v.index].clear();
      if (draft.home[v.index].valid() || graph.type(v).bytes() == 0) continue;
      if (outputs_elsewhere && pinned[v.index]) continue;
      item_of[v.index] = static_cast<int>(parts.size.size());
      parts.makes[t].push_back(item_of[v.index]);
      parts.size.push_back(draft.target->aligned(graph.type(v).bytes()));
      parts.pinned.push_back(pinned[v.index] && last);
      parts.present.push_back(false);
      if (!draft.target->facts(*node.op).in_place) continue;
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        const ValueId root = draft.root(node.operands[k]);
        if (item_of[root.index] < 0 || pinned[root.index]) continue;
        if (!can_overwrite(draft, node, call, static_cast<int>(r), static_cast<int>(k))) continue;
        parts.reuses[t].push_back({item_of[v.index], item_of[root.index]});
      }
    }
  }
  for (const Precedence& p : draft.precedences) {
    for (int second : executions[p.second.index]) {
      for (int first : executions[p.first.index]) {
        parts.before[static_cast<std::size_t>(second)].push_back(first);
      }
    }
  }
  return make_model(std::move(parts));
}

bool may_recompute(const Draft& draft, NodeId id) {
  const Node& node = (*draft.graph)[id];
  if (!is_repeatable(node)) return false;
  if (!draft.hints.never_repeat.empty() && draft.hints.never_repeat[id.index]) return false;
  return std::ranges::none_of(node.results, [&](ValueId v) { return draft.home[v.index].valid(); });
}

namespace {

Fusion fusion_in(const Draft& draft, const Node& node) {
  const PlannedCall call(draft, node);
  const Fusion fusion = draft.target->fusion(call);
  const bool plain = !node.results.empty() && node.regions.empty() && draft.target->scratch(call) == 0;
  return plain || fusion == Fusion::reduction ? fusion : Fusion::none;
}

// Per node: would a second run be part of its readers' kernels, wherever they are? So it is if it works
// element by element and all who read it do so too, at the same elements.
std::vector<bool> joins_readers(const Draft& draft) {
  const Graph& graph = *draft.graph;
  std::vector<bool> joins(graph.nodes().size(), false);
  const auto fusion = [&](const Node& node) { return fusion_in(draft, node); };
  for (std::size_t n = 0; n < joins.size(); ++n)
    joins[n] = draft.runs(graph.nodes()[n]) &&
               (fusion(graph.nodes()[n]) == Fusion::pointwise || fusion(graph.nodes()[n]) == Fusion::window);
  for (const Node& reader : graph.nodes()) {
    if (!draft.runs(reader)) continue;
    const Fusion kind = fusion(reader);
    for (std::size_t k = 0; k < reader.operands.size(); ++k) {
      const ValueId v = reader.operands[k], root = draft.root(v);
      if (graph.is_input(root)) continue;
      const Shape& shape = graph.type(root).shape;
      const bool takes = (kind == Fusion::pointwise && graph.type(reader.results[0]).shape == shape) ||
                         (kind == Fusion::reduction && k == 0);
      if (!takes || !is_aligned(draft, v, shape)) joins[graph[root].producer.index] = false;
    }
  }
  for (std::size_t v = 0; const bool wanted : output_roots(draft)) {
    const ValueId value(v++);
    if (wanted && !graph.is_input(value)) joins[graph[value].producer.index] = false;
  }
  return joins;
}

// What it takes inside another kernel: its arithmetic, and the operands that come from memory.
double seconds_inside(const Machine& machine, const Target& target, const Call& call) {
  Cost cost = target.cost(call);
  for (const Type& type : call.out) cost.bytes -= static_cast<double>(type.bytes());
  cost.bytes = std::max(0.0, cost.bytes);
  return std::max(seconds_of(machine, cost, arithmetic_dtype(call)) - machine.overhead, 1e-9);
}

}  // namespace

RematProblem remat_problem_of(const Draft& draft, const Machine& machine) {
  RematProblem problem;
  problem.model = order_model_of(draft);
  const std::vector<std::vector<int>> executions = executions_of(draft);
  std::vector<std::vector<int>> closed_by(draft.executions.size());
  for (const Precedence& p : draft.precedences) {
    for (int first : executions[p.first.index]) {
      for (int second : executions[p.second.index]) {
        closed_by[static_cast<std::size_t>(first)].push_back(second);
      }
    }
  }
  problem.closed_by = IntLists(closed_by);
  const std::vector<bool> joins =
      draft.groups ? joins_readers(draft) : std::vector<bool>(draft.graph->nodes().size(), false);
  for (const Execution& run : draft.executions) {
    const PlannedCall call(draft, (*draft.graph)[run.node]);
    problem.cost.push_back(joins[run.node.index] ? seconds_inside(machine, *draft.target, call)
                                                 : seconds_of(machine, *draft.target, call));
    problem.repeatable.push_back(may_recompute(draft, run.node));
  }
  return problem;
}

std::vector<bool> may_join(const Draft& draft) {
  std::vector<bool> joins;
  if (!draft.groups) return joins;
  for (const Execution& run : draft.executions)
    joins.push_back(fusion_in(draft, (*draft.graph)[run.node]) != Fusion::none);
  return joins;
}

}  // namespace tidemark
