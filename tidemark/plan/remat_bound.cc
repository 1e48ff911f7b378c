#include "tidemark/plan/remat_bound.h"

#include <algorithm>

namespace tidemark {

std::int64_t memory_bound(const RematProblem& problem) {
  const OrderModel& model = problem.model;
  std::int64_t most = 0;
  for (int t = 0; t < model.tasks; ++t) {
    std::int64_t bytes = model.base + model.scratch[static_cast<std::size_t>(t)];
    for (int item : model.makes[t]) bytes += model.size[static_cast<std::size_t>(item)];
    for (int item : model.uses[t]) bytes += model.size[static_cast<std::size_t>(item)];
    most = std::max(most, bytes - saved_by_take_over(model, t, [](int) { return true; }));
  }
  return most;
}

double time_bound(const RematProblem& problem, const TimeBoundOptions&) { return problem.base_cost(); }

}  // namespace tidemark
