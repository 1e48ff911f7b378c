#include "tidemark/kernel/reduce.h"

#include "tidemark/kernel/fused.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

template <Reduction reduction>
void run(const KernelArgs& args) {
  reduce(reduction, args.in[0], args.attrs<ReduceAttrs>().axes, args.out[0], args.scratch, *args.pool);
}

template <Reduction reduction>
constexpr CpuKernel one_pass() {
  CpuKernel kernel = cpu_kernel<ReduceAttrs>(run<reduction>);
  kernel.reduction = [](const Call& call) {
    return FusedReduction{
        .reduction = reduction, .axes = call.attrs_as<ReduceAttrs>().axes, .in = {}, .out = {}};
  };
  return kernel;
}

}  // namespace

const CpuKernel cpu::reduce_sum = one_pass<Reduction::sum>();
const CpuKernel cpu::reduce_mean = one_pass<Reduction::mean>();
const CpuKernel cpu::reduce_max = one_pass<Reduction::max>();
const CpuKernel cpu::reduce_min = one_pass<Reduction::min>();
const CpuKernel cpu::reduce_prod = one_pass<Reduction::prod>();
const CpuKernel cpu::reduce_logsumexp = cpu_kernel<ReduceAttrs>(run<Reduction::logsumexp>);
const CpuKernel cpu::reduce_var = cpu_kernel<ReduceAttrs>(run<Reduction::var>);

}  // namespace tidemark
