// Arithmetic of 16-bit elements in their own format: one instruction of the GPU where f32 would take two
// conversions more. A sum or a product that is rounded to f32 and then to 16 bits, as the CPU does it, has
// the bits of one that is rounded once, since f32 has twice the digits and two more (Figueroa 1995, "When is
// double rounding innocuous?"); where the product of two bf16 is subnormal in f32, it lies below half of the
// smallest bf16 or has no more digits than f32 keeps there.
//
// Sums and products are fused ones with a factor 1 and with a term -0, which keep the sign of every zero:
// instructions that 8.0 has, too, where bf16 has no others. They say how they round, so that the assembler
// fuses none of them with its neighbour.
//
// Formulas take one element. The assembler makes one instruction of those of two elements that share a
// register, as neighbours in a pack do (seen with NVRTC 12.8 and 13.0, for 8.0, 9.0 and 10.0).
#pragma once
#include <cmath>

#include "tidemark/base/dtype.h"

namespace tidemark::formula {

#ifdef __CUDACC_RTC__
#define TM_HALF_FUNCTIONS(T, format)                                                                        \
  inline T half_fma(T x, T y, T z) {                                                                        \
    asm("fma.rn." format " %0, %1, %2, %3;" : "=h"(x.bits) : "h"(x.bits), "h"(y.bits), "h"(z.bits));        \
    return x;                                                                                               \
  }                                                                                                         \
  inline T half_neg(T x) {                                                                                  \
    asm("neg." format " %0, %1;" : "=h"(x.bits) : "h"(x.bits));                                             \
    return x;                                                                                               \
  }                                                                                                         \
  inline T half_abs(T x) {                                                                                  \
    asm("abs." format " %0, %1;" : "=h"(x.bits) : "h"(x.bits));                                             \
    return x;                                                                                               \
  }                                                                                                         \
  inline T half_relu(T x) { /* -0 becomes 0, NaN stays */                                                   \
    asm("max.NaN." format " %0, %1, %2;" : "=h"(x.bits) : "h"(x.bits), "h"(static_cast<std::uint16_t>(0))); \
    return x;                                                                                               \
  }
TM_HALF_FUNCTIONS(BFloat16, "bf16")
TM_HALF_FUNCTIONS(Float16, "f16")
#undef TM_HALF_FUNCTIONS
#else
template <class T>
T half_fma(T x, T y, T z) {
  return T(std::fma(float(x), float(y), float(z)));
}
template <class T>
T half_neg(T x) {
  return T(-float(x));
}
template <class T>
T half_abs(T x) {
  return T(std::fabs(float(x)));
}
template <class T>
T half_relu(T x) {
  return float(x) <= 0 ? T(0.0f) : x;
}
#endif

inline constexpr std::uint16_t half_sign = 0x8000;
template <class T>
inline constexpr std::uint16_t half_one = std::is_same_v<T, BFloat16> ? 0x3f80 : 0x3c00;

template <class T>
T half_add(T x, T y) {
  return half_fma(x, std::bit_cast<T>(half_one<T>), y);
}
template <class T>
T half_sub(T x, T y) {
  return half_fma(y, std::bit_cast<T>(static_cast<std::uint16_t>(half_sign | half_one<T>)), x);
}
template <class T>
T half_mul(T x, T y) {
  return half_fma(x, y, std::bit_cast<T>(half_sign));
}
template <class T>
T half_square(T x) {
  return half_mul(x, x);
}

// One of the two as it is: of two zeros the second, where the GPU's own instructions take the one without a
// sign.
template <class T>
T half_maximum(T x, T y) {
  const float a = static_cast<float>(x), b = static_cast<float>(y);
  return a != a || a > b ? x : y;
}
template <class T>
T half_minimum(T x, T y) {
  const float a = static_cast<float>(x), b = static_cast<float>(y);
  return a != a || a < b ? x : y;
}

}  // namespace tidemark::formula
