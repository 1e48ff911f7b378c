#include "tidemark/plan/hints.h"

#include <algorithm>

#include "tidemark/plan/passes/passes.h"
#include "tidemark/plan/passes/replay.h"

namespace tidemark {
namespace {

struct Answer {
  PlanHints hints;
  std::vector<Execution> executions;
};

// Nodes that turn out to be stuck (their operands overwritten by then) become run-once, until all that is
// asked can be.
Answer answer(const Draft& draft) {
  const Graph& graph = *draft.graph;
  std::vector<std::string> once = once_only(draft);
  Answer result{
      {.never_repeat = {}, .must_drop = std::vector<bool>(graph.values().size(), false), .reports = {}},
      draft.executions};
  const auto run_once = [&] {
    for (const std::string& reason : once) result.hints.never_repeat.push_back(!reason.empty());
  };
  if (graph.hints().empty() && graph.checkpoints().empty()) {
    run_once();
    return result;
  }
  HintDecisions decisions = decide_hints(draft, once);
  Replayed replayed = replay(draft, decisions);
  while (!replayed.complete) {
    once = replayed.once;
    decisions = decide_hints(draft, once);
    replayed = replay(draft, decisions);
  }
  run_once();
  for (std::size_t v = 0; v < decisions.kept.size(); ++v) {
    if (decisions.kept[v]) result.hints.never_repeat[graph[ValueId(v)].producer.index] = true;
  }
  // What enters a checkpoint is stored for it. Constants and their kind are cheaper made again.
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (!graph.nodes()[n].checkpoint.valid()) continue;
    for (ValueId v : graph.nodes()[n].operands) {
      const ValueId root = draft.root(v);
      if (graph.is_input(root) || decisions.scopes.of_value[root.index].valid() ||
          decisions.dropped[root.index])
        continue;
      const NodeId producer = graph[root].producer;
      if (!graph[producer].operands.empty()) result.hints.never_repeat[producer.index] = true;
    }
  }
  result.hints.must_drop = std::move(decisions.dropped);
  result.hints.reports = std::move(decisions.reports);
  for (std::size_t i = 0; i < result.hints.reports.size(); ++i) {
    result.hints.reports[i].runs = replayed.runs[i];
    result.hints.reports[i].seconds = replayed.seconds[i];
  }
  result.executions = std::move(replayed.executions);
  return result;
}

// What some single step needs however often things are recomputed: its operands or its results, and its
// scratch.
std::int64_t single_step_bound(const Draft& draft) {
  const Graph& graph = *draft.graph;
  const auto bytes = [&](ValueId root) {
    const bool in_arena = !graph.is_input(root) && !draft.home[root.index].valid();
    return in_arena ? draft.target->aligned(draft.root_bytes(root)) : 0;
  };
  std::int64_t bound = 0;
  for (const Execution& run : draft.executions) {
    const Node& node = graph[run.node];
    std::vector<ValueId> read;
    for (ValueId v : node.operands) read.push_back(draft.root(v));
    std::ranges::sort(read);
    read.erase(std::unique(read.begin(), read.end()), read.end());
    std::int64_t operands = 0, results = 0;
    for (ValueId root : read) operands += bytes(root);
    for (ValueId v : node.results) results += draft.is_view(v) ? 0 : bytes(v);
    const std::int64_t scratch = draft.target->aligned(draft.target->scratch(PlannedCall(draft, node)));
    bound = std::max(bound, std::max(operands, results) + scratch);
  }
  return bound;
}

}  // namespace

PlanHints hints_of(const Draft& draft) { return answer(draft).hints; }

Draft hints(Draft draft) {
  Answer answered = answer(draft);
  draft.hints = std::move(answered.hints);
  draft.executions = std::move(answered.executions);
  // The order's bound holds for plans that compute everything once.
  if (std::ranges::count(draft.executions, true, &Execution::required) > 0) {
    draft.order_free_bound = std::min(draft.order_free_bound, single_step_bound(draft));
  }
  return draft;
}

}  // namespace tidemark
