#include "tidemark/plan/report/phases.h"

#include <algorithm>

#include "tidemark/ir/graph.h"

namespace tidemark {
namespace {

// Per node: does one that `counts` read, on whatever way, what it makes?
template <class Counts>
std::vector<bool> read_by(const Graph& graph, const Counts& counts) {
  std::vector<bool> wanted(graph.values().size(), false), reads(graph.nodes().size(), false);
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    reads[n] = std::ranges::any_of(node.results, [&](ValueId v) { return wanted[v.index]; });
    if (!reads[n] && !counts(n)) continue;
    for (const ValueId v : node.operands) wanted[v.index] = true;
  }
  return reads;
}

std::vector<bool> read_by_backward(const Graph& graph) {
  return read_by(graph, [&](std::size_t n) { return graph.nodes()[n].backward; });
}

// Per value: is it made by reverse mode, or of something that is?
std::vector<bool> late_values(const Graph& graph) {
  std::vector<bool> late(graph.values().size(), false);
  for (const Node& node : graph.nodes()) {
    const bool any =
        node.backward || std::ranges::any_of(node.operands, [&](ValueId v) { return late[v.index]; });
    for (const ValueId v : node.results) late[v.index] = any;
  }
  return late;
}

// A loop over micro-batches has both passes in its body: what it sums up of the forward pass is no gradient.
bool is_of_forward_pass_inside(const Graph& graph, ValueId v) {
  const Node& node = graph[graph[v].producer];
  if (node.regions.size() != 1 || node.regions[0].outputs().size() < node.results.size()) return false;
  const Graph& body = node.regions[0];
  const std::vector<bool> late = late_values(body);
  return std::ranges::count(late, true) > 0 && !late[body.outputs()[graph[v].result].index];
}

// Per value: does it leave the backward pass, for the caller or an update? Some kernels make a gradient along
// with the loss, as that of a head without logits. Where nothing is left for the backward pass to do about
// it, that is what has the type of a differentiated input, comes of a node that the backward pass needs, and
// goes nowhere in either pass.
std::vector<bool> leaving_values(const Graph& graph, const std::vector<bool>& is_differentiated) {
  const std::size_t count = graph.values().size();
  std::vector<bool> leaves(count, false), inside(count, false);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const bool is_inside = node.backward || is_differentiated[n];
    for (const ValueId v : node.operands) {
      if (is_inside) inside[v.index] = true;
      if (!node.backward) leaves[v.index] = true;
    }
  }
  for (const ValueId v : graph.outputs()) leaves[v.index] = true;
  std::vector<Type> types;
  for (const Input& input : graph.inputs()) {
    if (input.differentiated) types.push_back(graph.type(input.value));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId v(i);
    if (!leaves[i]) continue;
    const NodeId maker = graph[v].producer;
    if (!maker.valid()) {
      leaves[i] = false;
    } else if (graph[maker].backward) {
      leaves[i] = !is_of_forward_pass_inside(graph, v);
    } else {
      leaves[i] = is_differentiated[maker.index] && !inside[i] &&
                  std::ranges::find(types, graph.type(v)) != types.end();
    }
  }
  return leaves;
}

}  // namespace

std::vector<Phase> phases_of(const Graph& graph) {
  const std::size_t count = graph.nodes().size();
  std::vector<bool> late(graph.values().size(), false), updates(count, false);
  const std::vector<bool> is_differentiated = read_by_backward(graph);
  const std::vector<bool> leaves = leaving_values(graph, is_differentiated);
  for (std::size_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes()[n];
    const bool any = std::ranges::any_of(node.operands, [&](ValueId v) { return late[v.index]; });
    updates[n] = any && !node.backward && !is_differentiated[n];
    for (const ValueId v : node.results) late[v.index] = any || node.backward || leaves[v.index];
  }
  const std::vector<bool> is_for_update = read_by(graph, [&](std::size_t n) { return updates[n]; });
  std::vector<Phase> phases(count, Phase::forward);
  for (std::size_t n = 0; n < count; ++n) {
    if (graph.nodes()[n].backward) {
      phases[n] = Phase::backward;
    } else if (!is_differentiated[n] && (updates[n] || is_for_update[n])) {
      phases[n] = Phase::update;
    }
  }
  return phases;
}

std::vector<bool> gradients_of(const Graph& graph) { return leaving_values(graph, read_by_backward(graph)); }

std::vector<bool> gradient_values(const Graph& graph, const Plan& plan) {
  std::vector<bool> stored(graph.values().size(), false), gradient = gradients_of(graph);
  for (const Step& step : plan.steps) {
    for (const Ref& out : step.out)
      stored[out.value.index] = plan.buffers[out.buffer.index].binding != Binding::tile;
  }
  const std::vector<Phase> phases = phases_of(graph);
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    for (const ValueId result : node.results) {
      if (!gradient[result.index] || stored[result.index]) continue;
      for (const ValueId v : node.operands) {
        const bool made = !graph.is_input(v) && phases[graph[v].producer.index] != Phase::forward;
        if (made && graph.type(v).count() == graph.type(result).count()) gradient[v.index] = true;
      }
    }
  }
  return gradient;
}

std::vector<bool> forward_steps(const Graph& graph, const Plan& plan) {
  const std::vector<Phase> phases = phases_of(graph);
  const std::vector<bool> is_differentiated = read_by_backward(graph);
  std::vector<bool> ran(graph.nodes().size(), false), first(plan.steps.size(), false);
  std::size_t end = 0;  // behind the last that the backward pass needs
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    if (step.kind != StepKind::compute) continue;
    const std::size_t n = step.node.index;
    first[t] = !ran[n];
    ran[n] = true;
    if (first[t] && phases[n] == Phase::forward && is_differentiated[n]) end = t + 1;
  }
  std::vector<bool> forward(plan.steps.size(), false);
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    const Phase phase = step.kind == StepKind::compute ? phases[step.node.index] : Phase::backward;
    const bool early = t < end && (first[t] || step.kind != StepKind::compute);
    forward[t] = phase == Phase::forward ? first[t] : phase == Phase::backward && early;
  }
  return forward;
}

}  // namespace tidemark
