// The list of CPU kernels, one per row of ops.def, and one for all custom ops.
#pragma once
#include "tidemark/ops/cpu_kernel.h"

namespace tidemark {

const CpuKernel* find_cpu_kernel(const Op& op);  // nullptr: the op is not in the list
bool runs_on_cpu(const Op& op);                  // it has a row with a function to run

}  // namespace tidemark
