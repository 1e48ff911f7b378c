#include <algorithm>
#include <cstring>

#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// Copies, then clears the part of each row outside of [first, last).
template <bool lower>
void run(const KernelArgs& args) {
  const TensorRef& to = args.out[0];
  copy_elements(to, args.in[0], *args.pool);
  const int rank = to.shape.rank();
  const std::int64_t rows = to.shape[rank - 2], columns = to.shape[rank - 1], element = size_of(to.dtype);
  if (to.count() == 0) return;
  // Beyond the matrix all diagonals are alike, and sums stay small.
  const std::int64_t diagonal = std::clamp(args.attrs<TriangleAttrs>().diagonal, -rows - 1, columns + 1);
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 17) / (columns * element));
  parallel_for(*args.pool, to.count() / columns, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* row = to.data + i * columns * element;
      // Row r of the matrix keeps columns ≤ r + diagonal (lower) or ≥ r + diagonal (upper).
      const std::int64_t edge = std::clamp<std::int64_t>(i % rows + diagonal + (lower ? 1 : 0), 0, columns);
      const std::int64_t first = lower ? edge : 0, last = lower ? columns : edge;
      std::memset(row + first * element, 0, static_cast<std::size_t>((last - first) * element));
    }
  });
}

constexpr ExecutionFacts facts = {
    .in_place = [](const Call& call, int, int) { return call.is_dense_operand(0); },
    .strided = takes_any_strides,
};

}  // namespace

const CpuKernel cpu::tril = cpu_kernel<TriangleAttrs>(run<true>, facts);
const CpuKernel cpu::triu = cpu_kernel<TriangleAttrs>(run<false>, facts);

}  // namespace tidemark
