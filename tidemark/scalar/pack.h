// Several numbers side by side, as one adjoint or tangent: a sweep with packs serves as many directions for
// about the price of one, since a recording is read once for all of them. Loops of a constant length over
// aligned memory, which compilers turn into SIMD.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

template <class T, unsigned count>
struct alignas(sizeof(T) * count >= 64 ? 64 : alignof(T)) Pack {
  static constexpr unsigned lanes = count;
  T lane[count] = {};

  T& operator[](std::size_t i) { return lane[i]; }
  const T& operator[](std::size_t i) const { return lane[i]; }

  [[gnu::always_inline]] Pack& operator+=(const Pack& other) {
    for (unsigned i = 0; i < count; ++i) lane[i] += other.lane[i];
    return *this;
  }
  // A lane of zero stays zero whatever the factor: where one direction meets an infinite slope, those that
  // do not pass through it are none the worse. A sweep in one direction does the same, by its test of zero.
  [[gnu::always_inline]] friend Pack operator*(const T& factor, const Pack& pack) {
    Pack product;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::abs(factor) <= std::numeric_limits<T>::max()) [[likely]] {
        for (unsigned i = 0; i < count; ++i) product.lane[i] = factor * pack.lane[i];
        return product;
      }
    }
    for (unsigned i = 0; i < count; ++i)
      if (!is_zero(pack.lane[i])) product.lane[i] = factor * pack.lane[i];
    return product;
  }
};

template <class T, unsigned count>
[[gnu::always_inline]] inline bool is_zero(const Pack<T, count>& pack) {
  bool zero = true;
  for (unsigned i = 0; i < count; ++i) zero &= is_zero(pack.lane[i]);
  return zero;
}

}  // namespace tidemark::scalars
