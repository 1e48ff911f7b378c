// What printing and parsing constant data agree on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tidemark/base/dtype.h"

namespace tidemark {

// `f32[8] 0.0` repeats one element; the bound keeps a short text from asking for much memory.
inline constexpr std::size_t max_repeated_bytes = 4096;
// Longer data is written as hexadecimal bytes.
inline constexpr std::size_t max_listed_elements = 256;

template <class T>
using bits_t = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

// The NaN written as `nan`; any other is written with its bits, `nan(0x7fc00001)`.
template <class T>
inline constexpr bits_t<T> canonical_nan = 0;
template <>
inline constexpr std::uint32_t canonical_nan<float> = 0x7fc00000u;
template <>
inline constexpr std::uint64_t canonical_nan<double> = 0x7ff8000000000000u;
template <>
inline constexpr std::uint16_t canonical_nan<BFloat16> = 0x7fc0u;
template <>
inline constexpr std::uint16_t canonical_nan<Float16> = 0x7e00u;

}  // namespace tidemark
