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

// `flops` per element of the operand. Results whose elements lie apart (the last dimension stays) are carried
// side by side, and each takes its start.
template <int flops, int passes = 1>
Cost cost(const Call& call) {
  constexpr double per_column = 56;
  const Dims axes = call.attrs_as<ReduceAttrs>().axes;
  const int last = call.in[0].rank() - 1;
  const bool columns = last >= 0 && call.in[0].shape[last] > 1 && (axes.empty() || axes.back() != last);
  const double count = static_cast<double>(call.in[0].count()),
               results = static_cast<double>(call.out[0].count());
  return {.flops = flops * count + (columns ? per_column * results : 0),
          .bytes = static_cast<double>(passes * call.in[0].bytes() + call.out[0].bytes())};
}

std::int64_t scratch(const Call& call) {
  return reduce_scratch(call.in[0].shape, call.attrs_as<ReduceAttrs>().axes);
}

Fusion fusion(const Call& call) {
  return reduces_in_runs(call.in[0].shape, call.attrs_as<ReduceAttrs>().axes) ? Fusion::reduction
                                                                              : Fusion::none;
}

template <Reduction reduction>
constexpr CpuKernel one_pass(Cost (*cost)(const Call&)) {
  CpuKernel kernel = cpu_kernel<ReduceAttrs>(
      run<reduction>, {.cost = cost, .scratch = scratch, .strided = takes_any_strides, .fusion = fusion});
  kernel.reduction = [](const Call& call) {
    return FusedReduction{
        .reduction = reduction, .axes = call.attrs_as<ReduceAttrs>().axes, .in = {}, .out = {}};
  };
  return kernel;
}

template <Reduction reduction>
constexpr CpuKernel two_passes(Cost (*cost)(const Call&)) {
  return cpu_kernel<ReduceAttrs>(run<reduction>,
                                 {.cost = cost, .scratch = scratch, .strided = takes_any_strides});
}

}  // namespace

const CpuKernel cpu::reduce_sum = one_pass<Reduction::sum>(cost<1>);
const CpuKernel cpu::reduce_mean = one_pass<Reduction::mean>(cost<1>);
const CpuKernel cpu::reduce_max = one_pass<Reduction::max>(cost<2>);
const CpuKernel cpu::reduce_min = one_pass<Reduction::min>(cost<2>);
const CpuKernel cpu::reduce_prod = one_pass<Reduction::prod>(cost<1>);
const CpuKernel cpu::reduce_logsumexp = two_passes<Reduction::logsumexp>(cost<16, 2>);
const CpuKernel cpu::reduce_var = two_passes<Reduction::var>(cost<3, 2>);

}  // namespace tidemark
