// Conversions of the 16-bit formats as instructions of the GPU (8.0 and above): to nearest even, subnormal
// numbers kept, a NaN becomes the format's own. Only NVRTC sees this text.
#pragma once
#include "tidemark/base/dtype.h"

namespace tidemark {

inline Float16::Float16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
inline Float16::operator float() const {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
inline BFloat16 round_to_bfloat16(float x) {
  BFloat16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

}  // namespace tidemark
