#include "tidemark/engine/held_bytes.h"
#include "tidemark/ir/graph.h"

namespace tidemark {
namespace {

template <class T>
std::size_t of(const std::vector<T>& list) {
  constexpr std::size_t per_allocation = 16;  // of the allocator
  return list.capacity() == 0 ? 0 : list.capacity() * sizeof(T) + per_allocation;
}
std::size_t of(const std::string& text) { return text.capacity() < 16 ? 0 : text.capacity() + 17; }

std::size_t of(const AttrValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return of(*text);
  if (const auto* list = std::get_if<IntList>(&value)) return of(*list);
  if (const auto* literal = std::get_if<Literal>(&value)) return of(literal->bytes);
  return 0;
}

std::size_t of(const Graph& graph) {
  std::size_t bytes = of(graph.values()) + of(graph.nodes()) + of(graph.inputs()) + of(graph.outputs()) +
                      of(graph.checkpoints()) + of(graph.hints());
  for (const Value& value : graph.values()) bytes += of(value.name);
  for (const Checkpoint& checkpoint : graph.checkpoints())
    bytes += of(checkpoint.name) + of(checkpoint.results);
  for (const Node& node : graph.nodes()) {
    bytes += of(node.operands) + of(node.results) + of(node.attrs) + of(node.regions);
    for (const AttrValue& value : node.attrs) bytes += of(value);
    for (const Graph& region : node.regions) bytes += of(region);
  }
  return bytes;
}

std::size_t of(const Plan& plan) {
  std::size_t bytes = of(plan.buffers) + of(plan.steps) + of(plan.outputs) + of(plan.bodies) + of(plan.hints);
  for (const Step& step : plan.steps) bytes += of(step.in) + of(step.out);
  for (const HintReport& hint : plan.hints) bytes += of(hint.name) + of(hint.reason);
  for (const NodePlans& body : plan.bodies) {
    bytes += of(body.regions);
    for (const Plan& region : body.regions) bytes += of(region);
  }
  return bytes;
}

}  // namespace

std::int64_t held_bytes(const Graph& graph) { return static_cast<std::int64_t>(sizeof(graph) + of(graph)); }
std::int64_t held_bytes(const Plan& plan) { return static_cast<std::int64_t>(sizeof(plan) + of(plan)); }

}  // namespace tidemark
