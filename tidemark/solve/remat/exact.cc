#include "tidemark/solve/remat/exact.h"

#include <algorithm>
#include <limits>

#include "tidemark/solve/bit_set.h"
#include "tidemark/solve/remat/backward.h"
#include "tidemark/solve/remat/bound.h"

namespace tidemark {
namespace {

constexpr std::int64_t states_without_prices = 2'000;

template <class F>
auto with_set(const RematProblem& problem, F&& f) {
  const int most = std::max(problem.model.tasks, problem.model.items);
  TM_CHECK(most <= most_exact_tasks);
  if (most <= 64) return f.template operator()<BitSet<1>>();
  if (most <= 128) return f.template operator()<BitSet<2>>();
  return f.template operator()<BitSet<4>>();
}

}  // namespace

ExactSequence exact_sequence(const RematProblem& problem, const ExactLimits& limits) {
  const double base = problem.base_cost();
  constexpr double any_cost = std::numeric_limits<double>::infinity();
  return with_set(problem, [&]<class Set>() {
    using Search = BackwardSearch<Set>;
    // Prices take longer to find than most small problems to solve.
    const bool priced = problem.fixed_order && limits.states > states_without_prices;
    auto found = Search(problem, BackwardGoal::cost)
                     .run(problem.budget, any_cost, priced ? states_without_prices : limits.states,
                          limits.work, 0, limits.control);
    std::int64_t spent = found.spent;
    if (!found.complete && priced) {
      Search search(problem, BackwardGoal::cost);
      search.find_prices(limits.price_work, any_cost, limits.control);
      found = search.run(problem.budget, any_cost, limits.states, limits.work, 0, limits.control);
      spent += found.spent + 10 * limits.price_work;
    }
    ExactSequence result;
    result.sequence = std::move(found.sequence);
    result.bound = base + found.value;
    result.complete = found.complete;
    result.spent = spent;
    if (!result.sequence.empty()) result.cost = figures_of(problem, result.sequence).cost;
    return result;
  });
}

SmallestPeak smallest_peak(const RematProblem& problem, const ExactLimits& limits) {
  return with_set(problem, [&]<class Set>() {
    auto found =
        BackwardSearch<Set>(problem, BackwardGoal::peak)
            .run(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<double>::infinity(),
                 limits.states, limits.work, static_cast<double>(memory_bound(problem)), limits.control);
    return SmallestPeak{static_cast<std::int64_t>(found.value), std::move(found.sequence), found.complete};
  });
}

}  // namespace tidemark
