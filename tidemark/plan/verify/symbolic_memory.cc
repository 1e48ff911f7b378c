#include "tidemark/plan/verify/symbolic_memory.h"
#include "tidemark/ir/graph.h"

#include <algorithm>

namespace tidemark {
namespace {

// Equal where it can matter: along a dimension of size one nothing moves.
bool same_strides(const Shape& shape, const Strides& a, const Strides& b) {
  if (a.rank() != shape.rank() || b.rank() != shape.rank()) return false;
  if (element_count(shape) == 0) return true;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

SymbolicMemory::SymbolicMemory(const Graph& graph, const Plan& plan)
    : graph_(graph),
      plan_(plan),
      contents_(plan.buffers.size()),
      homes_(graph.values().size()),
      refs_(graph.values().size()),
      known_refs_(graph.values().size(), false),
      windows_on_(graph.values().size()) {
  for (std::size_t v = 0; v < graph_.values().size(); ++v) {
    for (ValueId operand : viewed_operands(ValueId(v))) windows_on_[operand.index].push_back(ValueId(v));
  }
  for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
    const Buffer& buffer = plan_.buffers[b];
    if (buffer.binding == Binding::argument) write(BufferId(b), buffer.value, {0, buffer.bytes});
  }
}

void SymbolicMemory::write(BufferId b, ValueId v, ByteRange range) {
  wipe(b, range);
  contents_[b.index].push_back({v, range});
  homes_[v.index].push_back(b);
  forget_refs(v);
}

void SymbolicMemory::wipe(BufferId b, ByteRange range) {
  std::erase_if(contents_[b.index], [&](const Content& content) {
    const bool gone = content.range.meets(range);
    if (gone) std::erase(homes_[content.value.index], b), forget_refs(content.value);
    return gone;
  });
}

bool SymbolicMemory::holds(const Ref& ref) {
  const Type& type = graph_.type(ref.value);
  return std::ranges::any_of(refs(ref.value), [&](const Ref& found) {
    return found.buffer == ref.buffer && (found.offset == ref.offset || type.count() == 0) &&
           same_strides(type.shape, found.strides, ref.strides);
  });
}

bool SymbolicMemory::holds_coded(const Ref& ref) const {
  return std::ranges::any_of(contents_[ref.buffer.index], [&](const Content& content) {
    return content.value == ref.value && content.range.first == ref.offset;
  });
}

std::span<const ValueId> SymbolicMemory::viewed_operands(ValueId v) const {
  if (graph_.is_input(v)) return {};
  const Node& node = graph_[graph_[v].producer];
  return node.op->view ? std::span<const ValueId>(node.operands) : std::span<const ValueId>();
}

// Windows stand on windows, in chains as long as the user likes: what was found is kept until one of its
// origins changes.
const std::vector<Ref>& SymbolicMemory::refs(ValueId v) {
  std::vector<ValueId> open{v}, found;
  while (!open.empty()) {
    const ValueId next = open.back();
    open.pop_back();
    if (known_refs_[next.index]) continue;
    known_refs_[next.index] = true;  // as it will be below
    const std::span<const ValueId> operands = viewed_operands(next);
    open.insert(open.end(), operands.begin(), operands.end());
    found.push_back(next);
  }
  // A node's results have higher numbers than what nodes before it made; inputs are windows on nothing.
  std::ranges::sort(found, {}, [&](ValueId w) { return std::pair(!graph_.is_input(w), w.index); });
  for (ValueId w : found) find_refs(w);
  return refs_[v.index];
}

// Those of the operands are known.
void SymbolicMemory::find_refs(ValueId v) {
  std::vector<Ref>& result = refs_[v.index];
  result.clear();
  for (BufferId b : homes_[v.index]) {
    if (plan_.buffers[b.index].codec) continue;  // in another form it cannot be read
    for (const Content& content : contents_[b.index]) {
      if (content.value == v)
        result.push_back({v, b, content.range.first, dense_strides(graph_.type(v).shape)});
    }
  }
  if (viewed_operands(v).empty()) return;
  const Node& node = graph_[graph_[v].producer];
  NodeCall call(graph_, node);
  std::vector<Strides> strides;
  for (ValueId operand : node.operands) strides.push_back(dense_strides(graph_.type(operand).shape));
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    for (const Ref& base : refs_[node.operands[k].index]) {
      const Strides usual = strides[k];
      strides[k] = base.strides;
      call.call.in_strides = strides;
      const auto spec = node.op->view(call, static_cast<int>(graph_[v].result));
      strides[k] = usual;
      if (!spec || spec->operand != static_cast<int>(k)) continue;
      const DType dtype = graph_.type(node.operands[k]).dtype;
      if (dtype != graph_.type(v).dtype) continue;
      result.push_back({v, base.buffer, base.offset + spec->offset * size_of(dtype), spec->strides});
    }
  }
}

// The value is somewhere else than it was, and so are the windows on it.
void SymbolicMemory::forget_refs(ValueId v) {
  std::vector<ValueId> changed{v};
  while (!changed.empty()) {
    const ValueId next = changed.back();
    changed.pop_back();
    if (!known_refs_[next.index]) continue;  // and then nothing on it is known either
    known_refs_[next.index] = false;
    changed.insert(changed.end(), windows_on_[next.index].begin(), windows_on_[next.index].end());
  }
}

}  // namespace tidemark
