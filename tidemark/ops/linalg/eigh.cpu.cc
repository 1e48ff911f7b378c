#include "tidemark/kernel/blas_decompose.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/batch_slots.h"
#include "tidemark/ops/linalg/decompose_failure.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

BatchSlots slots_of(const Type& a) {
  if (a.count() == 0) return {0, 0};
  const std::int64_t n = a.shape.back();
  const blas::Workspace work = blas::eigh_workspace(n);
  return {a.count() / (n * n),
          aligned_bytes(work.numbers * size_of(a.dtype)) + aligned_bytes(work.integers * 4)};
}

template <class T>
void run_typed(const KernelArgs& args) {
  const std::int64_t n = args.in[0].shape.back();
  const blas::Workspace work = blas::eigh_workspace(n);
  DecomposeFailure failure;
  const blas::OneThread one;
  slots_of({args.in[0].dtype, args.in[0].shape}).run(args, [&](std::int64_t index, std::byte* workspace) {
    const T* from = args.in[0].as<T>() + index * n * n;
    T* vectors = args.out[1].as<T>() + index * n * n;
    if (!all_finite(from, n * n)) return failure.not_finite(index);
    // Pairs (i, j), (j, i) are read before either is written, so the result may lie where the operand lies.
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const T mean = from[i * n + j] * T(0.5) + from[j * n + i] * T(0.5);
        vectors[i * n + j] = vectors[j * n + i] = mean;
      }
    }
    T* numbers = take_part<T>(workspace, work.numbers);
    auto* integers = take_part<std::int32_t>(workspace, work.integers);
    if (!blas::eigh(n, vectors, args.out[0].as<T>() + index * n, numbers, integers)) failure.diverged(index);
  });
  failure.raise("eigh", args.where);
}

void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? run_typed<double>(args) : run_typed<float>(args);
}

// Per matrix its start, per element that of a loop over it, and the flops of the vectors.
Cost cost(const Call& call) {
  const double n = static_cast<double>(call.in[0].shape.back());
  const auto elements = static_cast<double>(call.in[0].count());
  const auto matrices = static_cast<double>(slots_of(call.in[0]).matrices);
  return {.flops = 5000 * matrices + elements * (700 + 8 * n),
          .bytes = bytes_moved(call),
          .work = WorkKind::factorization};
}

std::int64_t scratch(const Call& call) { return slots_of(call.in[0]).bytes(); }
bool in_place(const Call&, int result, int) { return result == 1; }

}  // namespace

const CpuKernel cpu::eigh =
    cpu_kernel<NoAttrs>(run, {.cost = cost, .scratch = scratch, .in_place = in_place});

}  // namespace tidemark
