#include <algorithm>

#include "tidemark/kernel/blas_decompose.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/batch_slots.h"
#include "tidemark/ops/linalg/decompose_failure.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// A matrix is decomposed in a copy, with LAPACK's workspace behind it.
BatchSlots slots_of(const Type& a) {
  if (a.count() == 0) return {0, 0};
  const std::int64_t rows = a.shape[a.rank() - 2], columns = a.shape.back(), size = size_of(a.dtype);
  const blas::Workspace work = blas::svd_workspace(rows, columns);
  return {a.count() / (rows * columns), aligned_bytes(rows * columns * size) +
                                            aligned_bytes(work.numbers * size) +
                                            aligned_bytes(work.integers * 4)};
}

template <class T>
void run_typed(const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back(), rank = std::min(rows, columns);
  const blas::Workspace work = blas::svd_workspace(rows, columns);
  DecomposeFailure failure;
  const blas::OneThread one;
  slots_of({args.in[0].dtype, shape}).run(args, [&](std::int64_t index, std::byte* workspace) {
    const T* from = args.in[0].as<T>() + index * rows * columns;
    if (!all_finite(from, rows * columns)) return failure.not_finite(index);
    T* a = take_part<T>(workspace, rows * columns);
    T* numbers = take_part<T>(workspace, work.numbers);
    auto* integers = take_part<std::int32_t>(workspace, work.integers);
    std::copy_n(from, rows * columns, a);
    T *u = args.out[0].as<T>() + index * rows * rank, *s = args.out[1].as<T>() + index * rank,
      *vt = args.out[2].as<T>() + index * rank * columns;
    if (!blas::svd(rows, columns, a, u, s, vt, numbers, integers)) failure.diverged(index);
  });
  failure.raise("svd", args.where);
}

void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? run_typed<double>(args) : run_typed<float>(args);
}

// Per matrix its start, per element that of a loop over it, and the flops of the vectors.
Cost cost(const Call& call) {
  const Shape& shape = call.in[0].shape;
  const double rank = static_cast<double>(std::min(shape[shape.rank() - 2], shape.back()));
  const auto elements = static_cast<double>(call.in[0].count());
  const auto matrices = static_cast<double>(slots_of(call.in[0]).matrices);
  return {.flops = 10000 * matrices + elements * (1000 + 20 * rank),
          .bytes = bytes_moved(call),
          .work = WorkKind::factorization};
}

std::int64_t scratch(const Call& call) { return slots_of(call.in[0]).bytes(); }

}  // namespace

const CpuKernel cpu::svd = cpu_kernel<NoAttrs>(run, {.cost = cost, .scratch = scratch});

}  // namespace tidemark
