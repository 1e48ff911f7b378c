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

// f(number) of up to 127, with an index that is a constant, by one jump.
template <class F>
[[gnu::always_inline]] inline void select(unsigned number, F f) {
// clang-format off
#define TM_CASE(n) case n: f(std::integral_constant<unsigned, (n)>()); return;
#define TM_CASES(n) \
  TM_CASE(n) TM_CASE((n) + 1) TM_CASE((n) + 2) TM_CASE((n) + 3) \
  TM_CASE((n) + 4) TM_CASE((n) + 5) TM_CASE((n) + 6) TM_CASE((n) + 7)
  switch (number) {
    TM_CASES(0) TM_CASES(8) TM_CASES(16) TM_CASES(24) TM_CASES(32) TM_CASES(40) TM_CASES(48) TM_CASES(56)
    TM_CASES(64) TM_CASES(72) TM_CASES(80) TM_CASES(88) TM_CASES(96) TM_CASES(104) TM_CASES(112) TM_CASES(120)
    default: __builtin_unreachable();
  }
#undef TM_CASES
#undef TM_CASE
  // clang-format on
}

}  // namespace tidemark::scalars
