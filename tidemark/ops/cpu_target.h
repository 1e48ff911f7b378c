// The CPU as the planner sees it: the facts that stand beside each op's CPU kernel.
#pragma once
#include "tidemark/ir/target.h"

namespace tidemark {

const Target& cpu_target();

}  // namespace tidemark
