// Order: what runs when. Written as a problem of tasks and items (order_model.h), searched (order_best.cc), and read
// back. The model counts what the finished plan will count: windows keep their root alive, homes cost nothing, dying
// operands are overwritten where facts allow, scratch is there while its task runs.
#include <algorithm>

#include "tidemark/plan/order_model.h"
#include "tidemark/plan/order_search.h"
#include "tidemark/plan/passes.h"

namespace tidemark {
namespace {

constexpr double visits_per_task = 1200;
constexpr double least_visits = 400'000;

OrderModel model_of(const Draft& draft) {
  const Graph& graph = *draft.graph;
  OrderParts parts;
  const std::size_t count = draft.executions.size();
  parts.before.resize(count);
  parts.uses.resize(count);
  parts.makes.resize(count);
  parts.take_overs.resize(count);

  std::vector<int> task_of(graph.nodes().size(), -1), item_of(graph.values().size(), -1);
  const std::vector<bool> pinned = output_roots(draft);
  int last_effect = -1;
  for (std::size_t t = 0; t < count; ++t) {
    const Node& node = graph[draft.executions[t].node];
    const PlannedCall call(draft, node);
    parts.scratch.push_back(align_up(scratch_of(call), buffer_alignment));
    task_of[draft.executions[t].node.index] = static_cast<int>(t);
    if (node.op->kind == OpKind::effect) {
      if (last_effect >= 0) parts.before[t].push_back(last_effect);
      last_effect = static_cast<int>(t);
    }
    for (ValueId v : node.operands) {
      const ValueId root = draft.root(v);
      if (graph.is_input(root)) continue;
      parts.before[t].push_back(task_of[graph[root].producer.index]);
      const int item = item_of[root.index];
      if (item >= 0 && std::ranges::count(parts.uses[t], item) == 0) parts.uses[t].push_back(item);
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const ValueId v = node.results[r];
      if (draft.home[v.index].valid() || graph.type(v).bytes() == 0) continue;
      item_of[v.index] = static_cast<int>(parts.size.size());
      parts.makes[t].push_back(item_of[v.index]);
      parts.size.push_back(align_up(graph.type(v).bytes(), buffer_alignment));
      parts.pinned.push_back(pinned[v.index]);
      parts.present.push_back(false);
      if (!node.op->in_place) continue;
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        const ValueId root = draft.root(node.operands[k]);
        if (item_of[root.index] < 0 || pinned[root.index]) continue;
        if (!can_overwrite(draft, node, call, static_cast<int>(r), static_cast<int>(k))) continue;
        parts.take_overs[t].push_back({item_of[v.index], item_of[root.index]});
      }
    }
  }
  for (const Precedence& p : draft.precedences) {
    parts.before[static_cast<std::size_t>(task_of[p.second.index])].push_back(task_of[p.first.index]);
  }
  return make_model(std::move(parts));
}

}  // namespace

Draft order(Draft draft) {
  const OrderModel model = model_of(draft);
  const double visits =
      std::max(least_visits, visits_per_task * static_cast<double>(model.tasks)) * draft.effort;
  Work work{static_cast<std::int64_t>(visits)};
  draft.order_free_bound = order_bound(model);
  const TaskOrder best = best_order(model, draft.order_free_bound, work);
  draft.work_units += static_cast<std::int64_t>(visits) - work.left;

  std::vector<Execution> executions;
  executions.reserve(draft.executions.size());
  for (int t : best) executions.push_back(std::move(draft.executions[static_cast<std::size_t>(t)]));
  draft.executions = std::move(executions);
  return draft;
}

}  // namespace tidemark
