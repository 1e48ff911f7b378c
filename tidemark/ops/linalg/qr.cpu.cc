#include <algorithm>

#include "tidemark/kernel/blas_decompose.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/batch_slots.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

BatchSlots slots_of(const Type& a) {
  if (a.count() == 0) return {0, 0};
  const std::int64_t rows = a.shape[a.rank() - 2], columns = a.shape.back();
  return {a.count() / (rows * columns), aligned_bytes(blas::qr_workspace(columns) * size_of(a.dtype))};
}

template <class T>
void run_typed(const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back(), size = rows * columns;
  const blas::OneThread one;
  slots_of({args.in[0].dtype, shape}).run(args, [&](std::int64_t index, std::byte* workspace) {
    const T* a = args.in[0].as<T>() + index * size;
    T* q = args.out[0].as<T>() + index * size;
    if (q != a) std::copy_n(a, size, q);
    blas::qr(rows, columns, q, args.out[1].as<T>() + index * columns * columns,
             reinterpret_cast<T*>(workspace));
  });
}

void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? run_typed<double>(args) : run_typed<float>(args);
}

// Per matrix its start, per element that of a loop over it, and the flops of the factors.
Cost cost(const Call& call) {
  const double columns = static_cast<double>(call.in[0].shape.back());
  const auto elements = static_cast<double>(call.in[0].count());
  const auto matrices = static_cast<double>(slots_of(call.in[0]).matrices);
  return {.flops = 3000 * matrices + elements * (150 + 4 * columns),
          .bytes = bytes_moved(call),
          .work = WorkKind::factorization};
}

std::int64_t scratch(const Call& call) { return slots_of(call.in[0]).bytes(); }
bool in_place(const Call&, int result, int) { return result == 0; }

}  // namespace

const CpuKernel cpu::qr = cpu_kernel<NoAttrs>(run, {.cost = cost, .scratch = scratch, .in_place = in_place});

}  // namespace tidemark
