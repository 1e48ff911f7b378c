#include "tidemark/ops/cpu_kernels.h"

#include <unordered_map>

#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel* find_cpu_kernel(const Op& op) {
  if (op.custom) return &custom_kernel;
  static const auto* kernels = new std::unordered_map<const Op*, const CpuKernel*>{
#define TM_OP(name) {&op::name, &cpu::name},
#include "tidemark/ops/ops.def"
  };
  const auto found = kernels->find(&op);
  return found == kernels->end() ? nullptr : found->second;
}

bool runs_on_cpu(const Op& op) {
  const CpuKernel* kernel = find_cpu_kernel(op);
  return kernel && kernel->run;
}

}  // namespace tidemark
