#include "tidemark/solve/joint/solve.h"

#include <algorithm>
#include <numeric>

#include "tidemark/base/check.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/joint/anneal.h"
#include "tidemark/solve/joint/bound.h"
#include "tidemark/solve/joint/unload.h"

namespace tidemark {
namespace {

constexpr double same_makespan = 1e-9;  // as a share: sums in floating point

class Search {
 public:
  Search(const JointProblem& problem, const RematLimits& limits)
      : problem_(problem), limits_(limits), lowered_(problem), work_{limits.units, limits.control} {
    result_.time_bound = makespan_bound(problem);
  }

  JointResult run() {
    offer(plain_schedule(problem_));
    if (!proved() && problem_.start.empty()) recompute();
    if (!proved()) unload_base();
    if (!proved()) anneal_in_rounds();
    result_.work_units = limits_.units - work_.left;
    if (result_.feasible) result_.time_bound = std::min(result_.time_bound, result_.figures.makespan);
    return std::move(result_);
  }

 private:
  bool proved() const {
    return result_.feasible && result_.figures.makespan <= result_.time_bound * (1 + same_makespan);
  }

  // Bytes above the budgets, as shares of them.
  double above(const JointFigures& figures) const {
    double sum = 0;
    for (std::size_t m = 0; m < figures.peaks.size(); ++m) {
      const auto over =
          static_cast<double>(std::max<std::int64_t>(0, figures.peaks[m] - problem_.budgets[m]));
      sum += over / static_cast<double>(std::max<std::int64_t>(1, problem_.budgets[m]));
    }
    return sum;
  }

  void offer(JointSchedule schedule) {
    if (schedule.empty()) return;
    JointFigures figures = judge(problem_, schedule);
    TM_CHECK(figures.error.empty(), "a search made no schedule: {}", figures.error);
    const bool fits = figures.fits(problem_);
    const bool better = result_.schedule.empty() || (fits && !result_.feasible) ||
                        (fits && figures.makespan < result_.figures.makespan) ||
                        (!fits && !result_.feasible && above(figures) < above(result_.figures));
    if (!better) return;
    result_.feasible = fits;
    result_.figures = std::move(figures);
    result_.schedule = std::move(schedule);
  }

  // Everything but what needs other memories, lanes or optional tasks; choices do without these.
  void recompute() {
    constexpr std::int64_t part = 4;  // of the work: transfers and modes need the rest
    const RematProblem plain = plain_part(problem_);
    Sequence base(problem_.required.size());
    std::iota(base.begin(), base.end(), 0);
    RematLimits limits = limits_;
    limits.units = std::max<std::int64_t>(1, work_.left / part);
    limits.memory = nullptr;
    const RematResult found = solve_remat(plain, base, limits);
    work_.left -= found.work_units;
    JointSchedule schedule;
    for (int c : found.sequence) schedule.push_back({problem_.required[at(c)].front()});
    if (judge(problem_, schedule).error.empty()) {
      if (found.feasible) result_.recomputing_alone = found.figures.cost;
      starts_.push_back(schedule);
      offer(std::move(schedule));
    }
  }

  void unload_base() {
    // It ends when everything fits. Annealing, which comes down from above the budgets more slowly, gets the
    // rest.
    constexpr std::int64_t part = 4;  // of the work
    Work share{work_.left - work_.left / part + 1, work_.control};
    const std::int64_t before = share.left;
    JointSchedule schedule = unload(lowered_, plain_schedule(problem_), share);
    work_.left -= before - share.left;
    starts_.push_back(schedule);
    offer(std::move(schedule));
  }

  // From one start after the other, and from the best so far, in turn, each round longer than the last.
  void anneal_in_rounds() {
    constexpr double hot_anew = 1, hot_from_best = 0.3;
    constexpr std::int64_t least_length = 40'000, length_a_task = 200;
    starts_.push_back(plain_schedule(problem_));
    std::int64_t length = std::min(
        least_length + length_a_task * static_cast<std::int64_t>(problem_.tasks.size()), work_.left / 2 + 1);
    for (std::uint64_t round = 0; work_.left > 0 && !proved(); ++round) {
      Work turn{std::min(length, work_.left), work_.control};
      work_.left -= turn.left;
      const bool anew = round % 2 == 0 || !result_.feasible;
      const JointSchedule& start = anew ? starts_[round / 2 % starts_.size()] : result_.schedule;
      offer(anneal(lowered_, start, {.seed = round + 1, .hot = anew ? hot_anew : hot_from_best}, turn));
      work_.left += std::max<std::int64_t>(0, turn.left);
      work_.spend(0);  // time may be up
      if (round % 2 == 1) length += length / 2;
    }
  }

  const JointProblem& problem_;
  const RematLimits& limits_;
  Lowered lowered_;
  Work work_;
  std::vector<JointSchedule> starts_;
  JointResult result_;
};

JointResult solve_plain(const JointProblem& problem, const RematLimits& limits) {
  const RematProblem plain = plain_part(problem);
  Sequence base(problem.required.size());
  std::iota(base.begin(), base.end(), 0);
  RematResult found = solve_remat(plain, base, limits);
  JointResult result;
  for (int c : found.sequence) result.schedule.push_back({problem.required[at(c)].front()});
  result.figures = judge(problem, result.schedule);
  result.feasible = found.feasible;
  result.time_bound = found.time_bound;
  result.work_units = found.work_units;
  if (found.feasible) result.recomputing_alone = found.figures.cost;
  return result;
}

}  // namespace

JointResult solve_joint(const JointProblem& problem, const RematLimits& limits) {
  return is_plain(problem) ? solve_plain(problem, limits) : Search(problem, limits).run();
}

}  // namespace tidemark
