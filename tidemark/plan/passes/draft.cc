#include "tidemark/plan/passes/draft.h"

#include <fmt/format.h>

namespace tidemark {

Draft::Draft(const Graph& g, const Target& t)
    : graph(&g), target(&t), home(g.values().size()), machine(&reference_machine()) {
  windows.reserve(g.values().size());
  for (std::size_t v = 0; v < g.values().size(); ++v) {
    windows.push_back({.root = ValueId(v), .offset = 0, .strides = dense_strides(g.values()[v].type.shape)});
  }
  executions.reserve(g.nodes().size());
  for (std::size_t n = 0; n < g.nodes().size(); ++n) executions.push_back({.node = NodeId(n)});
}

bool Draft::runs(const Node& node) const {
  for (ValueId v : node.results) {
    if (!is_view(v)) return true;
  }
  return node.results.empty();
}

bool Draft::covers_root(ValueId v) const {
  const Window& window = windows[v.index];
  const Type& type = graph->type(v);
  return window.offset == 0 && type.bytes() == root_bytes(v) && is_dense(type.shape, window.strides);
}

PlannedCall::PlannedCall(const Draft& draft, const Node& node) : types(*draft.graph, node) {
  strides.reserve(node.operands.size());
  for (ValueId v : node.operands) strides.push_back(draft.windows[v.index].strides);
  types.call.in_strides = strides;
  if (draft.regions && !draft.regions->facts.empty()) {
    types.call.planned = draft.regions->facts[static_cast<std::size_t>(&node - draft.graph->nodes().data())];
  }
}

bool can_overwrite(const Draft& draft, const Node& node, const Call& call, int r, int k) {
  const ValueId target = node.operands[static_cast<std::size_t>(k)];
  const ValueId result = node.results[static_cast<std::size_t>(r)];
  // Equal sizes keep every root's size fixed, so that a in-place reuse never changes what a buffer holds.
  if (!draft.covers_root(target) || draft.graph->type(result).bytes() != draft.root_bytes(target))
    return false;
  if (!draft.target->may_overwrite(call, r, k)) return false;
  for (std::size_t other = 0; other < node.operands.size(); ++other) {
    const ValueId v = node.operands[other];
    if (static_cast<int>(other) == k || draft.root(v) != draft.root(target)) continue;
    // The same memory read twice: only safe where each reading alone would be, at the same places.
    if (!draft.covers_root(v) || draft.graph->type(v) != draft.graph->type(target)) return false;
    if (!draft.target->may_overwrite(call, r, static_cast<int>(other))) return false;
  }
  return true;
}

std::vector<std::vector<NodeId>> root_readers(const Draft& draft) {
  std::vector<std::vector<NodeId>> readers(draft.graph->values().size());
  for (std::size_t n = 0; n < draft.graph->nodes().size(); ++n) {
    const Node& node = draft.graph->nodes()[n];
    if (!draft.runs(node)) continue;
    for (ValueId v : node.operands) {
      auto& list = readers[draft.root(v).index];
      if (list.empty() || list.back() != NodeId(n)) list.push_back(NodeId(n));
    }
  }
  return readers;
}

std::vector<bool> output_roots(const Draft& draft) {
  std::vector<bool> pinned(draft.graph->values().size(), false);
  for (ValueId v : draft.graph->outputs()) pinned[draft.root(v).index] = true;
  return pinned;
}

namespace {

std::string label(const Draft& draft, ValueId v) {
  const std::string& name = (*draft.graph)[v].name;
  return name.empty() ? fmt::format("%{}", v.index) : fmt::format("%{}:{}", v.index, name);
}

}  // namespace

std::string to_text(const Draft& draft) {
  std::string text;
  for (std::size_t t = 0; t < draft.executions.size(); ++t) {
    const Execution& run = draft.executions[t];
    const Node& node = (*draft.graph)[run.node];
    text += fmt::format("{:5}  {}", t, node.op->name);
    for (ValueId v : node.operands) {
      text += " " + label(draft, v);
      if (draft.is_view(v))
        text += fmt::format("@{}+{}", label(draft, draft.root(v)), draft.windows[v.index].offset);
    }
    text += " ->";
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const ValueId v = node.results[r];
      text += " " + label(draft, v);
      if (draft.home[v.index].valid()) text += fmt::format(" home {}", label(draft, draft.home[v.index]));
      if (r < run.overwrites.size() && run.overwrites[r].valid())
        text += " over " + label(draft, run.overwrites[r]);
      if (r < run.buffers.size()) text += fmt::format(" in b{}", run.buffers[r].index);
    }
    if (run.group >= 0) text += fmt::format(" group {}", run.group);
    if (run.required) text += " again";
    if (run.duplicate) text += " duplicate";
    if (run.scratch.valid()) text += fmt::format(" scratch b{}", run.scratch.index);
    text += "\n";
  }
  for (std::size_t b = 0; b < draft.buffers.size(); ++b) {
    const Buffer& buffer = draft.buffers[b];
    text += fmt::format("b{}: {} {} {} bytes at {} in steps [{}, {})\n", b, name_of(buffer.binding),
                        name_of(buffer.purpose), buffer.bytes, buffer.offset, buffer.begin, buffer.end);
  }
  return text;
}

}  // namespace tidemark
