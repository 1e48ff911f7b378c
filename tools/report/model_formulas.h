// The peak of a built-in model as formulas in its sizes: `plan --by`.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tidemark/plan/passes/plan_options.h"
#include "tidemark/plan/report/size_formulas.h"
#include "tools/options/axes_option.h"

namespace tidemark::cli {

// Plans at many sizes, without a budget.
SizeFormulas formulas_of_model(const ModelOption& model, const std::vector<AxisOption>& axes,
                               const PlanOptions& options);

nlohmann::ordered_json formulas_json(const SizeFormulas& formulas);

}  // namespace tidemark::cli
