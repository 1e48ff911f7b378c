#include "tidemark/ops/linalg/triangular_solve.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

constexpr std::int64_t strip = 128;  // right-hand sides per task; each strip reads the whole triangle

template <class T>
void run_typed(const KernelArgs& args) {
  const auto& attrs = args.attrs<TriangularSolveAttrs>();
  const Shape& shape = args.out[0].shape;
  const std::int64_t n = args.in[0].shape.back(), rows = shape[shape.rank() - 2], cols = shape.back();
  if (args.out[0].count() == 0) return;
  const std::int64_t matrices = args.out[0].count() / (rows * cols);
  const T *a = args.in[0].as<T>(), *b = args.in[1].as<T>();
  T* x = args.out[0].as<T>();
  for (std::int64_t i = 0; !attrs.unit && i < matrices * n; ++i) {
    if (a[i / n * n * n + i % n * (n + 1)] == T(0)) {
      fail(ErrorCode::numeric,
           {.what = fmt::format("triangular_solve: matrix {} is singular: element {} of its diagonal is 0",
                                i / n, i % n),
            .expected = "a diagonal without zeros",
            .where = args.where});
    }
  }
  const std::int64_t sides = attrs.left ? cols : rows, strips = (sides + strip - 1) / strip;
  const blas::OneThread one;
  args.pool->run(matrices * strips, [&](std::int64_t task) {
    const std::int64_t matrix = task / strips, begin = task % strips * strip,
                       count = std::min(strip, sides - begin);
    const std::int64_t part_rows = attrs.left ? rows : count, part_cols = attrs.left ? count : cols;
    const std::int64_t offset = matrix * rows * cols + (attrs.left ? begin : begin * cols);
    if (x != b) {
      for (std::int64_t i = 0; i < part_rows; ++i) {
        std::copy_n(b + offset + i * cols, part_cols, x + offset + i * cols);
      }
    }
    blas::triangular_solve<T>({attrs.left, attrs.lower, attrs.transpose, attrs.unit}, part_rows, part_cols,
                              a + matrix * n * n, n, x + offset, cols);
  });
}

void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? run_typed<double>(args) : run_typed<float>(args);
}

Cost cost(const Call& call) {
  return {.flops = static_cast<double>(call.in[1].count()) * static_cast<double>(call.in[0].shape.back()),
          .bytes = bytes_moved(call),
          .work = WorkKind::factorization};
}

bool in_place(const Call&, int, int operand) { return operand == 1; }

}  // namespace

const CpuKernel cpu::triangular_solve =
    cpu_kernel<TriangularSolveAttrs>(run, {.cost = cost, .in_place = in_place});

}  // namespace tidemark
