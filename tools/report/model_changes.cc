#include "tools/report/model_changes.h"

#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/passes/proposals.h"

namespace tidemark::cli {

std::vector<std::string> changes_of_model(const ModelOption& model, const PlanOptions& options) {
  const nn::ZooModel* known = nn::find_in_zoo(model.model);
  if (known == nullptr) return {};
  PlanOptions quick = options;  // that it fits is asked, not how fast it is
  quick.effort = options.effort.at_most(Effort::quick);
  quick.after = {};
  quick.one_round = true;
  quick.floor = false;
  quick.warm_start.clear();
  const auto changed = [](const ModelOption& other) { return prepare_graph(other.load()); };
  std::vector<Proposal> proposals;
  proposals.push_back({.what = "--batch",
                       .graph =
                           [=](std::int64_t batch) {
                             ModelOption other = model;
                             other.batch = batch;
                             return changed(other);
                           },
                       .options = quick,
                       .from = model.batch.value_or(known->batch)});
  if (!known->context.unit.empty()) {
    proposals.push_back({.what = "--context",
                         .graph =
                             [=](std::int64_t context) {
                               ModelOption other = model;
                               other.context = context;
                               return changed(other);
                             },
                         .options = quick,
                         .from = model.context.value_or(known->context.standard),
                         .unit = known->context.multiple_of,
                         .least = known->context.least});
  }
  const bool wide = model.dtype.empty() ? known->dtype == DType::f32 : model.dtype == "f32";
  if (wide) {
    proposals.push_back({.what = "--dtype bf16",
                         .graph =
                             [=](std::int64_t) {
                               ModelOption other = model;
                               other.dtype = "bf16";
                               return changed(other);
                             },
                         .options = quick});
  }
  const auto optimizer = nn::optimizer_named(model.optimizer).value_or(known->optimizer);
  if (optimizer == nn::OptimizerKind::adamw || optimizer == nn::OptimizerKind::momentum) {
    proposals.push_back({.what = "--optimizer sgd",
                         .graph =
                             [=](std::int64_t) {
                               ModelOption other = model;
                               other.optimizer = "sgd";
                               return changed(other);
                             },
                         .options = quick});
  }
  return changes_that_fit(proposals, cpu_target());
}

std::optional<Footprint> footprint_of_model(const ModelOption& model, const Graph& graph, const Plan& plan) {
  const nn::ZooModel* known = nn::find_in_zoo(model.model);
  if (known == nullptr) return {};
  const std::int64_t batch = model.batch.value_or(known->batch);
  std::vector<BatchPeak> peaks;
  for (std::int64_t size : {batch / 2, batch, 2 * batch}) {
    if (size == 0) continue;
    ModelOption other = model;
    other.batch = size;
    const std::optional<std::int64_t> peak =
        peak_with_sizes(graph, plan, prepare_graph(other.load()), cpu_target());
    if (!peak) return {};
    peaks.push_back({size, *peak});
  }
  return fit_footprint(peaks);
}

}  // namespace tidemark::cli
