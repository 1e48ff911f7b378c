// What could be changed about a built-in model so that it fits: a smaller batch, half precision, a lighter optimizer.
#pragma once
#include <string>
#include <vector>

#include "tidemark/plan/pipeline.h"
#include "tools/model_option.h"

namespace tidemark::cli {

// Up to three changes, each planned with the budget in `options` and fitting: "--batch 16 → 6 fits (1.94 GiB)". None for
// graphs from files.
std::vector<std::string> changes_of_model(const ModelOption& model, const PlanOptions& options);

}  // namespace tidemark::cli
