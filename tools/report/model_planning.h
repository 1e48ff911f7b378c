// From what `tidemark plan` and its kin were asked to a plan of a graph of operations: the model is loaded,
// prepared for its device, cut into micro-batches where that is asked for, and planned.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "tidemark/autodiff/residuals.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tools/commands/plan_command.h"

namespace tidemark::cli {

class ModelPlanning {
 public:
  using After = std::function<void(std::string_view pass, const Draft& draft)>;
  ModelPlanning(const PlanCommand& command, SearchControl& control, After after = {});
  ModelPlanning(const ModelPlanning&) = delete;
  ModelPlanning& operator=(const ModelPlanning&) = delete;

  // Throws InfeasibleBudget with the changes that would fit, after printing both as JSON where that is asked
  // for.
  Plan plan();

  const ModelOption& model() const { return model_; }  // with its micro-batches
  const Graph& traced() const { return traced_; }
  const Graph& graph() const { return graph_; }  // as planned
  const PlanOptions& options() const { return options_; }
  const OptReport& optimised() const { return optimised_; }
  const PipelineReport& report() const { return report_; }
  double seconds() const { return watch_.seconds(); }

 private:
  Result<Plan, Infeasible> plan_leaving_time();

  const Stopwatch watch_;
  const PlanCommand& command_;
  SearchControl& control_;
  std::optional<Machine> machine_;  // that options_ point to
  const MarkedReads marked_;
  ModelOption model_;
  Graph traced_, graph_;
  PlanOptions options_;
  OptReport optimised_;
  PipelineReport report_;
};

}  // namespace tidemark::cli
