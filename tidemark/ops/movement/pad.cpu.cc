#include <algorithm>

#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const auto& attrs = args.attrs<PadAttrs>();
  const TensorRef &from = args.in[0], &to = args.out[0];
  fill_elements(to, args.in[1].data, *args.pool);
  // Element e of the operand lands at low + e (interior + 1); a negative low or high cuts some off.
  const int rank = to.shape.rank();
  Dims from_start = Dims::filled(rank, 0), to_start = from_start, step = from_start;
  Shape count = from_start;
  for (int i = 0; i < rank; ++i) {
    step[i] = attrs.interior[i] + 1;
    from_start[i] = attrs.low[i] < 0 ? (-attrs.low[i] + step[i] - 1) / step[i] : 0;
    to_start[i] = attrs.low[i] + from_start[i] * step[i];
    const std::int64_t room = to.shape[i] - to_start[i];
    count[i] = room <= 0 ? 0 : std::min(from.shape[i] - from_start[i], (room + step[i] - 1) / step[i]);
    if (count[i] <= 0) return;
  }
  copy_elements(window(to, to_start, step, count), window(from, from_start, Dims::filled(rank, 1), count),
                *args.pool);
}

}  // namespace

const CpuKernel cpu::pad = cpu_kernel<PadAttrs>(run, {.strided = takes_any_strides});

}  // namespace tidemark
