#include "tidemark/ops/linalg/solve.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/solve_scratch.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

template <class T>
void run_typed(const KernelArgs& args) {
  const bool transpose = args.attrs<SolveAttrs>().transpose;
  const std::int64_t n = args.in[0].shape.back(), m = args.out[0].shape.back();
  const SolveScratch scratch = solve_scratch(args.in[0].dtype, args.in[0].shape);
  std::atomic<std::int64_t> first_bad{std::numeric_limits<std::int64_t>::max()};
  const blas::OneThread one;
  args.pool->run(scratch.slots, [&](std::int64_t slot) {
    std::byte* own = args.scratch + slot * (scratch.factors + scratch.pivots);
    T* factors = reinterpret_cast<T*>(own);
    auto* pivots = reinterpret_cast<std::int32_t*>(own + scratch.factors);
    for (std::int64_t index = slot; index < scratch.matrices; index += scratch.slots) {
      std::copy_n(args.in[0].as<T>() + index * n * n, n * n, factors);
      if (blas::lu_factor(n, factors, n, pivots) != 0) {
        for (std::int64_t seen = first_bad; index < seen && !first_bad.compare_exchange_weak(seen, index);) {
        }
        continue;
      }
      const T* b = args.in[1].as<T>() + index * n * m;
      T* x = args.out[0].as<T>() + index * n * m;
      if (x != b) std::copy_n(b, n * m, x);
      blas::lu_solve(transpose, n, m, factors, n, pivots, x, m);
    }
  });
  if (const std::int64_t bad = first_bad; bad != std::numeric_limits<std::int64_t>::max()) {
    fail(ErrorCode::numeric, {.what = fmt::format("solve: matrix {} is singular", bad),
                              .expected = "matrices with an inverse",
                              .where = args.where});
  }
}

void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? run_typed<double>(args) : run_typed<float>(args);
}

Cost cost(const Call& call) {
  const double n = static_cast<double>(call.in[0].shape.back());
  const double factor = static_cast<double>(call.in[0].count()) * n * 2 / 3;
  constexpr double per_matrix = 8000;  // its start, in flops
  const double matrices = static_cast<double>(call.in[0].count()) / std::max(n * n, 1.0);
  return {.flops = per_matrix * matrices + factor + 2 * n * static_cast<double>(call.in[1].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::factorization};
}

std::int64_t scratch(const Call& call) { return solve_scratch(call.in[0].dtype, call.in[0].shape).bytes(); }
bool in_place(const Call&, int, int operand) { return operand == 1; }

}  // namespace

const CpuKernel cpu::solve =
    cpu_kernel<SolveAttrs>(run, {.cost = cost, .scratch = scratch, .in_place = in_place});

}  // namespace tidemark
