#include "tidemark/plan/report/peak_split.h"
#include "tidemark/ir/graph.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <string>

namespace tidemark {
namespace {

constexpr std::string_view role_names[peak_role_count] = {
    "parameters", "moments",     "data",       "gradients", "activations",
    "recomputed", "temporaries", "workspaces", "results",   "unused"};

// "arg0.mean.w1" → {"arg0", "mean"}; "mean.w1" → {"", "mean"}; "arg1" → {"arg1", ""}.
struct Origin {
  std::string_view argument, field;
};
Origin origin_of(std::string_view name) {
  const auto first_part = [](std::string_view text) { return text.substr(0, text.find('.')); };
  const std::string_view first = first_part(name);
  const bool argument = first.starts_with("arg") && first.size() > 3 &&
                        std::ranges::all_of(first.substr(3), [](unsigned char c) { return std::isdigit(c); });
  if (!argument) return {"", first};
  return {first, first.size() < name.size() ? first_part(name.substr(first.size() + 1)) : ""};
}

constexpr std::string_view parameters_field = "parameters", gradients_field = "gradients";

bool is_gradient(const Value& value) {
  return value.producer.valid() && origin_of(value.name).field == gradients_field;
}

std::vector<PeakRole> roles_of_inputs(const Graph& graph) {
  std::set<std::string_view> states;
  for (const Input& input : graph.inputs()) {
    const Origin origin = origin_of(graph[input.value].name);
    if (origin.field == parameters_field) states.insert(origin.argument);
  }
  std::vector<PeakRole> roles;
  for (const Input& input : graph.inputs()) {
    const Origin origin = origin_of(graph[input.value].name);
    roles.push_back(!states.contains(origin.argument)  ? PeakRole::data
                    : origin.field == parameters_field ? PeakRole::parameters
                                                       : PeakRole::moments);
  }
  return roles;
}

// Per node: is it of the forward pass? That is what outputs depend on that depend on no gradient: the loss,
// and what it returns besides.
std::vector<bool> forward_nodes(const Graph& graph) {
  std::vector<bool> behind(graph.values().size(), false);  // depends on a gradient
  for (const Node& node : graph.nodes()) {
    const bool any = std::ranges::any_of(node.operands, [&](ValueId v) { return behind[v.index]; });
    for (const ValueId v : node.results) behind[v.index] = any || is_gradient(graph[v]);
  }
  std::vector<bool> forward(graph.nodes().size(), false);
  std::vector<ValueId> waiting;
  for (const ValueId v : graph.outputs()) {
    if (!behind[v.index]) waiting.push_back(v);
  }
  while (!waiting.empty()) {
    const ValueId v = waiting.back();
    waiting.pop_back();
    if (graph.is_input(v)) continue;
    const NodeId node = graph[v].producer;
    if (forward[node.index]) continue;
    forward[node.index] = true;
    waiting.insert(waiting.end(), graph[node].operands.begin(), graph[node].operands.end());
  }
  return forward;
}

// Per value: is it a gradient of a parameter, or what such a one is made of by a kernel that never writes it
// as a whole: the terms of a sum that is part of the update, a matrix that is read transposed?
std::vector<bool> gradient_values(const Graph& graph, const Plan& plan, const std::vector<bool>& forward) {
  std::vector<bool> stored(graph.values().size(), false), gradient(graph.values().size(), false);
  for (const Step& step : plan.steps) {
    for (const Ref& out : step.out)
      stored[out.value.index] = plan.buffers[out.buffer.index].binding != Binding::tile;
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    for (const ValueId result : node.results) {
      gradient[result.index] = gradient[result.index] || is_gradient(graph[result]);
      if (!gradient[result.index] || stored[result.index]) continue;
      for (const ValueId v : node.operands) {
        const bool made = !graph.is_input(v) && !forward[graph[v].producer.index];
        if (made && graph.type(v).count() == graph.type(result).count()) gradient[v.index] = true;
      }
    }
  }
  return gradient;
}

// Does an output depend on the gradients of several parameters?
bool mixes_gradients(const Graph& graph) {
  constexpr int none = -1, several = -2;
  std::vector<int> of(graph.values().size(), none);  // the value of the gradient it depends on
  for (const Node& node : graph.nodes()) {
    int from = none;
    for (const ValueId v : node.operands) {
      if (of[v.index] == none) continue;
      from = from == none || from == of[v.index] ? of[v.index] : several;
    }
    for (const ValueId v : node.results)
      of[v.index] = is_gradient(graph[v]) ? static_cast<int>(v.index) : from;
  }
  return std::ranges::any_of(graph.outputs(), [&](ValueId v) { return of[v.index] == several; });
}

// What a step has put into a buffer of the arena.
struct Held {
  std::size_t step = 0;  // that made it
  bool again = false;    // its node had run before
};

}  // namespace

std::string_view name_of(PeakRole role) { return role_names[static_cast<std::size_t>(role)]; }

PeakSplit peak_split(const Graph& graph, const Plan& plan) {
  PeakSplit split;
  if (plan.steps.empty()) return split;
  const std::vector<PeakRole> inputs = roles_of_inputs(graph);
  const std::vector<bool> forward = forward_nodes(graph);
  const std::vector<bool> gradients = gradient_values(graph, plan, forward);
  const std::int32_t peak = peak_step(plan);

  std::vector<Held> held(plan.buffers.size());
  std::vector<bool> gradient(plan.buffers.size(), false), waits(plan.buffers.size(), false);
  std::vector<bool> ran(graph.nodes().size(), false);
  std::size_t forward_end = 0;  // its last step
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    const bool computes = step.kind == StepKind::compute;
    const bool before = static_cast<std::int32_t>(t) <= peak;
    if (static_cast<std::int32_t>(t) >= peak && (!computes || !forward[step.node.index])) {
      for (const Ref& in : step.in) waits[in.buffer.index] = true;
    }
    for (const Ref& out : step.out) {
      gradient[out.buffer.index] = gradient[out.buffer.index] || gradients[out.value.index];
      if (before) held[out.buffer.index] = {t, computes && ran[step.node.index]};
    }
    if (computes && !ran[step.node.index] && forward[step.node.index]) forward_end = t;
    if (computes) ran[step.node.index] = true;
  }

  const auto role_of = [&](std::size_t b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.binding == Binding::argument) return inputs[static_cast<std::size_t>(buffer.slot)];
    if (!buffer.value.valid()) return PeakRole::workspaces;
    if (gradient[b]) return PeakRole::gradients;
    if (buffer.purpose == Purpose::output) return PeakRole::results;
    if (held[b].again) return PeakRole::recomputed;
    if (held[b].step <= forward_end && waits[b]) return PeakRole::activations;
    return PeakRole::temporaries;
  };
  std::vector<std::int64_t> change(plan.steps.size() + 1, 0);  // of gradients
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.memory != 0 || buffer.binding == Binding::tile) continue;
    if (gradient[b] && buffer.binding == Binding::arena) {
      ++split.gradients;
      split.all_gradients += buffer.bytes;
      change[static_cast<std::size_t>(buffer.begin)] += buffer.bytes;
      change[static_cast<std::size_t>(buffer.end)] -= buffer.bytes;
    }
    const bool there = buffer.begin <= peak && peak < buffer.end;
    if (!there && buffer.binding != Binding::argument) continue;
    split.bytes[static_cast<std::size_t>(role_of(b))] += buffer.bytes;
  }
  split.all_needed = mixes_gradients(graph);
  std::int64_t load = 0;
  for (const std::int64_t c : change) split.most_gradients = std::max(split.most_gradients, load += c);
  const std::int64_t sum = std::accumulate(split.bytes.begin(), split.bytes.end(), std::int64_t{0});
  split.bytes[static_cast<std::size_t>(PeakRole::unused)] = plan.peak() - sum;
  return split;
}

}  // namespace tidemark
