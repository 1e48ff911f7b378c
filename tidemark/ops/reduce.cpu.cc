#include "tidemark/kernel/reduce.h"

#include "tidemark/ops/reduce.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

template <Reduction reduction>
void run(const KernelArgs& args) {
  reduce(reduction, args.in[0], args.attrs<ReduceAttrs>().axes, args.out[0], args.scratch, *args.pool);
}

}  // namespace

const CpuKernel cpu::reduce_sum = cpu_kernel<ReduceAttrs>(run<Reduction::sum>);
const CpuKernel cpu::reduce_mean = cpu_kernel<ReduceAttrs>(run<Reduction::mean>);
const CpuKernel cpu::reduce_max = cpu_kernel<ReduceAttrs>(run<Reduction::max>);
const CpuKernel cpu::reduce_min = cpu_kernel<ReduceAttrs>(run<Reduction::min>);
const CpuKernel cpu::reduce_prod = cpu_kernel<ReduceAttrs>(run<Reduction::prod>);
const CpuKernel cpu::reduce_logsumexp = cpu_kernel<ReduceAttrs>(run<Reduction::logsumexp>);
const CpuKernel cpu::reduce_var = cpu_kernel<ReduceAttrs>(run<Reduction::var>);

}  // namespace tidemark
