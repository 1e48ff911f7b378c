#include "tidemark/solve/remat/moments.h"

#include <algorithm>
#include <numeric>

namespace tidemark {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

enum class Place : unsigned char { either, before, here, after };  // of a first run

std::vector<Place> places_of(const RematProblem& problem, int task) {
  const OrderModel& model = problem.model;
  std::vector<Place> place(at(model.tasks), Place::either);
  if (problem.fixed_order) {
    for (int t = 0; t < model.tasks; ++t) place[at(t)] = t < task ? Place::before : Place::after;
  } else {
    std::vector<int> stack;
    const auto mark = [&](const IntLists& next, Place how) {
      stack.assign(1, task);
      while (!stack.empty()) {
        const int here = stack.back();
        stack.pop_back();
        for (int n : next[here]) {
          if (place[at(n)] == how) continue;
          place[at(n)] = how;
          stack.push_back(n);
        }
      }
    };
    mark(model.before, Place::before);
    mark(model.after, Place::after);
  }
  place[at(task)] = Place::here;
  return place;
}

}  // namespace

Moment first_run(const RematProblem& problem, int task) {
  const OrderModel& model = problem.model;
  const std::vector<Place> place = places_of(problem, task);
  Moment moment{.task = task,
                .again = std::vector<double>(at(model.tasks), Moment::never),
                .needed = model.pinned,
                .given = std::vector<bool>(at(model.items), false)};
  for (int t = 0; t < model.tasks; ++t) {
    if (place[at(t)] == Place::here || place[at(t)] == Place::after) {
      for (int i : model.makes[t]) moment.given[at(i)] = true;
      if (place[at(t)] == Place::here) continue;
      for (int i : model.uses[t]) moment.needed[at(i)] = true;
      continue;
    }
    const bool closed = std::ranges::any_of(problem.closed_by[t], [&](int c) {
      return place[at(c)] == Place::before || place[at(c)] == Place::here;
    });
    if (closed) continue;
    if (place[at(t)] == Place::either) {
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
