#include "tidemark/plan/report/memory_roles.h"

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

// What a step has put into a buffer.
struct Written {
  std::int32_t step = 0;  // that made it
  bool again = false;     // its node had run before
};

// What a buffer holds, from write to write.
struct BufferHistory {
  std::vector<Written> writes = {};
  std::int32_t last_wait = -1;  // the last step outside of the forward pass that reads it
  bool gradient = false;        // of a parameter, at some time
};

// What lies in memory until a step outside of the forward pass reads it is kept for that.
void add_spans(const BufferHistory& history, const Buffer& buffer, std::int32_t forward_end,
               std::vector<RoleSpan>& spans) {
  const auto add = [&](std::int32_t begin, std::int32_t end, PeakRole role) {
    begin = std::max(begin, buffer.begin), end = std::min(end, buffer.end);
    if (begin >= end) return;
    if (!spans.empty() && spans.back().role == role && spans.back().end == begin) {
      spans.back().end = end;
    } else {
      spans.push_back({begin, end, role});
    }
  };
  // Before the first write the buffer is there for it, as in a group of steps.
  Written held;
  std::int32_t since = buffer.begin;
  for (std::size_t w = 0; w <= history.writes.size(); ++w) {
    const std::int32_t until = w < history.writes.size() ? history.writes[w].step : buffer.end;
    if (held.again) {
      add(since, until, PeakRole::recomputed);
    } else {
      const std::int32_t waits_until =
          held.step <= forward_end ? std::clamp(history.last_wait + 1, since, std::max(since, until)) : since;
      add(since, waits_until, PeakRole::activations);
      add(waits_until, until, PeakRole::temporaries);
    }
    if (w < history.writes.size()) held = history.writes[w];
    since = std::max(since, until);
  }
}

}  // namespace

std::string_view name_of(PeakRole role) { return role_names[static_cast<std::size_t>(role)]; }

bool is_gradient(const Value& value) {
  return value.producer.valid() && origin_of(value.name).field == gradients_field;
}

std::vector<Phase> phases_of(const Graph& graph) {
  std::vector<bool> behind(graph.values().size(), false);  // depends on a gradient
  std::vector<Phase> phases(graph.nodes().size(), Phase::backward);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const bool any = std::ranges::any_of(node.operands, [&](ValueId v) { return behind[v.index]; });
    if (any) phases[n] = Phase::update;
    for (const ValueId v : node.results) behind[v.index] = any || is_gradient(graph[v]);
  }
  std::vector<ValueId> waiting;
  for (const ValueId v : graph.outputs()) {
    if (!behind[v.index]) waiting.push_back(v);
  }
  while (!waiting.empty()) {
    const ValueId v = waiting.back();
    waiting.pop_back();
    if (graph.is_input(v)) continue;
    const NodeId node = graph[v].producer;
    if (phases[node.index] == Phase::forward) continue;
    phases[node.index] = Phase::forward;
    waiting.insert(waiting.end(), graph[node].operands.begin(), graph[node].operands.end());
  }
  return phases;
}

std::vector<bool> gradient_values(const Graph& graph, const Plan& plan) {
  const std::vector<Phase> phases = phases_of(graph);
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
        const bool made = !graph.is_input(v) && phases[graph[v].producer.index] != Phase::forward;
        if (made && graph.type(v).count() == graph.type(result).count()) gradient[v.index] = true;
      }
    }
  }
  return gradient;
}

std::vector<std::vector<RoleSpan>> roles_over_time(const Graph& graph, const Plan& plan) {
  const std::vector<PeakRole> inputs = roles_of_inputs(graph);
  const std::vector<Phase> phases = phases_of(graph);
  const std::vector<bool> gradients = gradient_values(graph, plan);
  const auto is_forward = [&](const Step& step) {
    return step.kind == StepKind::compute && phases[step.node.index] == Phase::forward;
  };
  std::vector<BufferHistory> histories(plan.buffers.size());
  std::vector<bool> ran(graph.nodes().size(), false);
  std::int32_t forward_end = 0;  // its last step
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const auto t = static_cast<std::int32_t>(s);
    const bool computes = step.kind == StepKind::compute;
    if (!is_forward(step)) {
      for (const Ref& in : step.in) histories[in.buffer.index].last_wait = t;
    }
    for (const Ref& out : step.out) {
      BufferHistory& history = histories[out.buffer.index];
      history.gradient = history.gradient || gradients[out.value.index];
      history.writes.push_back({t, computes && ran[step.node.index]});
    }
    if (is_forward(step) && !ran[step.node.index]) forward_end = t;
    if (computes) ran[step.node.index] = true;
  }
  std::vector<std::vector<RoleSpan>> spans(plan.buffers.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const auto whole = [&](PeakRole role) { spans[b] = {{buffer.begin, buffer.end, role}}; };
    if (buffer.binding == Binding::argument) {  // the caller's, whoever reads it
      spans[b] = {
          {0, static_cast<std::int32_t>(plan.steps.size()), inputs[static_cast<std::size_t>(buffer.slot)]}};
    } else if (buffer.binding == Binding::tile || buffer.begin >= buffer.end) {
      continue;
    } else if (!buffer.value.valid()) {
      whole(PeakRole::workspaces);
    } else if (histories[b].gradient) {
      whole(PeakRole::gradients);
    } else if (buffer.purpose == Purpose::output) {
      whole(PeakRole::results);
    } else {
      add_spans(histories[b], buffer, forward_end, spans[b]);
    }
  }
  return spans;
}

}  // namespace tidemark
