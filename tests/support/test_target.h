// The target that tests plan for: the CPU, and the ops of tests.
#pragma once
#include "tidemark/ops/cpu_target.h"

namespace tidemark {

inline const Target& test_target() { return cpu_target(); }

}  // namespace tidemark
