// The CPU as the planner sees it: the facts that stand beside its kernels.
#pragma once
#include "tidemark/ir/target.h"

namespace tidemark {

const Target& cpu_target();

}  // namespace tidemark
