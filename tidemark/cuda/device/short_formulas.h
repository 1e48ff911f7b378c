// Functions with 15 bits or so, for elements of 16 bits, in a third of the instructions that f32 takes.
#pragma once
#include "tidemark/cuda/device/normal.h"

namespace tidemark::formula {

// The GPU's own approximations, which take and give no subnormal numbers: those that do take three more
// instructions each.
#ifdef __CUDACC_RTC__
inline float short_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float short_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f * x : x; }
inline float short_exp2(float x) { return flushed(std::exp2(flushed(x))); }
inline float short_reciprocal(float x) { return flushed(1 / flushed(x)); }
#endif

// The quotient of polynomials is within 2.5e-5 of Φ(-a) / √(2π)φ(a) (minimax, by reweighted least squares).
// The exponential carries 2^64, the quotient 2^-64: only their product may be subnormal.
inline NormalTail short_normal_tail(float x) {
  const float size = std::fabs(x), a = size > 14.42f ? 14.42f : size;  // a NaN stays one
  const float over =
      std::fma(std::fma(0.0627786813f * 0x1p-64f, a, 0.278870025f * 0x1p-64f), a, 0.500012411f * 0x1p-64f);
  const float under = std::fma(std::fma(std::fma(0.157192531f, a, 0.704002005f), a, 1.35639281f), a, 1.0f);
  const float density = short_exp2(std::fma(-0.72134752f * a, a, 64.0f));
  return {a, density * 0x1p-64f, density * (over * short_reciprocal(under))};
}
inline float short_gelu(float x) {
  const NormalTail t = short_normal_tail(x);
  return std::fma(-t.a, t.tail, x > 0 ? x : 0.0f);
}
inline float short_gelu_slope(float x) {
  const NormalTail t = short_normal_tail(x);
  const float below = std::fma(-0.39894228f * t.a, t.density, t.tail);  // at -a
  return x < 0 ? below : 1 - below;
}

// 1 / (1 + e^-x), both terms times 2^-64, so that no exponential is infinite whose reciprocal counts.
inline float short_sigmoid(float x) {
  return 0x1p-64f * short_reciprocal(0x1p-64f + short_exp2(std::fma(-1.44269504f, x, -64.0f)));
}
// As the formulas have it: NaN at -infinity, where 0 is multiplied by it.
inline float short_silu(float x) { return x * short_sigmoid(x); }

}  // namespace tidemark::formula
