// Loops that the compiler unrolls.
#pragma once
#include <type_traits>
#include <utility>

namespace tidemark::scalars {

// f(0), f(1), …, with indices that are constants.
template <unsigned count, class F>
[[gnu::always_inline]] inline void each(F f) {
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<unsigned, i>()), ...);
  }
  (std::make_integer_sequence<unsigned, count>());
}

// f(count - 1), …, f(0), of up to seven, by one jump.
template <unsigned most, class F>
[[gnu::always_inline]] inline void each_below(unsigned count, F f) {
  static_assert(most == 7);
  switch (count) {
    case 7:
      f(6);
      [[fallthrough]];
    case 6:
      f(5);
      [[fallthrough]];
    case 5:
      f(4);
      [[fallthrough]];
    case 4:
      f(3);
      [[fallthrough]];
    case 3:
      f(2);
      [[fallthrough]];
    case 2:
      f(1);
      [[fallthrough]];
    case 1:
      f(0);
      [[fallthrough]];
    case 0:
      return;
    default:
      __builtin_unreachable();
  }
}

}  // namespace tidemark::scalars
