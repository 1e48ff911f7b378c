// The smallest load that a sequence was found for, cost being no object. Exact where the problem is small
// enough; else shaving towards limits that come down step by step, and annealing where shaving is stuck.
#include <algorithm>

#include "tidemark/solve/remat/bound.h"
#include "tidemark/solve/remat/exact.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

// So few tasks are worth an exact search first, of so many states: one for every so many units of work.
constexpr int exact_tasks = 40;
constexpr std::int64_t fewest_states = 5'000, most_states = 50'000;
constexpr std::int64_t units_a_state = 40;
constexpr std::int64_t steps_a_unit = 2000;  // of a nanosecond: at most twice the work that is left

// So many failures end a way down; annealing, which draws other numbers at each try, may fail more often.
constexpr int shaving_failures = 8, annealing_failures = 12;
// Annealing only has to find its way down a little: coolly, and each try with a tenth of what is left.
constexpr double hot = 0.1, cold = 0.01;
constexpr std::int64_t tries_for_the_work = 10;

// Both ways down share this: a limit below the peak at hand, nearer to it after each failure.
class Descent {
  static constexpr std::int64_t first_part = 4, later_part = 16;  // of the way to the goal, for a first step
  static constexpr std::int64_t nearer = 4;                       // a step shrinks by, when it fails

 public:
  Descent(const RematProblem& problem, std::span<const int> start, std::int64_t goal)
      : problem_(problem), best_(start.begin(), start.end()), goal_(goal) {
    peak_ = figures_of(problem, best_).peak;
    step_ = std::max<std::int64_t>(1, (peak_ - goal_) / first_part);
  }

  template <class Search>  // Sequence(limit): empty or too high when it fails
  void run(int failures, Search&& search, Work& work) {
    while (peak_ > goal_ && failures > 0 && work.left > 0) {
      const std::int64_t limit = std::max(goal_, peak_ - step_);
      Sequence found = search(best_, limit);
      const std::int64_t peak = found.empty() ? peak_ : figures_of(problem_, found).peak;
      if (peak < peak_) {
        best_ = std::move(found);
        peak_ = peak;
      } else {
        --failures;
        step_ = std::max<std::int64_t>(1, step_ / nearer);
      }
    }
    step_ = std::max<std::int64_t>(1, (peak_ - goal_) / later_part);
  }

  std::int64_t peak() const { return peak_; }
  Sequence take() { return std::move(best_); }

 private:
  const RematProblem& problem_;
  Sequence best_;
  std::int64_t goal_, peak_, step_;
};

}  // namespace

Floor lowest_peak(const RematProblem& problem, std::span<const int> start, std::int64_t goal, Work& work) {
  Floor floor{.sequence = {}, .peak = 0, .bound = memory_bound(problem)};
  if (problem.model.tasks <= exact_tasks && problem.model.items <= most_exact_tasks) {
    ExactLimits limits;
    limits.states = std::clamp(work.left / units_a_state, fewest_states, most_states);
    limits.work = std::min(limits.work, steps_a_unit * work.left);
    limits.control = work.control;
    SmallestPeak exact = smallest_peak(problem, limits);
    if (exact.complete) {
      return {.sequence = std::move(exact.sequence), .peak = exact.bytes, .bound = exact.bytes};
    }
    floor.bound = std::max(floor.bound, exact.bytes);
  }
  Descent descent(problem, start, std::max(goal, floor.bound));
  descent.run(
      shaving_failures,
      [&](const Sequence& from, std::int64_t limit) { return shave(problem, from, limit, work); }, work);
  std::uint64_t seed = 0;
  descent.run(
      annealing_failures,
      [&](const Sequence& from, std::int64_t limit) {
        RematProblem tighter = problem;
        tighter.budget = limit;
        Work share{work.left / tries_for_the_work, work.control};
        work.left -= share.left;
        Sequence found =
            anneal(tighter, from, {.seed = ++seed, .hot = hot, .cold = cold, .first_within = true}, share);
        work.left += share.left;
        return found;
      },
      work);
  floor.peak = descent.peak();
  floor.sequence = descent.take();
  return floor;
}

}  // namespace tidemark
