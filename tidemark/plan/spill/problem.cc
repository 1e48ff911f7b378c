#include "tidemark/plan/spill/problem.h"

#include <algorithm>
#include <numeric>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/target.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/spill/offloads.h"
#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

class Extraction {
 public:
  Extraction(const Graph& graph, const Plan& plain, const Target& target)
      : graph_(graph), plain_(plain), target_(target), item_of_(plain.buffers.size(), -1) {}

  SpillProblem run(const std::vector<KernelCost>& kernels) {
    for (const KernelCost& kernel : kernels) {
      made_.clear();
      problem_.first_steps.push_back(kernel.first);
      JointTask task{.cost = kernel.seconds, .repeatable = false};
      for (std::size_t t = kernel.first; t < kernel.last; ++t) add(plain_.steps[t], task);
      task.makes = made_;
      problem_.joint.required.push_back({static_cast<int>(problem_.joint.tasks.size())});
      problem_.joint.tasks.push_back(std::move(task));
    }
    problem_.first_steps.push_back(plain_.steps.size());
    for (const Ref& ref : plain_.outputs) {
      if (const int item = item_of_[ref.buffer.index]; item >= 0)
        problem_.joint.items[at(item)].pinned = true;
    }
    return std::move(problem_);
  }

 private:
  bool is_made_here(int item) const { return std::ranges::count(made_, item) > 0; }
  static void add_once(std::vector<int>& list, int item) {
    if (std::ranges::count(list, item) == 0) list.push_back(item);
  }

  void add(const Step& step, JointTask& task) {
    for (const Ref& ref : step.in) {
      const int item = item_of_[ref.buffer.index];
      if (item >= 0 && !is_made_here(item)) add_once(task.uses, item);
    }
    for (const Ref& ref : step.out) write(ref, task);
    if (step.scratch.valid()) task.scratch += target_.aligned(plain_.buffers[step.scratch.index].bytes);
  }

  void write(const Ref& ref, JointTask& task) {
    const Buffer& buffer = plain_.buffers[ref.buffer.index];
    if (buffer.binding != Binding::arena) return;
    int& item = item_of_[ref.buffer.index];
    const int before = item;
    if (before < 0 || !is_made_here(before)) {
      item = static_cast<int>(problem_.joint.items.size());
      problem_.joint.items.push_back({.bytes = target_.aligned(buffer.bytes)});
      problem_.held.push_back({.buffer = ref.buffer});
      made_.push_back(item);
      if (before >= 0) {
        add_once(task.uses, before);
        task.reuses.push_back({item, before});
      }
    }
    const Type& type = graph_.type(ref.value);
    const bool whole = ref.offset == 0 && is_dense(type.shape, ref.strides) && type.bytes() > 0;
    problem_.held[at(item)].value = whole ? ref.value : ValueId();
  }

  const Graph& graph_;
  const Plan& plain_;
  const Target& target_;
  std::vector<int> item_of_;  // per buffer: what it holds
  std::vector<int> made_;     // by the kernel at hand
  SpillProblem problem_;
};

// Per kernel, as the buffers of the plan say.
std::vector<std::int64_t> loads_of(const Plan& plan, const std::vector<KernelCost>& kernels,
                                   const Target& target) {
  std::vector<std::int64_t> change(plan.steps.size() + 1, 0);
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.binding != Binding::arena) continue;
    change[at(buffer.begin)] += target.aligned(buffer.bytes);
    change[at(buffer.end)] -= target.aligned(buffer.bytes);
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  std::vector<std::int64_t> loads;
  for (const KernelCost& kernel : kernels) loads.push_back(change[kernel.first]);
  return loads;
}

// Items that nobody touches while some kernel has more than what is allowed.
std::vector<int> waiting_items(const SpillProblem& problem, const std::vector<std::int64_t>& loads,
                               std::int64_t allowed) {
  constexpr std::size_t most = 600;             // ways grow with them, and the search's work is what it is
  std::vector<int> above(loads.size() + 1, 0);  // kernels before this one that have too much
  for (std::size_t k = 0; k < loads.size(); ++k) above[k + 1] = above[k] + (loads[k] > allowed);
  std::vector<int> last(problem.held.size(), -1);
  std::vector<bool> waits(problem.held.size(), false);
  for (std::size_t k = 0; k < problem.kernels(); ++k) {
    const JointTask& task = problem.joint.tasks[k];
    for (int item : task.uses) {
      if (last[at(item)] >= 0 && above[k] > above[at(last[at(item)]) + 1]) waits[at(item)] = true;
    }
    for (const std::vector<int>* items : {&task.uses, &task.makes}) {
      for (int item : *items) last[at(item)] = static_cast<int>(k);
    }
  }
  std::vector<int> list;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] && problem.held[i].value.valid()) list.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(list, std::greater(),
                           [&](int item) { return problem.joint.items[at(item)].bytes; });
  if (list.size() > most) list.resize(most);
  std::ranges::sort(list);
  return list;
}

void note_moves(SpillProblem& problem, int item, int room_item, const WaitingRoom& room) {
  problem.moves.push_back({item, room_item, room, true});
  problem.moves.push_back({item, room_item, room, false});
}

}  // namespace

SpillProblem spill_problem_of(const Graph& graph, const Plan& plain, const Target& target,
                              const Machine& machine, const std::vector<Tier>& tiers, std::int64_t allowed) {
  const std::vector<KernelCost> kernels = kernel_costs(graph, plain, target, machine);
  SpillProblem problem = Extraction(graph, plain, target).run(kernels);
  JointProblem& joint = problem.joint;
  for (const Tier& tier : tiers) joint.budgets.push_back(tier.budget);
  joint.lanes = 1 + 2 * static_cast<int>(tiers.size());
  problem.hints = plain.hints;
  take_offloads(problem, graph, tiers, allowed, problem.hints);
  for (int item : waiting_items(problem, loads_of(plain, kernels, target), allowed)) {
    const Type& type = graph.type(problem.held[at(item)].value);
    const auto bytes = static_cast<double>(type.bytes());
    for (std::size_t k = 0; k < tiers.size(); ++k) {
      const int memory = static_cast<int>(k) + 1;
      const int away = add_transfer(joint, item,
                                    {.memory = memory,
                                     .out_lane = 2 * memory - 1,
                                     .in_lane = 2 * memory,
                                     .out_cost = seconds_of(*tiers[k].out, bytes, true),
                                     .in_cost = seconds_of(*tiers[k].in, bytes, true)});
      joint.items[at(away)].bytes = align_up(type.bytes(), tier_alignment);
      note_moves(problem, item, away, {.memory = memory});
    }
    for (const Codec& codec : codecs()) {
      const CodecRate* rate = find_codec_rate(machine, codec.name);
      if (!codec.exact || !codec.takes(type) || !rate) continue;
      const int coded =
          add_codec(joint, item, target.aligned(codec.bytes(type)), machine.overhead + bytes / rate->encode,
                    machine.overhead + bytes / rate->decode);
      note_moves(problem, item, coded, {.codec = &codec});
    }
  }
  return problem;
}

}  // namespace tidemark
