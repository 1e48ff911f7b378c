// What fits a budget: the largest batch, context, width and number of layers of a built-in model, each alone
// with the others as given, by plans.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/plan/passes/plan_options.h"
#include "tools/options/model_option.h"

namespace tidemark::cli {

// How much longer a step may take than one that stores everything.
struct FitLimit {
  std::string_view name, title;
  double extra_time;
};
inline constexpr int fit_limit_count = 3;
extern const std::array<FitLimit, fit_limit_count> fit_limits;  // rising

// A size, and the plan that was found for it.
struct FitPlan {
  std::int64_t size = 0;
  std::int64_t peak = 0;
  double seconds = 0, extra_time = 0;  // predicted; next to storing everything at this size, nothing cut
  int recomputed = 0;
};
struct FitAnswer {
  std::optional<FitPlan> plan;            // of the largest; none: not even the least size fits
  std::optional<std::int64_t> too_large;  // the next size that was tried and is not; none: the model's limit
};
struct FitRow {
  std::string_view name;  // "batch"; "micro-batch"
  std::int64_t given = 0;
  std::array<FitAnswer, fit_limit_count> answers = {};

  bool any() const { return answers.back().plan.has_value(); }
};

// Each answer is a verified plan within `options.memory`.
class ModelFit {
 public:
  ModelFit(const ModelOption& model, const PlanOptions& options) : model_(model), options_(options) {}

  // One for each size that the model has.
  std::vector<FitRow> rows();
  // The examples of a micro-batch, of which a batch has eight. None where the model cannot be cut.
  std::optional<FitRow> micro_batches();
  static constexpr std::int64_t cuts = 8;

 private:
  using Plans = std::map<std::int64_t, std::optional<FitPlan>>;

  std::optional<FitPlan> planned(const ModelOption& model, std::int64_t size) const;
  template <class AtSize>
  FitRow row(std::string_view name, std::int64_t given, const nn::ZooSize& sizes, AtSize&& at) const;

  const ModelOption& model_;
  const PlanOptions& options_;
};

}  // namespace tidemark::cli
