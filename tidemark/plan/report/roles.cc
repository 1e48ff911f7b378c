#include "tidemark/plan/report/roles.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "tidemark/ir/graph.h"

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

}  // namespace

std::string_view name_of(PeakRole role) { return role_names[static_cast<std::size_t>(role)]; }

bool is_gradient(const Graph& graph, ValueId value) {
  return !graph.is_input(value) && origin_of(graph[value].name).field == gradients_field;
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

std::vector<bool> forward_nodes(const Graph& graph) {
  std::vector<bool> behind(graph.values().size(), false);  // depends on a gradient
  for (const Node& node : graph.nodes()) {
    const bool any = std::ranges::any_of(node.operands, [&](ValueId v) { return behind[v.index]; });
    for (const ValueId v : node.results) behind[v.index] = any || is_gradient(graph, v);
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

std::vector<bool> gradient_values(const Graph& graph, const Plan& plan, const std::vector<bool>& forward) {
  std::vector<bool> stored(graph.values().size(), false), gradient(graph.values().size(), false);
  for (const Step& step : plan.steps) {
    for (const Ref& out : step.out)
      stored[out.value.index] = plan.buffers[out.buffer.index].binding != Binding::tile;
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    for (const ValueId result : node.results) {
      gradient[result.index] = gradient[result.index] || is_gradient(graph, result);
      if (!gradient[result.index] || stored[result.index]) continue;
      for (const ValueId v : node.operands) {
        const bool made = !graph.is_input(v) && !forward[graph[v].producer.index];
        if (made && graph.type(v).count() == graph.type(result).count()) gradient[v.index] = true;
      }
    }
  }
  return gradient;
}

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
      of[v.index] = is_gradient(graph, v) ? static_cast<int>(v.index) : from;
  }
  return std::ranges::any_of(graph.outputs(), [&](ValueId v) { return of[v.index] == several; });
}

}  // namespace tidemark
