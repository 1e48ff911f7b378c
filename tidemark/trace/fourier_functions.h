// Discrete Fourier transforms, of any length, in f32 and f64, differentiable any number of times; of f16 and
// bf16 computed in f32 and rounded once, where sums of many may be beyond the largest f16.
//
// There is no complex dtype: a complex tensor is a real one with a last axis of size 2, real and imaginary
// part. Axes of complex tensors are counted without that one: of a tensor (batch, n, 2), axis -1 is the one
// of size n. Gradients are those of the parts: where PyTorch's gradient of a complex tensor is a + bi, ours
// is (a, b).
#pragma once
#include "tidemark/trace/tensor.h"

namespace tidemark {

// Which of the two directions is divided by the number of points, as in NumPy.
enum class FourierNorm {
  backward,  // the inverse
  ortho,     // both by its root: lengths are kept
  forward    // the transform itself
};

struct FourierOptions {
  int axis = -1;
  // Points of the transform, of the real side for rfft and irfft: the axis is cut or filled up with zeros.
  // 0: as many as there are; for irfft from m frequencies, 2(m - 1).
  std::int64_t length = 0;
  FourierNorm norm = FourierNorm::backward;
};

// Along one axis. Complex to complex:
Tensor fft(const Operand& x, const FourierOptions& options = {});   // y_k = Σ x_j e^(-2πi jk/n)
Tensor ifft(const Operand& x, const FourierOptions& options = {});  // y_k = Σ x_j e^(2πi jk/n) / n
// Real to the frequencies 0 … n/2 (the others are their conjugates), and back. irfft takes the sum as real:
// it ignores the imaginary parts of frequency 0 and, for an even length, of n/2.
Tensor rfft(const Operand& x, const FourierOptions& options = {});
Tensor irfft(const Operand& y, const FourierOptions& options = {});

// Along several axes. Of real tensors the last axis in the list is the one that is halved.
struct FourierAxes {
  Dims axes = {-2, -1};
  std::int64_t last_length = 0;  // irfftn: points along the last axis; 0: 2(m - 1)
  FourierNorm norm = FourierNorm::backward;
};
Tensor fftn(const Operand& x, const FourierAxes& options = {});   // fft along each axis; two by default
Tensor ifftn(const Operand& x, const FourierAxes& options = {});  // the inverse of fftn
Tensor rfftn(const Operand& x, const FourierAxes& options = {});  // rfft along the last, fft along the others
Tensor irfftn(const Operand& y, const FourierAxes& options = {});  // the inverse of rfftn

// ---- complex numbers as pairs
Tensor complex_of(const Operand& real, const Operand& imaginary);  // (…) and (…) to (…, 2)
Tensor real_part(const Operand& z);                                // (…, 2) to (…)
Tensor imaginary_part(const Operand& z);
Tensor conjugate(const Operand& z);
Tensor complex_multiply(const Operand& a, const Operand& b);  // elementwise; shapes broadcast
// |z|, without overflow; the derivative at 0 is taken as 0.
Tensor complex_abs(const Operand& z);

}  // namespace tidemark
