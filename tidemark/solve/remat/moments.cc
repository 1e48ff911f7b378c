#include "tidemark/solve/remat/moments.h"

#include <algorithm>
#include <numeric>

#include "tidemark/solve/at.h"
#include "tidemark/solve/order/relation.h"

namespace tidemark {
namespace {

// Of first runs to that of a task.
std::vector<Relation> relations_to(const RematProblem& problem, int task) {
  const int tasks = problem.model.tasks;
  std::vector<Relation> relation(at(tasks), Relation::same);
  TaskRelations in_every_order(problem.model);
  if (!problem.fixed_order) in_every_order.look_from(task);
  for (int t = 0; t < tasks; ++t) {
    if (t == task) continue;
    const Relation given = t < task ? Relation::before : Relation::after;
    relation[at(t)] = problem.fixed_order ? given : in_every_order[t];
  }
  return relation;
}

}  // namespace

Moment first_run(const RematProblem& problem, int task) {
  const OrderModel& model = problem.model;
  const std::vector<Relation> relation = relations_to(problem, task);
  Moment moment{.task = task,
                .again = std::vector<double>(at(model.tasks), Moment::never),
                .needed = model.pinned,
                .given = std::vector<bool>(at(model.items), false)};
  for (int t = 0; t < model.tasks; ++t) {
    if (relation[at(t)] == Relation::same || relation[at(t)] == Relation::after) {
      for (int i : model.makes[t]) moment.given[at(i)] = true;
      if (relation[at(t)] == Relation::same) continue;
      for (int i : model.uses[t]) moment.needed[at(i)] = true;
      continue;
    }
    const bool closed = std::ranges::any_of(problem.closed_by[t], [&](int c) {
      return relation[at(c)] == Relation::before || relation[at(c)] == Relation::same;
    });
    if (closed) continue;
    if (relation[at(t)] == Relation::either) {
      moment.again[at(t)] = 0;
    } else if (problem.repeatable[at(t)]) {
      moment.again[at(t)] = problem.cost[at(t)];
    }
  }
  return moment;
}

double repeats_at_moments(const RematProblem& problem, std::int64_t visits, const std::vector<bool>& joins) {
  constexpr std::size_t most_moments = 24;  // the dearest is rarely the heaviest, but among the heavy
  const auto may_join = [&](int t) { return !joins.empty() && joins[at(t)]; };
  std::vector<int> tasks(at(problem.model.tasks));
  std::iota(tasks.begin(), tasks.end(), 0);
  const OrderLoads loads = loads_of(problem.model, tasks);
  std::erase_if(tasks, [&](int t) { return loads.during[at(t)] <= problem.budget || may_join(t); });
  std::ranges::stable_sort(tasks, [&](int a, int b) { return loads.during[at(a)] > loads.during[at(b)]; });
  if (tasks.size() > most_moments) tasks.resize(most_moments);
  MomentCut::Bound best;
  for (int t : tasks) {
    visits -= MomentCut::visits_to_make(problem.model);
    if (visits <= 0) break;
    Moment moment = first_run(problem, t);
    for (int m = 0; m < problem.model.tasks; ++m) {
      if (may_join(m) && moment.again[at(m)] < Moment::never) moment.again[at(m)] = 0;
    }
    const MomentCut::Bound bound = MomentCut(problem, moment).bound(best.price, visits);
    if (bound.cost > best.cost) best = bound;
  }
  return best.cost;
}

}  // namespace tidemark
