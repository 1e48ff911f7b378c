// The smallest load that a sequence was found for, cost being no object. Exact where the problem is small enough; else
// shaving towards limits that come down step by step, and annealing where shaving is stuck.
#include <algorithm>

#include "tidemark/solve/remat/bound.h"
#include "tidemark/solve/remat/exact.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

constexpr int exact_tasks = 40;
constexpr std::int64_t fewest_states = 5'000, most_states = 50'000;  // of the exact search

// Both ways down share this: a limit below the peak at hand, nearer to it after each failure.
class Descent {
 public:
  Descent(const RematProblem& problem, std::span<const int> start, std::int64_t goal)
      : problem_(problem), best_(start.begin(), start.end()), goal_(goal) {
    peak_ = figures_of(problem, best_).peak;
    step_ = std::max<std::int64_t>(1, (peak_ - goal_) / 4);
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
        step_ = std::max<std::int64_t>(1, step_ / 4);
      }
    }
    step_ = std::max<std::int64_t>(1, (peak_ - goal_) / 16);
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
  if (problem.model.tasks <= exact_tasks) {
    ExactLimits limits;
    limits.states = std::clamp(work.left / 40, fewest_states, most_states);
    limits.work = std::min(limits.work, 2000 * work.left);
    limits.control = work.control;
    SmallestPeak exact = smallest_peak(problem, limits);
    if (exact.complete) {
      return {.sequence = std::move(exact.sequence), .peak = exact.bytes, .bound = exact.bytes};
    }
    floor.bound = std::max(floor.bound, exact.bytes);
  }
  Descent descent(problem, start, std::max(goal, floor.bound));
  descent.run(
      8, [&](const Sequence& from, std::int64_t limit) { return shave(problem, from, limit, work); }, work);
  std::uint64_t seed = 0;
  descent.run(
      12,
      [&](const Sequence& from, std::int64_t limit) {
        RematProblem tighter = problem;
        tighter.budget = limit;
        Work share{work.left / 10, work.control};
        work.left -= share.left;
        Sequence found =
            anneal(tighter, from, {.seed = ++seed, .hot = 0.1, .cold = 0.01, .first_within = true}, share);
        work.left += share.left;
        return found;
      },
      work);
  floor.peak = descent.peak();
  floor.sequence = descent.take();
  return floor;
}

}  // namespace tidemark
