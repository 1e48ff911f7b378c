#include "tools/report/model_fit.h"

#include <algorithm>
#include <limits>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/report/largest_size.h"
#include "tidemark/plan/report/plan_figures.h"
#include "tools/report/graph_search.h"

namespace tidemark::cli {

const std::array<FitLimit, fit_limit_count> fit_limits = {
    {{"no_extra_time", "no extra time", 0.001},
     {"up_to_25_percent", "up to 25% more time", 0.25},
     {"at_all", "at any price", std::numeric_limits<double>::infinity()}}};

std::optional<FitPlan> ModelFit::planned(const ModelOption& model, std::int64_t size) const {
  // Of a limit in time each plan has a part: how many there will be is not known.
  constexpr double part = 0.05;
  const TimeShare time(options_.control, part);
  const MarkedReads marked(StandIns::exact);
  const Graph traced = model.load();
  Graph graph = prepare_graph(traced, {}, nullptr, {}, target_of(options_));
  const Result<Plan, Infeasible> result = plan_traced(traced, {}, graph, options_);
  if (!result) return {};
  const Plan& plan = result.value();
  double least = plan.least_seconds;
  if (model.split > 1) {  // of the batch as a whole
    ModelOption whole = model;
    whole.split = 1;
    PlanOptions roomy = options_;
    roomy.memory.reset();
    roomy.tiers.clear();
    least = make_plan(prepare_graph(whole.load(), {}, nullptr, {}, target_of(roomy)), target_of(roomy), roomy)
                .seconds;
  }
  return FitPlan{.size = size,
                 .peak = plan.peak(),
                 .seconds = plan.seconds,
                 .extra_time = std::max(0.0, plan.seconds / least - 1),
                 .recomputed = repeats_of(plan)};
}

template <class AtSize>
FitRow ModelFit::row(std::string_view name, std::int64_t given, const nn::ZooSize& sizes, AtSize&& at) const {
  Plans plans;
  const auto plan_at = [&](std::int64_t size) -> const std::optional<FitPlan>& {
    const auto known = plans.find(size);
    return known != plans.end() ? known->second : plans.emplace(size, planned(at(size), size)).first->second;
  };
  SizeSearch search{.least = sizes.least,
                    .most = sizes.most / sizes.multiple_of * sizes.multiple_of,
                    .step = sizes.multiple_of,
                    .start = given};
  FitRow row{.name = name, .given = given};
  for (std::size_t i = fit_limits.size(); i-- > 0;) {
    FitAnswer& answer = row.answers[i];
    const LargestSize found = largest_size(search, [&](std::int64_t size) {
      const std::optional<FitPlan>& plan = plan_at(size);
      return plan && plan->extra_time <= fit_limits[i].extra_time;
    });
    answer.too_large = found.too_large;
    if (!found.fits) {
      if (i + 1 == fit_limits.size()) return row;  // less time fits no more
      continue;
    }
    answer.plan = plan_at(*found.fits);
    search.start = *found.fits;
  }
  // What fits is not always an interval: a search for less time may come to a larger size than one for any
  // time.
  for (std::size_t i = 1; i < fit_limits.size(); ++i) {
    const FitAnswer& stricter = row.answers[i - 1];
    FitAnswer& answer = row.answers[i];
    if (stricter.plan && (!answer.plan || stricter.plan->size > answer.plan->size)) answer = stricter;
  }
  return row;
}

std::vector<FitRow> ModelFit::rows() {
  const nn::ZooModel* known = nn::find_in_zoo(model_.model);
  TM_CHECK(known != nullptr);
  std::vector<FitRow> rows;
  for (const nn::ZooAxis axis : nn::zoo_axes) {
    const nn::ZooSize sizes = known->size(axis);
    if (!sizes.exists()) continue;
    ModelOption varied = model_;
    const std::int64_t given = varied.size(axis).value_or(sizes.standard);
    rows.push_back(row(nn::name_of(axis), given, sizes, [&](std::int64_t size) {
      varied.size(axis) = size;
      return varied;
    }));
  }
  return rows;
}

std::optional<FitRow> ModelFit::micro_batches() {
  const nn::ZooSize sizes = nn::find_in_zoo(model_.model)->size(nn::ZooAxis::batch);
  ModelOption cut = model_;
  cut.split = cuts;
  nn::ZooSize examples = sizes;
  examples.most /= cuts;
  const std::int64_t given = std::max<std::int64_t>(1, model_.batch.value_or(sizes.standard) / cuts);
  cut.batch = cuts * given;
  try {
    cut.load();
  } catch (const Error&) {
    return {};
  }
  return row("micro-batch", given, examples, [&](std::int64_t size) {
    cut.batch = cuts * size;
    return cut;
  });
}

}  // namespace tidemark::cli
