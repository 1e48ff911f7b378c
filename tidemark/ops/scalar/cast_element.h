// One element converted to another dtype, as cast.h says. Kernels on a GPU include this text too.
#pragma once
#include <cstdint>
#include <type_traits>

#include "tidemark/base/dtype.h"

namespace tidemark {

template <class To, class From>
To cast_element(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturated<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// To the f32 that rounds to 16 bits as the element itself would.
template <class From>
float cast_towards_16_bits(From x) {
  if constexpr (std::is_same_v<From, double>) {
    return round_to_odd(x);
  } else if constexpr (std::is_same_v<From, std::int32_t> || std::is_same_v<From, std::int64_t>) {
    return round_to_odd(static_cast<std::int64_t>(x));
  } else {
    return cast_element<float>(x);  // exact
  }
}

}  // namespace tidemark
