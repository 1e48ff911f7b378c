// What becomes of a graph on its way to a plan, beyond the everyday options of compile: for tests and tools.
#pragma once
#include <string>
#include <vector>

#include "tidemark/plan/passes/plan_options.h"

namespace tidemark {

struct ProgramOptions {
  std::vector<std::string> skip_optimisations = {};  // passes of opt/optimize.h, by name
  PlanOptions plan = {};
};

}  // namespace tidemark
