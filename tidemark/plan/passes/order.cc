// Order: what runs when. Written as a problem of tasks and items (draft_model.h), searched
// (solve/order/best.cc), and read back.
#include <algorithm>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

constexpr double visits_per_task = 1200;
constexpr double least_visits = 400'000, most_visits = 1e18;

}  // namespace

Draft order(Draft draft) {
  const OrderModel model = order_model_of(draft);
  const double per_effort = std::max(least_visits, visits_per_task * static_cast<double>(model.tasks));
  const double visits = std::min(most_visits, per_effort * draft.work_factor);
  Work work{static_cast<std::int64_t>(visits), draft.control};
  draft.order_free_bound = order_bound(model);
  const TaskOrder best = best_order(model, draft.order_free_bound, work);
  draft.work_units += static_cast<std::int64_t>(visits) - work.left;

  std::vector<Execution> executions;
  executions.reserve(draft.executions.size());
  for (int t : best) executions.push_back(std::move(draft.executions[static_cast<std::size_t>(t)]));
  draft.executions = std::move(executions);
  return draft;
}

}  // namespace tidemark
