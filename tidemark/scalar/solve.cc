#include "tidemark/scalar/solve.h"

#include "tidemark/kernel/blas_factor.h"

namespace tidemark::scalars {

std::int64_t LuFactors<double>::factor(std::size_t n, std::vector<double> a) {
  n_ = n;
  a_ = std::move(a);
  pivots_.resize(n);
  if (n == 0) return 0;
  const blas::OneThread one_thread;
  const auto size = static_cast<std::int64_t>(n);
  return blas::lu_factor(size, a_.data(), size, pivots_.data());
}

void LuFactors<double>::solve(bool transposed, std::size_t m, std::span<double> b) const {
  if (b.empty()) return;
  const blas::OneThread one_thread;
  const auto size = static_cast<std::int64_t>(n_), columns = static_cast<std::int64_t>(m);
  blas::lu_solve(transposed, size, columns, a_.data(), size, pivots_.data(), b.data(), columns);
}

}  // namespace tidemark::scalars
