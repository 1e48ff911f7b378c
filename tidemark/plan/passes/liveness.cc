// Liveness: buffers and the steps they live through. A buffer is one stretch of memory over one stretch of
// time: a value's, handed on along in-place in-place reuses; a donated input's, likewise; or one step's
// scratch. The steps of a group run interleaved: what one of them reads lives to the group's end, what one of
// them writes from its beginning.
#include <algorithm>

#include "tidemark/plan/passes/groups.h"
#include "tidemark/plan/passes/passes.h"

namespace tidemark {

Draft liveness(Draft draft) {
  const Graph& graph = *draft.graph;
  const auto steps = static_cast<std::int32_t>(draft.executions.size());
  draft.buffers.clear();
  Holders holders(graph.values().size());
  const auto add = [&](Buffer buffer) {
    draft.buffers.push_back(buffer);
    return BufferId(draft.buffers.size() - 1);
  };

  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Input& input = graph.inputs()[i];
    holders.set(input.value, add({.binding = Binding::argument,
                                  .purpose = input.donated ? Purpose::donated : Purpose::input,
                                  .bytes = graph.type(input.value).bytes(),
                                  .slot = static_cast<std::int32_t>(i),
                                  .begin = 0,
                                  .end = steps,
                                  .value = input.value}));
  }

  const std::vector<std::vector<bool>> tiles = in_tiles(draft);
  std::int32_t first = 0, last = 0;  // the steps of the group at hand: [first, last)
  for (std::int32_t t = 0; t < steps; ++t) {
    if (t == last) {
      first = t;
      last = static_cast<std::int32_t>(group_end(draft, static_cast<std::size_t>(t)));
    }
    Execution& run = draft.executions[static_cast<std::size_t>(t)];
    const Node& node = graph[run.node];
    holders.come_to(run);
    for (ValueId v : node.operands) {
      const BufferId b = holders[draft.root(v)];
      TM_CHECK(b.valid(), "step {} ({}) reads %{} before it is computed", t, node.op->name, v.index);
      Buffer& buffer = draft.buffers[b.index];
      buffer.end = std::max(buffer.end, buffer.binding == Binding::tile ? t + 1 : last);
    }
    run.buffers.assign(node.results.size(), BufferId());
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const ValueId v = node.results[r];
      if (run.group >= 0 && tiles[static_cast<std::size_t>(t)][r]) {
        run.buffers[r] = add(
            {.binding = Binding::tile, .bytes = graph.type(v).bytes(), .begin = t, .end = t + 1, .value = v});
      } else if (draft.home[v.index].valid()) {
        run.buffers[r] = holders[draft.home[v.index]];
      } else if (!run.overwrites.empty() && run.overwrites[r].valid()) {
        run.buffers[r] = holders[run.overwrites[r]];
      } else {
        run.buffers[r] = add({.bytes = graph.type(v).bytes(), .begin = first, .end = last, .value = v});
      }
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      holders.set(run, node.results[r], run.buffers[r]);
      Buffer& buffer = draft.buffers[run.buffers[r].index];
      if (buffer.binding != Binding::tile) buffer.end = std::max(buffer.end, last);
    }
    const std::int64_t scratch = draft.target->scratch(PlannedCall(draft, node));
    run.scratch = {};
    if (scratch > 0) {
      run.scratch =
          add({.purpose = Purpose::scratch, .bytes = scratch, .begin = first, .end = last, .value = {}});
    }
  }

  holders.come_to({});
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    Buffer& buffer = draft.buffers[holders[draft.root(graph.outputs()[i])].index];
    buffer.end = steps;
    if (buffer.binding != Binding::arena) continue;
    buffer.purpose = Purpose::output;
    if (!draft.binds_outputs) continue;
    buffer.binding = Binding::result;
    buffer.slot = static_cast<std::int32_t>(i);
  }
  return draft;
}

}  // namespace tidemark
