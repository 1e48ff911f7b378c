// The determinant by expansion along the first row, minor by minor: n! products and a recursion, for no use
// but as work for scalars.
#pragma once
#include <cstdint>
#include <span>

namespace tidemark::bench {

// Of the rows from `row` and the columns that `used` leaves.
template <class T>
T minor_determinant(std::span<const T> a, std::size_t n, std::size_t row, std::uint64_t used) {
  if (row + 1 == n) {
    for (std::size_t column = 0; column < n; ++column) {
      if (!(used >> column & 1)) return a[row * n + column];
    }
  }
  T sum = 0.0;
  bool minus = false;
  for (std::size_t column = 0; column < n; ++column) {
    if (used >> column & 1) continue;
    const T minor = minor_determinant(a, n, row + 1, used | std::uint64_t{1} << column);
    if (minus) {
      sum -= a[row * n + column] * minor;
    } else {
      sum += a[row * n + column] * minor;
    }
    minus = !minus;
  }
  return sum;
}

struct Determinant {
  std::size_t rows = 0;

  template <class T>
  T operator()(std::span<const T> a) const {
    return minor_determinant(a, rows, 0, 0);
  }
};

}  // namespace tidemark::bench
