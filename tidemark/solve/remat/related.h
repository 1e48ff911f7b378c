// The heaviest moments of a free order: as peaks.h, but "made before" and "needed after" are what holds in
// every order. For small problems, whose tasks and items fit into bit sets.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "tidemark/base/check.h"
#include "tidemark/solve/remat/cover.h"
#include "tidemark/solve/remat/problem.h"

namespace tidemark {

template <class Set>
class RelatedPeaks {
 public:
  explicit RelatedPeaks(const RematProblem& problem)
      : problem_(problem), model_(problem.model), makes_(at(model_.tasks)), users_(at(model_.items)) {
    const int n = model_.tasks;
    Set present;
    for (int i = 0; i < model_.items; ++i) {
      if (model_.present[at(i)]) present.add(i);
      for (int u : model_.users[i]) users_[at(i)].add(u);
    }
    std::vector<Set> before(at(n)), after(at(n));
    for (int t = 0; t < n; ++t) {
      for (int i : model_.makes[t]) makes_[at(t)].add(i);
      for (int p : model_.before[t]) {
        TM_CHECK(p < t, "the base order runs {} before {}", t, p);
        before[at(t)] = before[at(t)].with(before[at(p)]);
        before[at(t)].add(p);
      }
      before[at(t)].each([&](int p) { after[at(p)].add(t); });
    }
    for (int t = 0; t < n; ++t) {
      Moment moment;
      moment.earlier = present;
      moment.later = after[at(t)];
      moment.over = model_.base + model_.scratch[at(t)] - problem.budget;
      before[at(t)].each([&](int m) {
        moment.earlier = moment.earlier.with(makes_[at(m)]);
        const bool closed =
            std::ranges::any_of(problem.closed_by[m], [&](int c) { return c == t || before[at(t)].has(c); });
        if (problem.repeatable[at(m)] && !closed) moment.makers.push_back(m);
      });
      for (int i = 0; i < model_.items; ++i) {
        if (moment.earlier.has(i) && users_[at(i)].meets(moment.later)) moment.used_later.push_back(i);
      }
      for (int i : model_.uses[t]) moment.counted.add(i);
      for (int i : model_.makes[t]) moment.counted.add(i);
      moment.over += bytes(moment.counted);
      for (const InPlaceReuse& pair : model_.reuses[at(t)]) moment.takeable.add(pair.used);
      moments_.push_back(std::move(moment));
    }
  }

  // Cost of repeated runs that every way to run the other tasks before those `placed`, with these items
  // `alive` at the end, needs.
  double repeats_needed(const Set& placed, const Set& alive) {
    double most = 0;
    heavy_.clear();
    visits_ += model_.tasks * model_.items;
    for (int t = 0; t < model_.tasks; ++t) {
      if (placed.has(t)) continue;
      const Moment& moment = moments_[at(t)];
      Set crossing = alive.common(moment.earlier);
      for (int i : moment.used_later) {
        if (users_[at(i)].without(placed).meets(moment.later)) crossing.add(i);
      }
      const Set kept_operands = crossing.common(moment.takeable);
      const Set beside = crossing.without(moment.counted);
      const std::int64_t over = moment.over + bytes(beside) - bytes(moment.takeable.without(kept_operands));
      if (over <= 0) continue;
      const Set items = beside.with(kept_operands);
      heavy_.push_back({cheapest(t, items, over, 0), over, t, items});
      most = std::max(most, heavy_.back().cost);
    }
    if (most == std::numeric_limits<double>::infinity()) return most;
    // Whole items instead of parts, where it looks worst.
    constexpr std::ptrdiff_t whole = 3;
    constexpr int nodes = 200;
    const auto few = std::min(whole, static_cast<std::ptrdiff_t>(heavy_.size()));
    std::ranges::partial_sort(heavy_, heavy_.begin() + few, [](const Heavy& a, const Heavy& b) {
      return std::pair(-a.cost, a.task) < std::pair(-b.cost, b.task);
    });
    for (auto h = heavy_.begin(); h != heavy_.begin() + few; ++h) {
      most = std::max(most, cheapest(h->task, h->items, h->over, nodes));
    }
    return most;
  }

  std::int64_t visits() const { return visits_; }  // items looked at so far

 private:
  struct Moment {                 // the first run of a task
    Set earlier;                  // items surely made before
    std::vector<int> used_later;  // those of them that have a user surely after
    Set later;                    // tasks surely run after
    Set counted;                  // its operands and results
    Set takeable;                 // operands it may overwrite if they die
    std::int64_t over = 0;        // what it takes itself, less the budget
    std::vector<int> makers;      // surely run before and may run again after
  };
  struct Heavy {
    double cost;
    std::int64_t over;
    int task;
    Set items;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::int64_t bytes(const Set& items) const {
    std::int64_t sum = 0;
    items.each([&](int i) { sum += model_.size[at(i)]; });
    return sum;
  }

  // Cost of making again, later, at least `over` bytes of these items.
  double cheapest(int task, const Set& items, std::int64_t over, int nodes) {
    gains_.clear();
    for (int m : moments_[at(task)].makers) {
      const std::int64_t gain = bytes(makes_[at(m)].common(items));
      if (gain > 0) gains_.push_back({problem_.cost[at(m)], static_cast<double>(gain)});
    }
    return least_cover(gains_, static_cast<double>(over), nodes, visits_);
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  std::vector<Set> makes_, users_;
  std::vector<Moment> moments_;
  std::vector<Heavy> heavy_;
  std::vector<Gain> gains_;
  std::int64_t visits_ = 0;
};

}  // namespace tidemark
