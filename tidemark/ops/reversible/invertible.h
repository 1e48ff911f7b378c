// Functions whose operand can be computed back from the result, up to rounding. Where the user allows lossy
// values, that may stand in for the operand in the backward pass (autodiff/inverses.h). Each states how an
// error grows on the way back (Op::conditioning).
//
//   scale_shift(x, s, t)       x·s + t                                      (y − t) / s
//   leaky_relu(x)              x where that is positive, else slope·x       y or y / slope
//   invertible_product(x, a)   x·a, a square: orthogonal or a triangle      y·aᵀ, or solved
//
// They have no kernels: what they are made of does, and is fused like anything else.
#pragma once
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct ScaleShiftAttrs {
  double gain = 1;  // at most by this does an error grow when it is undone: the largest 1 / |s|, or more
  TM_FIELDS(ScaleShiftAttrs, gain)
};
Var scale_shift(const Var& x, const Var& scale, const Var& shift, double gain);  // of one shape

struct LeakyReluAttrs {
  double slope = 0.01;  // of what is not positive; above 0
  TM_FIELDS(LeakyReluAttrs, slope)
};
Var leaky_relu(const Var& x, double slope);

enum class SquareMatrix : std::uint8_t { orthogonal, lower, upper };
struct InvertibleProductAttrs {
  std::int64_t kind = 0;  // a SquareMatrix; of a triangle the rest is not read
  double gain = 1;        // the norm of the inverse, or more
  TM_FIELDS(InvertibleProductAttrs, kind, gain)
};
Var invertible_product(const Var& x, const Var& matrix, SquareMatrix kind, double gain);

// Of one operation, as a share of its result.
double unit_rounding(DType dtype);

// The identity, behind what was computed back: so that plans tell it from what was computed forwards.
Var undone(const Var& x);

}  // namespace tidemark
