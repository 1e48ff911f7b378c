#include "tidemark/plan/passes/timed_rounds.h"

#include "tidemark/plan/report/frontier.h"

namespace tidemark {
namespace {

const Plan& plan_in(const Result<Plan, Infeasible>& result) {
  return result ? result.value() : result.error().smallest;
}

// What fits is better the faster it is; then, and where nothing fits, the smaller.
bool better(const Result<Plan, Infeasible>& a, const Result<Plan, Infeasible>& b) {
  if (a.ok() != b.ok()) return a.ok();
  const Plan &p = plan_in(a), &q = plan_in(b);
  if (a.ok() && p.seconds != q.seconds) return p.seconds < q.seconds;
  return p.peak() < q.peak();
}

// Nothing is left to find.
bool is_final(const Result<Plan, Infeasible>& result, const PlanOptions& options) {
  const Plan& plan = plan_in(result);
  if (!result || !options.memory) return plan.peak() <= plan.order_free_bound;
  return plan.seconds <= plan.seconds_bound * (1 + 1e-9);
}

}  // namespace

Result<Plan, Infeasible> best_in_time(PlanOptions options, const PlanRound& round) {
  constexpr double first = 1.0 / 16, last = 1e6;  // efforts
  options.effort = first;
  Result<Plan, Infeasible> best = round(options);
  while (!options.control->time_is_up() && !is_final(best, options) && options.effort.factor < last) {
    options.effort *= 2;
    options.warm_start = executions_of(plan_in(best));
    Result<Plan, Infeasible> next = round(options);
    if (better(next, best)) best = std::move(next);
  }
  return best;
}

}  // namespace tidemark
