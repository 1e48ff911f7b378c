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

}  // namespace tidemark::scalars
