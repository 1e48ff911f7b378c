#include "tidemark/cpu/kernels.h"

#include <unordered_map>

#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel* find_cpu_kernel(const Op& op) {
  if (op.custom) return &custom_kernel;
  static const auto* kernels = new std::unordered_map<const Op*, const CpuKernel*>{
#define TM_OP(name) {&op::name, &cpu::name},
#define TM_OP_WITHOUT_KERNEL(name)
#include "tidemark/ops/ops.def"
  };
  const auto found = kernels->find(&op);
  return found == kernels->end() ? nullptr : found->second;
}

}  // namespace tidemark
