#include "tidemark/solve/remat/bound.h"
#include "tidemark/solve/remat/portfolio.h"

namespace tidemark {
namespace {

// With less than this, exact search and beams get nowhere on more than so many tasks; annealing does.
constexpr std::int64_t much_work = 1'000'000;
constexpr int most_with_little = 48;

bool is_small(const RematProblem& problem, const RematLimits& limits) {
  const int size = std::max(problem.model.tasks, problem.model.items);
  if (limits.memory && limits.memory->beyond_exact) return false;
  return size <= (limits.units >= much_work ? most_exact_tasks : most_with_little);
}

ExactLimits limits_of(const RematProblem& problem, const RematLimits& limits) {
  constexpr std::int64_t states = 50'000;  // some 5 MB
  // A unit of effort is about a microsecond, a step a nanosecond: a quarter of the effort.
  constexpr std::int64_t steps_a_unit = 250;
  // So few tasks are solved to the end whatever the effort: a few hundredths of a second at most.
  constexpr int few_tasks = 36;
  constexpr std::int64_t least_steps = 20'000'000;
  // Of some 10 nanoseconds each: a twentieth of the effort, and a fifth of a second at most.
  constexpr std::int64_t price_steps_a_unit = 5, most_price_steps = 20'000'000;
  const int size = std::max(problem.model.tasks, problem.model.items);
  return {.states = states,
          .work = std::max(size <= few_tasks ? least_steps : 0, steps_a_unit * limits.units),
          .price_work = std::min(most_price_steps, price_steps_a_unit * limits.units),
          .control = limits.control};
}

}  // namespace

Incumbent::Verdict Incumbent::offer(Sequence sequence) {
  if (sequence.empty()) return Verdict::worse;
  const SequenceFigures figures = figures_of(problem_, sequence);
  if (figures.peak > problem_.budget) return Verdict::worse;
  if (!empty() && figures.cost >= figures_.cost * (1 - same_cost)) {
    return figures.cost <= figures_.cost * (1 + same_cost) ? Verdict::as_good : Verdict::worse;
  }
  sequence_ = std::move(sequence);
  figures_ = figures;
  ++improvements_;
  return Verdict::better;
}

RematState::RematState(const RematProblem& the_problem, std::span<const int> start,
                       const RematLimits& the_limits, std::span<const int> warm_start)
    : problem(the_problem),
      limits(the_limits),
      warm(warm_start),
      much(limits.units >= much_work),
      small(is_small(problem, limits)),
      exact_limits(limits_of(problem, limits)),
      base(start.begin(), start.end()),
      work{limits.units, limits.control},
      best(problem),
      time_bound(problem.base_cost()),
      memory_bound(tidemark::memory_bound(problem)),
      hopeless(memory_bound > problem.budget) {}

WorkShare::WorkShare(Work& whole, double part)
    : whole_(whole),
      share_{std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(whole.left) * part)),
             whole.control} {
  whole_.left -= share_.left;
}

}  // namespace tidemark
