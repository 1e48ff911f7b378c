#include "tidemark/solve/remat/bound.h"

#include <algorithm>
#include <numeric>

#include "tidemark/solve/at.h"
#include "tidemark/solve/never.h"
#include "tidemark/solve/order/relation.h"
#include "tidemark/solve/remat/moments.h"
#include "tidemark/solve/remat/peaks.h"
#include "tidemark/solve/remat/relax.h"

namespace tidemark {
namespace {

constexpr int most_related = 256;  // tasks whose relations in every order are looked at
constexpr int most_peaks = 1024;   // tasks; more, and the heaviest moments are not looked at one by one
constexpr int least_rounds = 100;  // price steps to leave room for

OrderLoads base_loads(const RematProblem& problem) {
  std::vector<int> order(at(problem.model.tasks));
  std::iota(order.begin(), order.end(), 0);
  return loads_of(problem.model, order);
}

class MemoryBound {
 public:
  explicit MemoryBound(const RematProblem& problem)
      : problem_(problem), model_(problem.model), maker_(at(model_.items), -1), relation_(model_) {
    for (int t = 0; t < model_.tasks; ++t) {
      for (int i : model_.makes[t]) maker_[at(i)] = t;
    }
  }

  std::int64_t run() {
    std::int64_t end = model_.base, best = 0;
    for (int i = 0; i < model_.items; ++i) {
      if (model_.pinned[at(i)]) end += model_.size[at(i)];
    }
    best = model_.tasks > 0 ? end : 0;
    if (problem_.fixed_order) return std::max(best, in_fixed_order());
    for (int t = 0; t < model_.tasks; ++t) {
      best = std::max(best,
                      own_load(t, [&](int i) { return model_.pinned[at(i)] && !remade_after(i, t, false); }));
    }
    const OrderLoads loads = base_loads(problem_);
    std::vector<int> tasks(at(model_.tasks));
    std::iota(tasks.begin(), tasks.end(), 0);
    const auto count = std::min(tasks.size(), at(most_related));
    std::ranges::partial_sort(tasks, tasks.begin() + static_cast<std::ptrdiff_t>(count), [&](int a, int b) {
      return std::pair(-loads.during[at(a)], a) < std::pair(-loads.during[at(b)], b);
    });
    tasks.resize(count);
    for (int t : tasks) best = std::max(best, related_load(t));
    return best;
  }

 private:
  // Scratch, operands and results of a task, less the most that in-place reuses could save: operands that
  // die, one a result.
  template <class F>
  std::int64_t own_load(int t, F&& stays) const {
    std::int64_t own = model_.base + model_.scratch[at(t)], dying = 0, taken = 0;
    for (int i : model_.uses[t]) {
      own += model_.size[at(i)];
      const bool takeable =
          std::ranges::any_of(model_.reuses[at(t)], [&](const InPlaceReuse& p) { return p.used == i; });
      if (takeable && !stays(i)) dying += model_.size[at(i)];
    }
    for (int i : model_.makes[t]) {
      own += model_.size[at(i)];
      std::int64_t largest = 0;
      for (const InPlaceReuse& pair : model_.reuses[at(t)]) {
        if (pair.made == i && !stays(pair.used)) largest = std::max(largest, model_.size[at(pair.used)]);
      }
      taken += largest;
    }
    return own - std::min(dying, taken);
  }

  // May the item be made again after the first run of `t`? Closers count if they are surely not after `t`.
  bool remade_after(int item, int t, bool related) const {
    const int m = maker_[at(item)];
    if (m < 0 || !problem_.repeatable[at(m)]) return false;
    return std::ranges::none_of(problem_.closed_by[m], [&](int c) {
      return c == t || (related && relation_[c] == Relation::before);
    });
  }

  std::int64_t in_fixed_order() const {
    // Item i cannot be dropped at the first runs of tasks in [from, to).
    std::vector<int> from(at(model_.items)), to(at(model_.items));
    std::vector<std::int64_t> change(at(model_.tasks) + 1, 0);
    for (int i = 0; i < model_.items; ++i) {
      const int m = maker_[at(i)];
      int start = m + 1, end = model_.pinned[at(i)] ? model_.tasks : 0;
      if (m >= 0 && problem_.repeatable[at(m)]) {
        int closed = model_.tasks;
        for (int c : problem_.closed_by[m]) closed = std::min(closed, c);
        start = std::max(start, closed);
      }
      for (int u : model_.users[i]) end = std::max(end, u);
      from[at(i)] = start;
      to[at(i)] = end;
      if (start >= end) continue;
      change[at(start)] += model_.size[at(i)];
      change[at(end)] -= model_.size[at(i)];
    }
    std::int64_t best = 0, staying = 0;
    for (int t = 0; t < model_.tasks; ++t) {
      staying += change[at(t)];
      const auto stays = [&](int i) { return from[at(i)] <= t && t < to[at(i)]; };
      std::int64_t counted = 0;  // in both sums
      for (int i : model_.uses[t]) counted += stays(i) ? model_.size[at(i)] : 0;
      best = std::max(best, staying - counted + own_load(t, stays));
    }
    return best;
  }

  std::int64_t related_load(int t) {
    relation_.look_from(t);
    const auto stays = [&](int i) {
      const int m = maker_[at(i)];
      if (m >= 0 && relation_[m] != Relation::before) return false;
      const bool needed = model_.pinned[at(i)] || std::ranges::any_of(model_.users[i], [&](int u) {
                            return relation_[u] == Relation::after;
                          });
      return needed && !remade_after(i, t, true);
    };
    std::int64_t sum = own_load(t, stays);
    for (int i = 0; i < model_.items; ++i) {
      if (stays(i) && std::ranges::count(model_.uses[t], i) == 0) sum += model_.size[at(i)];
    }
    return sum;
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  std::vector<int> maker_;  // per item; -1: present from the start
  TaskRelations relation_;  // to the task looked at
};

// Tasks whose first runs come one after the other in every sequence, heavy ones preferred.
std::vector<int> chain_of(const RematProblem& problem, const OrderLoads& loads) {
  const OrderModel& model = problem.model;
  std::vector<int> chain;
  if (problem.fixed_order) {
    chain.resize(at(model.tasks));
    std::iota(chain.begin(), chain.end(), 0);
    return chain;
  }
  std::vector<double> best(at(model.tasks));
  std::vector<int> from(at(model.tasks), -1);
  int end = -1;
  for (int t = 0; t < model.tasks; ++t) {
    for (int p : model.before[t]) {
      if (from[at(t)] < 0 || best[at(p)] > best[at(from[at(t)])]) from[at(t)] = p;
    }
    const double over = static_cast<double>(loads.during[at(t)]) / static_cast<double>(loads.peak + 1);
    best[at(t)] = 0.01 + over * over + (from[at(t)] < 0 ? 0 : best[at(from[at(t)])]);
    if (end < 0 || best[at(t)] > best[at(end)]) end = t;
  }
  for (int t = end; t >= 0; t = from[at(t)]) chain.push_back(t);
  std::ranges::reverse(chain);
  return chain;
}

// Of each of `count` stretches, the heaviest.
std::vector<int> thin_out(const std::vector<int>& chain, const OrderLoads& loads, std::size_t count) {
  if (chain.size() <= count) return chain;
  std::vector<int> picked;
  for (std::size_t k = 0; k < count; ++k) {
    const auto first = chain.begin() + static_cast<std::ptrdiff_t>(k * chain.size() / count);
    const auto last = chain.begin() + static_cast<std::ptrdiff_t>((k + 1) * chain.size() / count);
    picked.push_back(*std::max_element(
        first, last, [&](int a, int b) { return loads.during[at(a)] < loads.during[at(b)]; }));
  }
  return picked;
}

}  // namespace

std::int64_t memory_bound(const RematProblem& problem) { return MemoryBound(problem).run(); }

double time_bound(const RematProblem& problem, const TimeBoundOptions& options) {
  const double base = problem.base_cost();
  if (memory_bound(problem) > problem.budget) return never;
  const OrderLoads loads = base_loads(problem);
  if (loads.peak <= problem.budget) return base;
  const std::vector<int> chain = chain_of(problem, loads);
  // Few probes if there are many items, so that there is work for enough steps.
  const std::int64_t cells = options.work / least_rounds;
  const std::int64_t probes = std::clamp<std::int64_t>(2 * cells / std::max(1, problem.model.items), 8, 1024);
  const std::vector<int> picked = thin_out(chain, loads, static_cast<std::size_t>(probes));
  RematRelaxation relaxation(problem, picked);
  if (relaxation.size() <= 2 * cells) {
    relaxation.improve(options.work, never, options.control);
  } else {
    relaxation = RematRelaxation(problem, picked, false);
    relaxation.improve(options.work, never, options.control);
  }
  double repeats = std::max(relaxation.bound(), repeats_at_moments(problem, options.work));
  if (problem.fixed_order && problem.model.tasks <= most_peaks) {
    std::vector<int> kept;
    for (int i = 0; i < problem.model.items; ++i) {
      if (problem.model.pinned[at(i)]) kept.push_back(i);
    }
    repeats = std::max(repeats, RematPeaks(problem).repeats_needed(problem.model.tasks, kept));
  }
  return base + repeats;
}

}  // namespace tidemark
