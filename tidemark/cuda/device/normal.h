// The normal distribution in f32, as the CPU's vectors compute it: it, its density and what is made of them
// share one exponential. Declared before the formulas, which prefer it to their own templates.
#pragma once
#include <cmath>

#include "tidemark/kernel/simd_math_coefficients.h"

namespace tidemark::formula {

struct NormalTail {
  float a;        // |x|, up to where all of it is 0
  float density;  // √(2π) times the density
  float tail;     // Φ(-a), with full relative accuracy
};

template <int count>
inline float horner_in(float a, const float (&coefficients)[count]) {
  float sum = coefficients[count - 1];
#pragma unroll
  for (int i = count - 2; i >= 0; --i) sum = std::fma(sum, a, coefficients[i]);
  return sum;
}

inline NormalTail normal_tail(float x) {
  const float size = std::fabs(x), a = size > 14.42f ? 14.42f : size;  // a NaN stays one
  const float square = a * a, rest = std::fma(a, a, -square);
  const float rounded = std::exp(-0.5f * square), density = std::fma(-0.5f * rest, rounded, rounded);
  // Both polynomials are between 2^-1 and 2^13, but for the 2^-64 that the first carries.
  const float over = horner_in(a, mills_over_f32) * 0x1p64f, under = horner_in(a, mills_under_f32);
#ifdef __CUDACC_RTC__
  return {a, density, density * __fdividef(over, under)};
#else
  return {a, density, density * (over / under)};
#endif
}

inline float normal_distribution(float x) {
  const float tail = normal_tail(x).tail;
  return x < 0 ? tail : 1 - tail;
}
inline float normal_density(float x) { return normal_tail(x).density * 0.39894228f; }
// x·Φ(x) = max(x, 0) - |x|·Φ(-|x|)
inline float gelu(float x) {
  const NormalTail t = normal_tail(x);
  return std::fma(-t.a, t.tail, x > 0 ? x : 0.0f);
}

}  // namespace tidemark::formula
