// Sums that can be undone to the bit. In floating point (x + t) − t is rarely x. It is where both are
// multiples of one power of two and the sum needs no more digits than the type has, so an additive coupling
// (Dinh et al., "NICE", 2014; Gomez et al., "The reversible residual network", 2017) is computed on such a
// grid:
//
//   to_grid(x)       x rounded to a multiple of range / 2^24 (f64: 2^53); 0 for −0
//   couple(x, t)     to_grid(x) + to_grid(t). Fails where the sum cannot be undone: a NaN, an infinity, or
//                    rounded since it is beyond the range.
//   uncouple(y, t)   y − to_grid(t): the x of a y that couple made, if x was on the grid
//
// Gradients pass through as through x + t: rounding has no slope of its own.
#pragma once
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

inline constexpr double default_grid_range = 1024;  // f32: steps of 6e-5

struct GridAttrs {
  double range = default_grid_range;  // a power of two
  TM_FIELDS(GridAttrs, range)
};

Var to_grid(const Var& x, double range = default_grid_range);  // no node where it is known to be there
Var couple(const Var& x, const Var& t, double range = default_grid_range);
Var uncouple(const Var& y, const Var& t, double range = default_grid_range);

// The grid's step for a type: f32 or f64.
double grid_step(DType dtype, double range);

}  // namespace tidemark
