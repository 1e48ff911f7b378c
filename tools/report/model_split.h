// In how many micro-batches a built-in model's step is fastest within a budget: `plan --split automatic`.
#pragma once
#include "tidemark/plan/passes/pipeline.h"
#include "tools/options/model_option.h"

namespace tidemark::cli {

// By quick plans of 1, 2, 4, … that divide the batch; those that cannot be cut are left out. Where none fits,
// as many as there may be.
std::int64_t fastest_split(const ModelOption& model, const PlanOptions& options);

}  // namespace tidemark::cli
