#include "tidemark/ops/cpu_target.h"

#include "tidemark/ops/cpu_kernels.h"

namespace tidemark {

const Target& cpu_target() {
  static constexpr auto find = [](const Op& op) -> const ExecutionFacts* {
    const CpuKernel* kernel = find_cpu_kernel(op);
    if (!kernel || (!kernel->run && op.expand)) return nullptr;  // expanded before anything runs
    return &kernel->facts;
  };
  static constexpr Target cpu{.name = "cpu", .find = find};
  return cpu;
}

}  // namespace tidemark
