#include "tidemark/kernel/elementwise.h"
#include "tidemark/ops/elementwise_tiles.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

#define TM_KERNEL(name, family)                                                       \
  const CpuKernel cpu::name = cpu_kernel<NoAttrs>([](const KernelArgs& args) {        \
    run_elementwise(args, family##_tile(Row::name, compute_dtype(args.in[0].dtype))); \
  });
#define TM_UNARY(name, Formula, family, ...) TM_KERNEL(name, family)
#define TM_BINARY(name, Formula, family, ...) TM_KERNEL(name, family)
#include "tidemark/ops/elementwise.def"

}  // namespace tidemark
