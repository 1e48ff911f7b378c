// For which target the engine plans.
#pragma once
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/passes/plan_options.h"

namespace tidemark {

inline const Target& target_of(const PlanOptions& options) {
  return options.target ? *options.target : cpu_target();
}

}  // namespace tidemark
