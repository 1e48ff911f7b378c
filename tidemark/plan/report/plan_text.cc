// A plan as lines of text:
//
//   peak 1216 = inputs 512 + arena 704, bound 1216, store everything 2048
//      0  contract x@in0 w@in1 -> %3@0:256
//      1  tanh %3@0 -> %4@0:256 in place
//      2  reduce_sum %4@0+64(1,8) -> %5@256:4  scratch @320:384
//      3/ exp %5@256 -> %6@tile:4
//      4\ add %6@tile %5@256 -> %7@256:4 in place
//   outputs %7@256
//
// name@place: in<k> is the k-th input's memory, a number an offset in the arena; +bytes into the buffer and
// (strides) where it is a window; :size for what is written; out<k> is where the caller wants the k-th
// output. Steps between / and \ run as one kernel, what is @tile having no memory. The plans of a node's
// regions follow, indented, each under its node and number. With several memories and lanes there is a line
// for each further memory, and steps name what is not the first of either:
//
//   disk: peak 256 = inputs 0 + arena 256, bound 256
//      4  copy %3@0 -> %3@disk:0:256  on out after 3
//      9  decode(bits) %8@disk:64 -> %8@128:8  on in after 4, 7
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/plan.h"

namespace tidemark {
namespace {

std::string place(const Graph& graph, const Plan& plan, const Ref& ref) {
  const Value& value = graph[ref.value];
  const Buffer& buffer = plan.buffers[ref.buffer.index];
  std::string text = value.name.empty() ? fmt::format("%{}", ref.value.index) : value.name;
  if (buffer.binding == Binding::tile) return text + "@tile";
  text += '@';
  if (buffer.memory > 0) text += memory_of(plan, static_cast<std::size_t>(buffer.memory)).name + ':';
  if (buffer.binding == Binding::arena) text += fmt::format("{}", buffer.offset);
  if (buffer.binding == Binding::argument) text += fmt::format("in{}", buffer.slot);
  if (buffer.binding == Binding::result) text += fmt::format("out{}", buffer.slot);
  if (ref.offset != 0) text += fmt::format("+{}", ref.offset);
  if (!is_dense(value.type.shape, ref.strides)) {
    text += fmt::format("({})", fmt::join(ref.strides.begin(), ref.strides.end(), ","));
  }
  return text;
}

// How the step stands in its group.
char mark(const Plan& plan, std::size_t t) {
  const auto same = [&](std::size_t other) {
    return other < plan.steps.size() && plan.steps[other].group == plan.steps[t].group;
  };
  if (plan.steps[t].group < 0) return ' ';
  const bool first = !same(t - 1), last = !same(t + 1);
  return first && last ? ' ' : first ? '/' : last ? '\\' : '|';
}

std::string action(const Graph& graph, const Plan& plan, const Step& step) {
  if (step.kind == StepKind::compute) return std::string(graph[step.node].op->name);
  const auto codec = [&](const std::vector<Ref>& refs) {
    return plan.buffers[refs[0].buffer.index].codec->name;
  };
  if (step.kind == StepKind::encode) return fmt::format("encode({})", codec(step.out));
  if (step.kind == StepKind::decode) return fmt::format("decode({})", codec(step.in));
  return std::string(name_of(step.kind));
}

std::int64_t bytes_of(const Graph& graph, const Plan& plan, const Ref& ref) {
  const Codec* codec = plan.buffers[ref.buffer.index].codec;
  return codec ? codec->bytes(graph.type(ref.value)) : graph.type(ref.value).bytes();
}

}  // namespace

std::string to_text(const Graph& graph, const Plan& plan) {
  std::string text =
      fmt::format("peak {} = inputs {} + arena {}, bound {}, store everything {}\n", plan.peak(),
                  plan.input_bytes, plan.arena_bytes, plan.lower_bound, plan.store_all_bytes);
  for (const PlanMemory& memory : plan.further) {
    text += fmt::format("{}: peak {} = inputs {} + arena {}, bound {}\n", memory.name, memory.peak(),
                        memory.input_bytes, memory.arena_bytes, memory.lower_bound);
  }
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    text += fmt::format("{:5}{} {}", t, mark(plan, t), action(graph, plan, step));
    for (const Ref& in : step.in) text += " " + place(graph, plan, in);
    text += " ->";
    for (const Ref& out : step.out) {
      text += fmt::format(" {}:{}", place(graph, plan, out), bytes_of(graph, plan, out));
      if (is_in_place(plan, t, out)) text += " in place";
    }
    if (step.scratch.valid()) {
      const Buffer& scratch = plan.buffers[step.scratch.index];
      text += fmt::format("  scratch @{}:{}", scratch.offset, scratch.bytes);
    }
    if (step.lane > 0) text += fmt::format("  on {}", plan.lanes[static_cast<std::size_t>(step.lane)].name);
    if (!step.waits.empty()) text += fmt::format("  after {}", fmt::join(step.waits, ", "));
    text += "\n";
  }
  text += "outputs";
  for (const Ref& out : plan.outputs) text += " " + place(graph, plan, out);
  text += "\n";
  for (const NodePlans& body : plan.bodies) {
    const Node& node = graph[body.node];
    for (std::size_t r = 0; r < body.regions.size(); ++r) {
      text += fmt::format("region {} of {} %{}\n", r, node.op->name,
                          node.results.empty() ? 0 : node.results[0].index);
      std::string inside = to_text(node.regions[r], body.regions[r]);
      for (std::size_t at = 0; at < inside.size(); at = inside.find('\n', at) + 1)
        inside.insert(at, "  "), at += 2;
      text += inside;
    }
  }
  return text;
}

}  // namespace tidemark
