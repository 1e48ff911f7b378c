#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const auto& attrs = args.attrs<UpdateSliceAttrs>();
  const TensorRef &whole = args.out[0], &update = args.in[1];
  copy_elements(whole, args.in[0], *args.pool);  // nothing to do when it runs in place
  if (update.count() > 0)
    copy_elements(window(whole, attrs.start, attrs.step, update.shape), update, *args.pool);
}

// Of what it mostly does, which is to run in place.
Cost cost(const Call& call) {
  const std::int64_t whole = call.is_dense_operand(0) ? 0 : call.out[0].bytes();
  return {.flops = 0, .bytes = 2.0 * static_cast<double>(whole + call.in[1].bytes())};
}

}  // namespace

const CpuKernel cpu::update_slice = cpu_kernel<UpdateSliceAttrs>(
    run,
    {.cost = cost,
     .in_place = [](const Call& call, int, int operand) { return operand == 0 && call.is_dense_operand(0); },
     .strided = takes_any_strides});

}  // namespace tidemark
