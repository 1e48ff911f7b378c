#include "tidemark/base/error.h"
#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/batch_slots.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

template <class T>
void run_typed(const KernelArgs& args) {
  const std::int64_t n = args.out[0].shape.back(), matrices = n == 0 ? 0 : args.out[0].count() / (n * n);
  FirstFailure indefinite;  // matrix · (n + 1) + order
  const blas::OneThread one;
  args.pool->run(matrices, [&](std::int64_t index) {
    const T* from = args.in[0].as<T>() + index * n * n;
    T* to = args.out[0].as<T>() + index * n * n;
    // Pairs (i, j), (j, i) are read before either is written, so the result may lie where the operand lies.
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        to[i * n + j] = (from[i * n + j] + from[j * n + i]) * T(0.5);
        to[j * n + i] = T(0);
      }
      to[i * n + i] = from[i * n + i];
    }
    const std::int64_t order = blas::cholesky(n, to, n);
    if (order != 0) indefinite.note(index * (n + 1) + order);
  });
  if (const std::int64_t bad = indefinite.number(); indefinite.any()) {
    fail(ErrorCode::numeric,
         {.what = fmt::format(
              "cholesky: matrix {} is not positive definite: its leading minor of order {} is not positive",
              bad / (n + 1), bad % (n + 1)),
          .expected = "symmetric positive definite matrices",
          .where = args.where,
          .help = "add a small multiple of the identity, or check how the matrix is made"});
  }
}

void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? run_typed<double>(args) : run_typed<float>(args);
}

Cost cost(const Call& call) {
  const double n = call.in[0].rank() == 0 ? 0 : static_cast<double>(call.in[0].shape.back());
  return {.flops = static_cast<double>(call.in[0].count()) * n / 3,
          .bytes = 2 * static_cast<double>(call.in[0].bytes()),
          .work = WorkKind::factorization};
}

}  // namespace

const CpuKernel cpu::cholesky =
    cpu_kernel<NoAttrs>(run, {.cost = cost, .in_place = [](const Call&, int, int) { return true; }});

}  // namespace tidemark
