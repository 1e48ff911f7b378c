// Views: a node whose results are windows on an operand runs no step, if all who read them can.
//
// Start from the optimist's choice (every node that offers windows is taken at its word), look for a reader
// that cannot take them, make the node behind it write a copy after all, and repeat; what is a copy stays
// one.
#include "tidemark/plan/passes/passes.h"

namespace tidemark {
namespace {

bool is_dense_window(const Draft& draft, ValueId v) {
  return is_dense(draft.graph->type(v).shape, draft.windows[v.index].strides);
}

// Windows for all results of the node, or none.
std::vector<Window> windows_of(const Draft& draft, const Node& node) {
  std::vector<Window> windows;
  if (!node.op->view) return windows;
  const PlannedCall call(draft, node);
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    const auto spec = node.op->view(call, static_cast<int>(r));
    if (!spec) return {};
    const ValueId operand = node.operands[static_cast<std::size_t>(spec->operand)];
    const Type& type = draft.graph->type(operand);
    if (type.dtype != draft.graph->type(node.results[r]).dtype) return {};
    const Window& base = draft.windows[operand.index];
    const bool empty =
        draft.graph->type(node.results[r]).count() == 0;  // touches no byte, so it starts anywhere
    windows.push_back(
        {base.root, empty ? 0 : base.offset + spec->offset * size_of(type.dtype), spec->strides});
  }
  return windows;
}

void set_windows(Draft& draft, const std::vector<bool>& copies) {
  const Graph& graph = *draft.graph;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (ValueId v : node.results) {
      draft.windows[v.index] = {v, 0, dense_strides(graph.type(v).shape)};
    }
    if (copies[n]) continue;
    const std::vector<Window> windows = windows_of(draft, node);
    for (std::size_t r = 0; r < windows.size(); ++r) draft.windows[node.results[r].index] = windows[r];
  }
}

// Marks the nodes behind reads that cannot be served; true if there are any.
bool find_copies(const Draft& draft, std::vector<bool>& copies) {
  const Graph& graph = *draft.graph;
  bool found = false;
  const auto mark = [&](ValueId v) {
    copies[graph[v].producer.index] = true;
    found = true;
  };
  for (const Node& node : graph.nodes()) {
    if (!draft.runs(node)) continue;
    bool strided = false;
    for (ValueId v : node.operands) strided |= !is_dense_window(draft, v);
    if (!strided) continue;
    const PlannedCall call(draft, node);
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      if (!is_dense_window(draft, node.operands[k]) &&
          !draft.target->takes_strides(call, static_cast<int>(k))) {
        mark(node.operands[k]);
      }
    }
  }
  // An output is dense and alone in its memory; an input's memory is the caller's and no output but itself.
  std::vector<ValueId> owner(graph.values().size());
  for (ValueId v : graph.outputs()) {
    if (!draft.is_view(v)) owner[v.index] = v;
  }
  for (ValueId v : graph.outputs()) {
    if (!draft.is_view(v)) continue;
    ValueId& holder = owner[draft.root(v).index];
    if (!draft.covers_root(v) || graph.is_input(draft.root(v)) || (holder.valid() && holder != v)) {
      mark(v);
    } else {
      holder = v;
    }
  }
  return found;
}

}  // namespace

Draft views(Draft draft) {
  constexpr int patient_rounds = 8;
  std::vector<bool> copies(draft.graph->nodes().size(), false);
  set_windows(draft, copies);
  for (int round = 0; find_copies(draft, copies); ++round) {
    if (round >= patient_rounds) {  // a long chain of refusals: give up on everything that is not dense
      for (std::size_t v = 0; v < draft.windows.size(); ++v) {
        if (!is_dense_window(draft, ValueId(v))) copies[(*draft.graph)[ValueId(v)].producer.index] = true;
      }
    }
    set_windows(draft, copies);
  }
  std::erase_if(draft.executions,
                [&](const Execution& run) { return !draft.runs((*draft.graph)[run.node]); });
  return draft;
}

}  // namespace tidemark
