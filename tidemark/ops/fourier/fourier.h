// Discrete Fourier transforms along one axis. A complex tensor is a real one whose last axis has size 2: real
// and imaginary part. Its axes are counted without that one.
//
//   fft:    y_k = scale · Σⱼ x_j e^(∓2πi jk/n)       complex to complex; minus, or plus if `inverse`
//   rfft:   y_k = scale · w_k Σⱼ x_j e^(-2πi jk/n)   real to the frequencies 0 … n/2 of the n
//   irfft:  x_j = scale · Σₖ w_k Re(y_k e^(+2πi jk/n))   back; k = 0 … n/2
//
// w_k is 1 at frequency 0 and, where n is even, at n/2, whose imaginary parts are zero or ignored; it is
// `inner` at the others. With inner = 1 rfft is half of the transform of real numbers, with inner = 2 irfft
// is the sum over all n frequencies, the missing ones being conjugates of those that are there. With the same
// attributes the two are each other's transposes, as fft is that of the fft with the other sign: so the
// derivatives of the three are the three.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct FftAttrs {
  std::int64_t axis = 0;  // of the complex tensor: the last but one of the real one at most
  bool inverse = false;
  double scale = 1;
  TM_FIELDS(FftAttrs, axis, inverse, scale)
};
struct RealFftAttrs {
  std::int64_t axis = 0;
  std::int64_t length = 1;  // n, of the real side
  double scale = 1, inner = 1;
  TM_FIELDS(RealFftAttrs, axis, length, scale, inner)
};

Var fft(const Var& x, const FftAttrs& attrs);
Var rfft(const Var& x, const RealFftAttrs& attrs);
Var irfft(const Var& y, const RealFftAttrs& attrs);

// How many frequencies n real numbers have, those that are conjugates of others left out.
inline std::int64_t half_length(std::int64_t n) { return n / 2 + 1; }

}  // namespace tidemark
