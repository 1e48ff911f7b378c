// The CPU backend's list of kernels, one per row of ops.def.
#pragma once
#include "tidemark/ops/cpu_kernel.h"

namespace tidemark {

const CpuKernel* find_cpu_kernel(const Op& op);  // nullptr: the op has no kernel here

}  // namespace tidemark
