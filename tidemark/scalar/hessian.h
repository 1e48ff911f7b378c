// Second derivatives by forward mode over reverse mode: a gradient is computed with Duals for numbers, and so
// comes with its derivatives in some directions.
//
//   auto f = []<class T>(std::span<const T> x) { return x[0] * x[0] * sin(x[1]); };
//   td::Matrix h = td::hessian(f, x);
//   std::vector<double> hv = td::hessian_times(f, x, v);
//
// Hessians of many variables, most of whose entries are zero: sparse_hessian.h.
#pragma once
#include <algorithm>
#include <source_location>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "tidemark/scalar/dual.h"
#include "tidemark/scalar/functions.h"
#include "tidemark/scalar/jacobian.h"

namespace tidemark::scalars {

// Directions of one gradient.
inline constexpr int hessian_lanes = 8;

template <class F, int N>
inline constexpr bool takes_duals = FunctionOf<F, BasicReal<Dual<N>>>;

// The gradient of f at x, and its derivatives in N directions: column d of `directions` is x's change.
template <int N, class F, class DirectionOf>
std::vector<Dual<N>> gradient_along(F& f, std::span<const double> x, DirectionOf&& direction,
                                    const SourceLine& where) {
  static_assert(
      takes_duals<F, N>,
      "second derivatives are of functions that take any scalars: f is called with a "
      "std::span<const td::BasicReal<td::Dual<N>>>; write it as []<class T>(std::span<const T> x) or "
      "[](const auto& x), and keep td::Real out of its body");
  using R = BasicReal<Dual<N>>;
  BasicTape<Dual<N>> tape({}, where);
  std::vector<Dual<N>> point(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i)
    for (int d = 0; d < N; ++d) point[i].slope(d) = direction(i, d);
  const std::vector<R> variables = tape.inputs(point, where);
  const R y = call_with(f, variables);
  tape.reverse(y, Dual<N>(1.0), where);
  return tape.gradient(variables, where);
}

// The Hessian of f at x, times v.
template <class F>
std::vector<double> hessian_times(F&& f, std::span<const double> x, std::span<const double> v,
                                  SourceLine where = std::source_location::current()) {
  if (x.size() != v.size())
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("hessian_times: a point of {} numbers and a vector of {}", x.size(), v.size()),
          .expected = "as many of the one as of the other",
          .where = where});
  const auto slopes = gradient_along<1>(
      f, x, [&](std::size_t i, int) { return v[i]; }, where);
  std::vector<double> product(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) product[i] = slopes[i].slope();
  return product;
}

template <class F>
Matrix hessian(F&& f, std::span<const double> x, SourceLine where = std::source_location::current()) {
  constexpr int N = hessian_lanes;
  const std::size_t n = x.size();
  Matrix matrix(n, n);
  for (std::size_t first = 0; first < n; first += N) {
    const auto slopes = gradient_along<N>(
        f, x, [&](std::size_t i, int d) { return i == first + static_cast<std::size_t>(d) ? 1.0 : 0.0; },
        where);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t d = 0; d < N && first + d < n; ++d)
        matrix(j, first + d) = slopes[j].slope(static_cast<int>(d));
  }
  // Rounding differs on both sides of the diagonal.
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      matrix(i, j) = matrix(j, i) =
          (matrix(i, j) == matrix(j, i)) ? matrix(i, j) : 0.5 * (matrix(i, j) + matrix(j, i));
  return matrix;
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::hessian, scalars::hessian_times;
}  // namespace tidemark
