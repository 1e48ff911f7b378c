#include "tidemark/runtime/commands.h"
#include "tidemark/ir/graph.h"

#include <algorithm>
#include <map>

namespace tidemark {

// Of one plan: the graph's, or that of a region, whose arena lies at `base` in the graph's.
class CommandStream::Lowering {
 public:
  Lowering(const Graph& graph, const Plan& plan, const Target& target, std::int64_t base)
      : graph_(graph), plan_(plan), target_(target), base_(base), command_of_(plan.steps.size()) {
    top.assign(memory_count(plan), 0);
  }

  // Appends the next command, and what its call points at. False: that was all.
  bool next(Commands& out) {
    if (step_ == plan_.steps.size()) return plan_.binds_outputs && next_output_copy(out);
    const std::size_t first = step_, end = group_end(plan_, first);
    const Step& step = plan_.steps[first];
    Command& command = out.list.emplace_back();
    command.kind = step.kind;
    command.lane = step.lane;
    command.last_step = end;
    for (std::size_t s = first; s < end; ++s) {
      command_of_[s] = commands_;
      for (std::int32_t wait : plan_.steps[s].waits)
        command.waits.push_back(command_of_[static_cast<std::size_t>(wait)]);
    }
    if (step.kind != StepKind::compute) {
      add_operands(command, step.in, step.out);
    } else if (step.group < 0) {
      add_call(command, step, out);
    } else {
      add_group(command, first, end, out);
    }
    ++commands_;
    step_ = end;
    return true;
  }

  Commands all() {
    Commands commands;
    commands.arguments = graph_.inputs().size();
    commands.results = graph_.outputs().size();
    while (next(commands)) {
    }
    return commands;
  }

  std::vector<std::int64_t> top;

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
    top[memory] = std::max(top[memory], at + align_up(buffer.bytes, memory_of(plan_, memory).alignment));
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

  const Call& call_of(const Step& step, Commands& out) {
    out.calls.push_back(std::make_unique<StepCall>(graph_, plan_, step));
    return *out.calls.back();
  }

  void add_call(Command& command, const Step& step, Commands& out) {
    const Node& node = graph_[step.node];
    const Call& call = call_of(step, out);
    command.steps.push_back({.call = call, .in = {}, .out = {}});
    command.where = node.where;
    add_operands(command, step.in, step.out);
    Location scratch;  // without it the regions need no memory of their own either
    if (step.scratch.valid()) scratch = locate(plan_.buffers[step.scratch.index], 0);
    if (!node.regions.empty()) {
      const NodePlans& body = *std::ranges::find(plan_.bodies, step.node, &NodePlans::node);
      for (std::size_t r = 0; r < node.regions.size(); ++r)
        add_region(command, node.regions[r], body.regions[r], scratch.offset);
    }
    if (!step.scratch.valid()) return;
    scratch.offset += target_.region_arena(call);
    command.scratch = scratch;
  }

  void add_group(Command& command, std::size_t first, std::size_t last, Commands& out) {
    command.is_group = true;
    std::vector<Ref> outside, results;
    std::map<std::uint32_t, GroupRef> made;  // by buffer: what the group's own steps put there
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
      return GroupRef{GroupRef::operand, number};
    };
    for (std::size_t t = first; t < last; ++t) {
      const Step& step = plan_.steps[t];
      GroupStep& group_step = command.steps.emplace_back();
      group_step.call = call_of(step, out);
      for (const Ref& ref : step.in) {
        const auto own = made.find(ref.buffer.index);
        group_step.in.push_back(own != made.end() ? own->second : place_outside(ref));
      }
      for (const Ref& ref : step.out) {
        group_step.out.push_back(is_tile(ref) ? GroupRef{GroupRef::temporary, tiles++}
                                              : GroupRef{GroupRef::result, static_cast<int>(results.size())});
        if (!is_tile(ref)) results.push_back(ref);
        made[ref.buffer.index] = group_step.out.back();
      }
      if (step.scratch.valid()) command.scratch = locate(plan_.buffers[step.scratch.index], 0);
    }
    add_operands(command, outside, results);
    command.where = graph_[plan_.steps[last - 1].node].where;
  }

  void add_region(Command& command, const Graph& region, const Plan& plan, std::int64_t base) {
    Lowering inside(region, plan, target_, base);
    command.regions.push_back(inside.all());
    top[0] = std::max(top[0], inside.top[0]);
  }

  // Outputs of a region that are not made where they are wanted: inputs, and values that are another output
  // too.
  bool next_output_copy(Commands& out) {
    for (; output_ < plan_.outputs.size(); ++output_) {
      const Ref& ref = plan_.outputs[output_];
      const Buffer& buffer = plan_.buffers[ref.buffer.index];
      const auto slot = static_cast<std::int32_t>(output_);
      TM_CHECK(buffer.binding != Binding::arena, "a region's output in its arena");
      if (buffer.binding == Binding::result && buffer.slot == slot) continue;
      CommandOperand to = operand(ref);
      to.location = {.base = Location::result, .which = slot};
      Command& copy = out.list.emplace_back();
      copy.kind = StepKind::copy;
      copy.in.push_back(operand(ref));
      copy.out.push_back(std::move(to));
      copy.last_step = plan_.steps.size();
      ++output_;
      return true;
    }
    return false;
  }

  const Graph& graph_;
  const Plan& plan_;
  const Target& target_;
  const std::int64_t base_;
  std::vector<std::int32_t> command_of_;  // per step so far
  std::size_t step_ = 0, output_ = 0;     // the next
  std::int32_t commands_ = 0;
};

CommandStream::CommandStream(const Graph& graph, const VerifiedPlan& plan)
    : plan_(plan), lowering_(std::make_unique<Lowering>(graph, *plan, plan.target(), 0)) {}
CommandStream::~CommandStream() = default;

const Command* CommandStream::next() {
  current_.list.clear();
  current_.calls.clear();
  if (!lowering_->next(current_)) return nullptr;
  const Command& command = current_.list.front();
  const auto is_argument = [](const CommandOperand& out) { return out.location.base == Location::argument; };
  if (!first_write_ && std::ranges::any_of(command.out, is_argument)) first_write_ = last_steps_.size();
  last_steps_.push_back(command.last_step);
  return &command;
}

const std::vector<std::int64_t>& CommandStream::top() const { return lowering_->top; }

}  // namespace tidemark
