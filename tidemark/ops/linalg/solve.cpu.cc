#include "tidemark/ops/linalg/solve.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/batch_slots.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// A matrix is factorised in a copy, with its pivots behind it.
BatchSlots slots_of(const Type& a) {
  if (a.count() == 0) return {0, 0};
  const std::int64_t n = a.shape.back();
  return {a.count() / (n * n), aligned_bytes(n * n * size_of(a.dtype)) + aligned_bytes(n * 4)};
}

template <class T>
void run_typed(const KernelArgs& args) {
  const bool transpose = args.attrs<SolveAttrs>().transpose;
  const std::int64_t n = args.in[0].shape.back(), m = args.out[0].shape.back();
  FirstFailure singular;
  const blas::OneThread one;
  slots_of({args.in[0].dtype, args.in[0].shape}).run(args, [&](std::int64_t index, std::byte* workspace) {
    T* factors = take_part<T>(workspace, n * n);
    auto* pivots = take_part<std::int32_t>(workspace, n);
    std::copy_n(args.in[0].as<T>() + index * n * n, n * n, factors);
    if (blas::lu_factor(n, factors, n, pivots) != 0) return singular.note(index);
    const T* b = args.in[1].as<T>() + index * n * m;
    T* x = args.out[0].as<T>() + index * n * m;
    if (x != b) std::copy_n(b, n * m, x);
    blas::lu_solve(transpose, n, m, factors, n, pivots, x, m);
  });
  if (singular.any()) {
    fail(ErrorCode::numeric, {.what = fmt::format("solve: matrix {} is singular", singular.number()),
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

std::int64_t scratch(const Call& call) { return slots_of(call.in[0]).bytes(); }
bool in_place(const Call&, int, int operand) { return operand == 1; }

}  // namespace

const CpuKernel cpu::solve =
    cpu_kernel<SolveAttrs>(run, {.cost = cost, .scratch = scratch, .in_place = in_place});

}  // namespace tidemark
