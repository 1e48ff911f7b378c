#include "tidemark/plan/report/memory_roles.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/report/phases.h"

namespace tidemark {
namespace {

struct RoleWords {
  std::string_view name, label;
};
constexpr RoleWords role_words[peak_role_count] = {{"parameters", "parameters"},
                                                   {"moments", "optimizer state"},
                                                   {"data", "data"},
                                                   {"gradients", "gradients"},
                                                   {"activations", "stored activations"},
                                                   {"recomputed", "recomputed"},
                                                   {"temporaries", "temporaries"},
                                                   {"workspaces", "workspaces"},
                                                   {"results", "results"},
                                                   {"unused", "unused"}};

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

constexpr std::string_view parameters_field = "parameters";

// Per value: is it read, and by updates alone?
std::vector<bool> read_by_updates(const Graph& graph) {
  const std::vector<Phase> phases = phases_of(graph);
  std::vector<bool> by_updates(graph.values().size(), false), by_others(graph.values().size(), false);
  for (std::size_t n = 0; n < phases.size(); ++n) {
    std::vector<bool>& by = phases[n] == Phase::update ? by_updates : by_others;
    for (const ValueId v : graph.nodes()[n].operands) by[v.index] = true;
  }
  for (std::size_t v = 0; v < by_updates.size(); ++v) by_updates[v] = by_updates[v] && !by_others[v];
  return by_updates;
}

std::vector<PeakRole> roles_of_inputs(const Graph& graph) {
  std::set<std::string_view> states;
  std::vector<const Shape*> shapes;  // of parameters
  for (const Input& input : graph.inputs()) {
    const Origin origin = origin_of(graph[input.value].name);
    if (origin.field == parameters_field) states.insert(origin.argument);
    if (input.differentiated) shapes.push_back(&graph.type(input.value).shape);
  }
  const std::vector<bool> updated = read_by_updates(graph);
  std::vector<PeakRole> roles;
  for (const Input& input : graph.inputs()) {
    const Origin origin = origin_of(graph[input.value].name);
    const bool in_state = states.contains(origin.argument);
    const bool is_moment = updated[input.value.index] && std::ranges::any_of(shapes, [&](const Shape* shape) {
                             return *shape == graph.type(input.value).shape;
                           });
    const bool is_parameter = input.differentiated || origin.field == parameters_field;
    roles.push_back(is_parameter            ? PeakRole::parameters
                    : in_state || is_moment ? PeakRole::moments
                                            : PeakRole::data);
  }
  return roles;
}

// What a step has put into a buffer.
struct Written {
  std::int32_t step = 0;  // that made it
  bool again = false;     // its node had run before
  bool forward = false;   // in the forward pass
};

// What a buffer holds, from write to write.
struct BufferHistory {
  std::vector<Written> writes = {};
  std::int32_t last_wait = -1;  // the last step outside of the forward pass that reads it
  bool gradient = false;        // of a parameter, at some time
};

// What lies in memory until a step outside of the forward pass reads it is kept for that.
void add_spans(const BufferHistory& history, const Buffer& buffer, std::vector<RoleSpan>& spans) {
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
          held.forward ? std::clamp(history.last_wait + 1, since, std::max(since, until)) : since;
      add(since, waits_until, PeakRole::activations);
      add(waits_until, until, PeakRole::temporaries);
    }
    if (w < history.writes.size()) held = history.writes[w];
    since = std::max(since, until);
  }
}

}  // namespace

std::string_view name_of(PeakRole role) { return role_words[static_cast<std::size_t>(role)].name; }
std::string_view label_of(PeakRole role) { return role_words[static_cast<std::size_t>(role)].label; }

std::vector<std::vector<RoleSpan>> roles_over_time(const Graph& graph, const Plan& plan) {
  const std::vector<PeakRole> inputs = roles_of_inputs(graph);
  const std::vector<bool> gradients = gradient_values(graph, plan), forward = forward_steps(graph, plan);
  std::vector<BufferHistory> histories(plan.buffers.size());
  std::vector<bool> ran(graph.nodes().size(), false);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const auto t = static_cast<std::int32_t>(s);
    const bool computes = step.kind == StepKind::compute;
    if (!forward[s]) {
      for (const Ref& in : step.in) histories[in.buffer.index].last_wait = t;
    }
    for (const Ref& out : step.out) {
      BufferHistory& history = histories[out.buffer.index];
      history.gradient = history.gradient || gradients[out.value.index];
      history.writes.push_back({t, computes && ran[step.node.index], forward[s]});
    }
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
      add_spans(histories[b], buffer, spans[b]);
    }
  }
  return spans;
}

}  // namespace tidemark
