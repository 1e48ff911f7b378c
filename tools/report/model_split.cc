#include "tools/report/model_split.h"

#include "tidemark/base/error.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/nn/zoo.h"

namespace tidemark::cli {

std::int64_t fastest_split(const ModelOption& model, const PlanOptions& options) {
  const std::int64_t batch = model.batch.value_or(nn::find_in_zoo(model.model)->batch);
  PlanOptions quick = options;
  quick.effort = options.effort.at_most(Effort::quick);
  quick.after = {};
  quick.one_round = true;
  quick.floor = false;
  std::int64_t best = 0, most = 1;
  double seconds = 0;
  for (std::int64_t count = 1; count <= batch && batch % count == 0; count *= 2) {
    ModelOption other = model;
    other.split = count;
    Graph traced;
    try {
      traced = other.load();
    } catch (const Error&) {
      if (count == 2 && best == 0) throw;  // it neither fits as it is nor can be cut
      break;
    }
    most = count;
    const PlanWithLoops planned = plan_with_loops(traced, {}, quick);
    if (!planned.plan) continue;
    const Plan& plan = planned.plan.value();
    if (best == 0 || plan.seconds < seconds) {
      best = count;
      seconds = plan.seconds;
    }
    constexpr double no_time = 1e-3;
    if (count == 1 && plan.extra_time() < no_time) break;
  }
  return best > 0 ? best : most;
}

}  // namespace tidemark::cli
