// 64 bits of a state's numbers: a step that runs again must come out at the same ones, and all NaNs are the
// same.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "tidemark/scalar/real.h"

namespace tidemark::scalars {

template <class T>
double plain_value(const T& x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return plain_value(x.value());
}

template <class T>
std::uint64_t digest_of(std::span<const BasicReal<T>> state) {
  constexpr std::size_t lanes = 4;  // products that do not wait for each other
  std::uint64_t sums[lanes] = {1, 2, 3, 4};
  for (std::size_t i = 0; i < state.size(); ++i) {
    const double value = plain_value(state[i].value());
    const auto bits =
        std::bit_cast<std::uint64_t>(value == value ? value : std::numeric_limits<double>::quiet_NaN());
    std::uint64_t& sum = sums[i % lanes];
    sum = (sum ^ bits) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  }
  std::uint64_t digest = 0;
  for (const std::uint64_t sum : sums) digest = (digest ^ sum) * 0xbf58476d1ce4e5b9u + 1;
  return digest;
}

}  // namespace tidemark::scalars
