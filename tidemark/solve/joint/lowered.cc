#include "tidemark/solve/joint/lowered.h"

#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

RematProblem model_of_memory(const Lowered& lowered, int memory) {
  const JointProblem& joint = *lowered.problem;
  OrderParts parts;
  for (const JointItem& item : joint.items) {
    parts.size.push_back(item.bytes);
    parts.pinned.push_back(item.pinned && item.memory == memory);
    parts.present.push_back(false);
  }
  const auto here = [&](int item) { return joint.items[at(item)].memory == memory; };
  RematProblem problem;
  for (const auto& [t, part] : lowered.entry) {
    const JointTask& task = joint.tasks[at(t)];
    auto& uses = parts.uses.emplace_back();
    auto& makes = parts.makes.emplace_back();
    auto& reuses = parts.reuses.emplace_back();
    for (int i : task.uses) {
      if (here(i)) uses.push_back(i);
    }
    for (int i : task.makes) {
      if (here(i)) (part == Part::end ? uses : makes).push_back(i);
    }
    for (const InPlaceReuse& pair : task.reuses) {
      if (here(pair.made) && here(pair.used)) reuses.push_back(pair);
    }
    parts.scratch.push_back(memory == 0 ? task.scratch : 0);
    parts.before.emplace_back();
    problem.cost.push_back(part == Part::whole ? task.cost : 0);
    problem.repeatable.push_back(task.repeatable);
  }
  problem.model = make_model(std::move(parts));
  problem.closed_by = IntLists(std::vector<std::vector<int>>(lowered.entry.size()));
  problem.budget = joint.budgets[at(memory)];
  problem.fixed_order = true;
  return problem;
}

}  // namespace

Lowered::Lowered(const JointProblem& joint)
    : problem(&joint), choice(joint.tasks.size(), -1), makers(joint.items.size()) {
  for (std::size_t c = 0; c < joint.required.size(); ++c) {
    for (int t : joint.required[c]) choice[at(t)] = static_cast<int>(c);
  }
  for (int t = 0; t < static_cast<int>(joint.tasks.size()); ++t) {
    first.push_back(static_cast<int>(entry.size()));
    entry.push_back({t, is_async(t) ? Part::begin : Part::whole});
    if (is_async(t)) entry.push_back({t, Part::end});
    for (int i : joint.tasks[at(t)].makes) makers[at(i)].push_back(t);
  }
  for (int m = 0; m < static_cast<int>(joint.memories()); ++m) memory.push_back(model_of_memory(*this, m));
}

Sequence Lowered::lower(const JointSchedule& schedule) const {
  Sequence sequence;
  for (const auto& [t, part] : schedule) sequence.push_back(first[at(t)] + (part == Part::end));
  return sequence;
}

}  // namespace tidemark
