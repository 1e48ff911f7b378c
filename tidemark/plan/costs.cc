#include "tidemark/plan/costs.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"
#include "tidemark/ir/target.h"
#include "tidemark/plan/step_call.h"

namespace tidemark {

void KernelSum::add_to_group(const Cost& cost, DType dtype) {
  bytes_ += cost.bytes;
  const auto work = static_cast<std::size_t>(cost.work);
  work_flops_[work] += cost.flops / machine_.work[work].speed[static_cast<std::size_t>(dtype)];
  is_group_ = true;
  if (first_ == WorkKind::by_kind && cost.bytes > 0) first_ = cost.work;
}

double KernelSum::seconds() const {
  if (!is_group_) return alone_;
  double computed = machine_.overhead;
  for (std::size_t work = 0; work < work_flops_.size(); ++work) {
    if (work_flops_[work] > 0)
      computed += work_flops_[work] / machine_.work[work].flops.at(work_flops_[work]);
  }
  double moving = bytes_ > 0 ? bytes_ / machine_[first_].bytes.at(bytes_) : 0;
  for (std::size_t work = 0; machine_.overlaps && bytes_ > 0 && work < work_flops_.size(); ++work) {
    if (work_flops_[work] > 0) moving = std::max(moving, bytes_ / machine_.work[work].bytes.at(bytes_));
  }
  return with_bytes(computed, machine_.overhead, moving, machine_.overlaps);
}

namespace {

// What the steps of one kernel add to it, one after the other.
class KernelSteps {
 public:
  KernelSteps(const Graph& graph, const Plan& plan, const Target& target)
      : graph_(graph), plan_(plan), target_(target) {}

  StepCost add(const Step& step) {
    const StepCall call(graph_, plan_, step);
    Cost cost = target_.cost(call);
    const DType dtype = arithmetic_dtype(call);
    if (step.group < 0) return {cost, dtype};
    for (const Ref& ref : step.in) {
      if (std::ranges::count(at_hand_, ref.value) > 0 || std::ranges::count(made_, ref.buffer) > 0) {
        cost.bytes -= static_cast<double>(graph_.type(ref.value).bytes());
      } else {
        at_hand_.push_back(ref.value);
      }
    }
    for (const Ref& ref : step.out) {
      made_.push_back(ref.buffer);
      if (plan_.buffers[ref.buffer.index].binding == Binding::tile)
        cost.bytes -= static_cast<double>(graph_.type(ref.value).bytes());
    }
    cost.bytes = std::max(0.0, cost.bytes);
    return {cost, dtype};
  }

 private:
  const Graph& graph_;
  const Plan& plan_;
  const Target& target_;
  std::vector<ValueId> at_hand_;  // read before
  std::vector<BufferId> made_;    // written here
};

// Adds up the steps of one kernel.
class StepSum {
 public:
  StepSum(const Graph& graph, const Plan& plan, const Target& target, const Machine& machine)
      : steps_(graph, plan, target), sum_(machine) {}

  // What the step adds.
  Cost add(const Step& step) {
    const auto [cost, dtype] = steps_.add(step);
    if (step.group < 0) {
      sum_.add_alone(cost, dtype);
    } else {
      sum_.add_to_group(cost, dtype);
    }
    return cost;
  }

  double seconds() const { return sum_.seconds(); }

 private:
  KernelSteps steps_;
  KernelSum sum_;
};

}  // namespace

std::vector<StepCost> step_costs(const Graph& graph, const Plan& plan, const Target& target) {
  std::vector<StepCost> costs(plan.steps.size());
  for (std::size_t t = 0; t < plan.steps.size();) {
    KernelSteps steps(graph, plan, target);
    for (const std::size_t last = group_end(plan, t); t < last; ++t) {
      if (plan.steps[t].kind == StepKind::compute) costs[t] = steps.add(plan.steps[t]);
    }
  }
  return costs;
}

std::vector<KernelCost> kernel_costs(const Graph& graph, const Plan& plan, const Target& target,
                                     const Machine& machine) {
  std::vector<KernelCost> list;
  std::vector<bool> ran(graph.nodes().size(), false);
  for (std::size_t t = 0; t < plan.steps.size();) {
    KernelCost kernel{.first = t, .last = group_end(plan, t)};
    if (plan.steps[t].kind != StepKind::compute) {
      t = kernel.last;
      continue;
    }
    StepSum all(graph, plan, target, machine), firsts(graph, plan, target, machine);
    bool repeats = false;
    for (; t < kernel.last; ++t) {
      const Step& step = plan.steps[t];
      const Cost cost = all.add(step);
      kernel.flops += cost.flops;
      kernel.bytes += cost.bytes;
      if (!ran[step.node.index]) firsts.add(step);
      repeats |= ran[step.node.index];
      ran[step.node.index] = true;
    }
    kernel.seconds = all.seconds();
    kernel.first_seconds = repeats ? std::min(firsts.seconds(), kernel.seconds) : kernel.seconds;
    list.push_back(kernel);
  }
  return list;
}

namespace {

int machine_memory(const Machine& machine, const Plan& plan, std::int32_t memory) {
  if (memory == 0) return 0;
  const std::string& name = plan.further[static_cast<std::size_t>(memory) - 1].name;
  const auto found = std::ranges::find(machine.further, name, &MachineMemory::name);
  TM_CHECK(found != machine.further.end(), "no memory `{}` on this machine", name);
  return static_cast<int>(found - machine.further.begin()) + 1;
}

double transfer_seconds(const Graph& graph, const Plan& plan, const Step& step, const Machine& machine) {
  const Buffer& from = plan.buffers[step.in[0].buffer.index];
  if (step.kind == StepKind::fetch) return machine.overhead;
  const Buffer& to = plan.buffers[step.out[0].buffer.index];
  const Type& type = graph.type(step.in[0].value);
  const auto plain = static_cast<double>(type.bytes());
  if (step.kind == StepKind::copy) {
    const Link* link = find_link(machine, machine_memory(machine, plan, from.memory),
                                 machine_memory(machine, plan, to.memory));
    TM_CHECK(link, "no link for a copy");
    return seconds_of(*link, from.codec ? static_cast<double>(from.codec->bytes(type)) : plain, true);
  }
  const CodecRate* rate = find_codec_rate(machine, (from.codec ? from.codec : to.codec)->name);
  TM_CHECK(rate, "no rate of a codec");
  return machine.overhead + plain / (step.kind == StepKind::encode ? rate->encode : rate->decode);
}

}  // namespace

std::vector<double> step_seconds(const Graph& graph, const Plan& plan, const Target& target,
                                 const Machine& machine) {
  std::vector<double> seconds(plan.steps.size(), 0);
  for (const KernelCost& kernel : kernel_costs(graph, plan, target, machine))
    seconds[kernel.first] = kernel.seconds;
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    if (plan.steps[t].kind != StepKind::compute)
      seconds[t] = transfer_seconds(graph, plan, plan.steps[t], machine);
  }
  return seconds;
}

}  // namespace tidemark
