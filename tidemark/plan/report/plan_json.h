// A plan as JSON and back, without loss. What the fields mean: plan.h; the file: docs/plan_format.md.
#pragma once
#include <string>
#include <string_view>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/plan_origin.h"

namespace tidemark {

std::string to_json(const Plan& plan, const PlanOrigin& origin = {});

// Throws Error bad_plan_file, naming the place ("/steps/3/out/0/offset"), on anything to_json would not
// write. What the plan says is not judged here: verify it against its graph before running it.
Plan plan_from_json(std::string_view text);
// The same with where it comes from; unknown where the file does not say.
struct PlanFile {
  Plan plan;
  PlanOrigin origin;
};
PlanFile plan_file_from_json(std::string_view text);

}  // namespace tidemark
