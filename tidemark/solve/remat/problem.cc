#include "tidemark/solve/remat/problem.h"

#include <algorithm>
#include <numeric>

#include "tidemark/solve/at.h"

namespace tidemark {

double RematProblem::base_cost() const { return std::accumulate(cost.begin(), cost.end(), 0.0); }

bool is_valid_sequence(const RematProblem& problem, std::span<const int> sequence) {
  const OrderModel& model = problem.model;
  std::vector<bool> done(at(model.tasks), false);
  int firsts = 0;
  for (int t : sequence) {
    if (t < 0 || t >= model.tasks) return false;
    for (int p : model.before[t]) {
      if (!done[at(p)]) return false;
    }
    for (int closer : problem.closed_by[t]) {
      if (done[at(closer)]) return false;
    }
    if (done[at(t)]) {
      if (!problem.repeatable[at(t)]) return false;
    } else {
      if (problem.fixed_order && t != firsts) return false;
      done[at(t)] = true;
      ++firsts;
    }
  }
  return firsts == model.tasks;
}

std::vector<std::int64_t> loads_of(const RematProblem& problem, std::span<const int> sequence) {
  const OrderModel& model = problem.model;
  std::vector<std::int64_t> loads(sequence.size());
  // Walking backwards: is the item read again before it is made again? That is what "alive after this step"
  // means.
  std::vector<bool> alive = model.pinned;
  std::int64_t resident = model.base;  // after the step at hand
  for (int i = 0; i < model.items; ++i) {
    if (alive[at(i)]) resident += model.size[at(i)];
  }
  for (std::size_t p = sequence.size(); p-- > 0;) {
    const int t = sequence[p];
    std::int64_t during = resident, before = resident;
    for (int i : model.makes[t]) {
      if (alive[at(i)]) {
        before -= model.size[at(i)];
      } else {
        during += model.size[at(i)];
      }
    }
    const auto dies = [&](int i) { return !alive[at(i)]; };
    during -= saved_by_reuse(model, t, dies);
    for (int i : model.makes[t]) alive[at(i)] = false;
    for (int i : model.uses[t]) {
      if (alive[at(i)]) continue;
      alive[at(i)] = true;
      during += model.size[at(i)];
      before += model.size[at(i)];
    }
    loads[p] = during + model.scratch[at(t)];
    resident = before;
  }
  return loads;
}

SequenceFigures figures_of(const RematProblem& problem, std::span<const int> sequence) {
  const std::vector<std::int64_t> loads = loads_of(problem, sequence);
  SequenceFigures figures;
  for (std::size_t p = sequence.size(); p-- > 0;) {
    figures.cost += problem.cost[at(sequence[p])];
    if (loads[p] < figures.peak) continue;
    figures.peak = loads[p];
    figures.peak_at = static_cast<int>(p);
  }
  return figures;
}

}  // namespace tidemark
