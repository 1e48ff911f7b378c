// What could be changed about a built-in model or its plan so that it fits: a smaller batch, micro-batches, a
// disk, a shorter context, half precision, a lighter optimizer, lossy copies.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/engine/compile_options.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tools/options/model_option.h"

namespace tidemark::cli {

// Some changes, each planned with the budget in `options` and fitting: "--batch 16 → 6 fits (1.94 GiB)".
// `seconds`: of the model if there were memory for everything. Of graphs from files only the plan changes.
std::vector<std::string> changes_of_model(const ModelOption& model, const std::optional<Lossy>& lossy,
                                          const PlanOptions& options, double seconds);

}  // namespace tidemark::cli
