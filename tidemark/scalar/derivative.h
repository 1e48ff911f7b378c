// Derivatives of functions by forward mode, without a tape:
//
//   double slope = td::derivative([](auto x) { return x * sin(x); }, 1.5);
//   double along = td::directional(f, x, v);   // f(std::span<const td::Dual<1>>), at x, towards v
#pragma once
#include <fmt/format.h>
#include <concepts>

#include <ranges>
#include <source_location>
#include <span>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/scalar/functions.h"

namespace tidemark::scalars {

// f(Dual<1>) gives a number; what it gives is a plain number where it does not depend on x.
template <class F>
requires std::invocable<F, Dual<1>>
double derivative(F&& f, double x) { return Dual<1>(f(Dual<1>::variable(x))).slope(); }

// f(std::span<const Dual<1>>) gives a number, or a range of them: then a vector of derivatives.
template <class F>
requires std::invocable<F, std::span<const Dual<1>>>
auto directional(F&& f, std::span<const double> x, std::span<const double> direction,
                 SourceLine where = std::source_location::current()) {
  if (x.size() != direction.size())
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("a point of {} numbers and a direction of {}", x.size(), direction.size()),
          .expected = "a number of the direction for each of the point",
          .where = where});
  std::vector<Dual<1>> duals(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    duals[i] = x[i];
    duals[i].slope() = direction[i];
  }
  auto result = f(std::span<const Dual<1>>(duals));
  if constexpr (std::ranges::range<decltype(result)>) {
    std::vector<double> slopes;
    for (const Dual<1>& y : result) slopes.push_back(y.slope());
    return slopes;
  } else {
    return Dual<1>(result).slope();
  }
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::derivative, scalars::directional;
}  // namespace tidemark
