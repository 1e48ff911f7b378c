// One step of a fold, what it starts from, and how its total becomes an element. Kernels on a GPU include
// this text too: their sums have the CPU's order and bits.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tidemark/base/dtype.h"

namespace tidemark {

enum class Fold : std::uint8_t { sum, prod, max, min };  // NaN wins in max and min

inline constexpr std::int64_t fold_lanes = 16;
inline constexpr std::int64_t fold_block = 1024;

template <class A>
A fold_two(Fold fold, A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    const auto u = static_cast<std::uint64_t>(a), v = static_cast<std::uint64_t>(b);  // wraps
    if (fold == Fold::sum) return static_cast<A>(u + v);
    if (fold == Fold::prod) return static_cast<A>(u * v);
  } else {
    if (fold == Fold::sum) return a + b;
    if (fold == Fold::prod) return a * b;
  }
  const bool takes_b = fold == Fold::max ? a < b : b < a;
  return takes_b || b != b ? b : a;
}

template <class C>
C fold_identity(Fold fold) {
  using Limits = std::numeric_limits<C>;
  if (fold == Fold::sum) return C(0);
  if (fold == Fold::prod) return C(1);
  if constexpr (Limits::has_infinity) {
    return fold == Fold::max ? -Limits::infinity() : Limits::infinity();
  } else {
    return fold == Fold::max ? Limits::min() : Limits::max();
  }
}

// What elements are folded in, and what the results of blocks are.
template <class T>
using fold_compute_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, compute_t<T>>;
template <class T>
using fold_total_t = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

template <class T>
T element_of_total(fold_total_t<T> total) {
  if constexpr (is_16_bit_float<T>) {
    return T(static_cast<float>(total));
  } else {
    return static_cast<T>(total);
  }
}

}  // namespace tidemark
