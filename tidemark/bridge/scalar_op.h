// A function of scalars as an operation on tensors, with its derivative: code that was written for
// numbers, with Real in place of double, inside a program that is planned.
//
// Example, as in docs/scalars.md:
//   td::Real banana(std::span<const td::Real> x) {
//     const td::Real bend = x[1] - x[0] * x[0];
//     return 100 * bend * bend + (1 - x[0]) * (1 - x[0]);
//   }
//   const td::Op& op = td::scalar_op("banana", banana);
//
// The last dimension of each operand is an array of the function's arguments, those before it are cases,
// of which the first operand says how many; an operand without them is the same for all cases. So
// gradients flow through it, at any budget, once; a function of several results returns a vector of as
// many as `results` says.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/ir/op.h"
#include "tidemark/scalar/real.h"

namespace tidemark {

struct ScalarOpOptions {
  std::int64_t results = 0;  // 0: the function returns one number, and its result has no dimension of its own
  // Of the tape of one case, beside the plan's; none: whatever it takes.
  Bytes memory{-1};
  double flops = 100;  // of one case, for the planner
};

namespace detail {

// Operands of one case, and its results.
using ScalarFunction = std::function<void(std::span<const std::span<const Real>> in, std::span<Real> out)>;

const Op& make_scalar_op(std::string name, std::size_t operands, ScalarFunction function,
                         const ScalarOpOptions& options, SourceLine where);

template <class F, std::size_t count>
constexpr bool takes_spans = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::is_invocable_v<const F&, std::conditional_t<i == i, std::span<const Real>, void>...>;
}
(std::make_index_sequence<count>());

template <class F, std::size_t count, std::size_t most>
constexpr std::size_t spans_taken() {
  if constexpr (count > most) {
    return 0;
  } else {
    return takes_spans<F, count> ? count : spans_taken<F, count + 1, most>();
  }
}

}  // namespace detail

// The operation lives as long as the process. `function` takes one to six spans of Real, has no state that
// changes, and may be called from any thread.
template <class F>
const Op& scalar_op(std::string name, F function, const ScalarOpOptions& options = {},
                    SourceLine where = std::source_location::current()) {
  constexpr std::size_t operands = detail::spans_taken<F, 1, 6>();
  static_assert(operands > 0, "scalar_op takes a function of one to six std::span<const tidemark::Real>");
  return detail::make_scalar_op(
      std::move(name), operands,
      [function = std::move(function)](std::span<const std::span<const Real>> in, std::span<Real> out) {
        [&]<std::size_t... i>(std::index_sequence<i...>) {
          using Result = decltype(function(in[i]...));
          if constexpr (std::is_convertible_v<Result, Real>) {
            out[0] = function(in[i]...);
          } else {
            const auto results = function(in[i]...);
            static_assert(std::is_convertible_v<decltype(results[0]), Real>,
                          "a function for scalar_op returns a Real, or a vector of them");
            // As many as there are; the caller sees what is missing.
            for (std::size_t k = 0; k < std::min<std::size_t>(out.size(), results.size()); ++k)
              out[k] = results[k];
            if (results.size() != out.size()) throw static_cast<std::size_t>(results.size());
          }
        }
        (std::make_index_sequence<operands>());
      },
      options, where);
}

}  // namespace tidemark
