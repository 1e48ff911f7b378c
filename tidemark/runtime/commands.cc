#include "tidemark/runtime/commands.h"

#include <algorithm>
#include <map>

namespace tidemark {
namespace {

// Of one plan: the graph's, or that of a region, whose arena lies at `base` in the graph's.
class Lowering {
 public:
  Lowering(const Graph& graph, const Plan& plan, const Target& target, std::int64_t base)
      : graph_(graph), plan_(plan), target_(target), base_(base) {
    out_.top.assign(memory_count(plan), 0);
    out_.arguments = graph.inputs().size();
    out_.results = graph.outputs().size();
  }

  Commands run() {
    std::vector<std::int32_t> command_of(plan_.steps.size());
    for (std::size_t t = 0; t < plan_.steps.size();) {
      const std::size_t end = group_end(plan_, t);
      const Step& step = plan_.steps[t];
      for (std::size_t s = t; s < end; ++s) command_of[s] = static_cast<std::int32_t>(out_.list.size());
      Command command{.kind = step.kind, .lane = step.lane, .last_step = end};
      for (std::size_t s = t; s < end; ++s) {
        for (std::int32_t wait : plan_.steps[s].waits)
          command.waits.push_back(command_of[static_cast<std::size_t>(wait)]);
      }
      if (step.kind != StepKind::compute) {
        add_operands(command, step.in, step.out);
      } else if (step.group < 0) {
        add_call(command, step);
      } else {
        add_group(command, t, end);
      }
      out_.list.push_back(std::move(command));
      t = end;
    }
    if (plan_.binds_outputs) add_output_copies();
    return std::move(out_);
  }

 private:
  // A buffer takes whole units of the alignment: nothing else may begin inside its last one.
  Location locate(const Buffer& buffer, std::int64_t offset) {
    if (buffer.binding != Binding::arena) {
      return {.base = buffer.binding == Binding::argument ? Location::argument : Location::result,
              .which = buffer.slot,
              .offset = offset};
    }
    const auto memory = static_cast<std::size_t>(buffer.memory);
    const std::int64_t at = base_ + buffer.offset;
    out_.top[memory] =
        std::max(out_.top[memory], at + align_up(buffer.bytes, memory_of(plan_, memory).alignment));
    return {.base = Location::arena, .which = buffer.memory, .offset = at + offset};
  }

  CommandOperand operand(const Ref& ref) {
    const Buffer& buffer = plan_.buffers[ref.buffer.index];
    return {.location = locate(buffer, ref.offset),
            .type = graph_.type(ref.value),
            .strides = ref.strides,
            .codec = buffer.codec};
  }

  void add_operands(Command& command, const std::vector<Ref>& in, const std::vector<Ref>& out) {
    for (const Ref& ref : in) command.in.push_back(operand(ref));
    for (const Ref& ref : out) command.out.push_back(operand(ref));
  }

  const Call& call_of(const Step& step) {
    out_.calls.push_back(std::make_unique<CallData>(graph_, graph_[step.node]));
    CallData& data = *out_.calls.back();
    for (const Ref& ref : step.in) data.strides.push_back(ref.strides);
    data.facts = region_facts(plan_, step.node);
    data.call.call.in_strides = data.strides;
    data.call.call.planned = data.facts;
    return data.call;
  }

  void add_call(Command& command, const Step& step) {
    const Node& node = graph_[step.node];
    const Call& call = call_of(step);
    command.steps.push_back({.call = call, .in = {}, .out = {}});
    command.where = node.where;
    add_operands(command, step.in, step.out);
    Location scratch;  // without it the regions need no memory of their own either
    if (step.scratch.valid()) scratch = locate(plan_.buffers[step.scratch.index], 0);
    if (!node.regions.empty()) {
      const NodePlans& body = *std::ranges::find(plan_.bodies, step.node, &NodePlans::node);
      for (std::size_t r = 0; r < node.regions.size(); ++r)
        command.regions.push_back(Lowering(node.regions[r], body.regions[r], target_, scratch.offset).run());
    }
    if (!step.scratch.valid()) return;
    scratch.offset += target_.region_arena(call);
    command.scratch = scratch;
  }

  void add_group(Command& command, std::size_t first, std::size_t last) {
    command.is_group = true;
    std::vector<Ref> outside, results;
    std::map<std::uint32_t, GroupPlace> made;  // by buffer: what the group's own steps put there
    int tiles = 0;
    const auto is_tile = [&](const Ref& ref) {
      return plan_.buffers[ref.buffer.index].binding == Binding::tile;
    };
    const auto place_outside = [&](const Ref& ref) {
      const auto same = [&](const Ref& other) {
        return other.buffer == ref.buffer && other.offset == ref.offset && other.strides == ref.strides &&
               graph_.type(other.value) == graph_.type(ref.value);
      };
      const auto found = std::ranges::find_if(outside, same);
      const auto number = static_cast<int>(found - outside.begin());
      if (found == outside.end()) outside.push_back(ref);
      return GroupPlace{GroupPlace::operand, number};
    };
    for (std::size_t t = first; t < last; ++t) {
      const Step& step = plan_.steps[t];
      GroupStep& group_step = command.steps.emplace_back();
      group_step.call = call_of(step);
      for (const Ref& ref : step.in) {
        const auto own = made.find(ref.buffer.index);
        group_step.in.push_back(own != made.end() ? own->second : place_outside(ref));
      }
      for (const Ref& ref : step.out) {
        group_step.out.push_back(is_tile(ref)
                                     ? GroupPlace{GroupPlace::temporary, tiles++}
                                     : GroupPlace{GroupPlace::result, static_cast<int>(results.size())});
        if (!is_tile(ref)) results.push_back(ref);
        made[ref.buffer.index] = group_step.out.back();
      }
      if (step.scratch.valid()) command.scratch = locate(plan_.buffers[step.scratch.index], 0);
    }
    add_operands(command, outside, results);
    command.where = graph_[plan_.steps[last - 1].node].where;
  }

  // Outputs of a region that are not made where they are wanted: inputs, and values that are another output too.
  void add_output_copies() {
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const Ref& ref = plan_.outputs[i];
      const Buffer& buffer = plan_.buffers[ref.buffer.index];
      TM_CHECK(buffer.binding != Binding::arena, "a region's output in its arena");
      if (buffer.binding == Binding::result && buffer.slot == static_cast<std::int32_t>(i)) continue;
      CommandOperand to = operand(ref);
      to.location = {.base = Location::result, .which = static_cast<std::int32_t>(i)};
      out_.list.push_back({.kind = StepKind::copy,
                           .in = {operand(ref)},
                           .out = {std::move(to)},
                           .last_step = plan_.steps.size()});
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const Target& target_;
  const std::int64_t base_;
  Commands out_;
};

}  // namespace

Commands lower(const Graph& graph, const VerifiedPlan& plan) {
  return Lowering(graph, *plan, plan.target(), 0).run();
}

}  // namespace tidemark
