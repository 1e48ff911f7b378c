// Reductions over axes. Sums run in a fixed order that depends on the shape alone.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct ReduceAttrs {
  Dims axes;          // ascending, distinct, in range
  bool keep = false;  // keep reduced dimensions with size 1
  TM_FIELDS(ReduceAttrs, axes, keep)
};
struct CumsumAttrs {
  std::int64_t axis = 0;
  bool reverse = false;  // from the end to the beginning
  TM_FIELDS(CumsumAttrs, axis, reverse)
};

Var reduce_sum(const Var& x, const Dims& axes, bool keep = false);
Var reduce_mean(const Var& x, const Dims& axes, bool keep = false);
Var reduce_max(const Var& x, const Dims& axes, bool keep = false);
Var reduce_min(const Var& x, const Dims& axes, bool keep = false);
Var reduce_prod(const Var& x, const Dims& axes, bool keep = false);
Var reduce_logsumexp(const Var& x, const Dims& axes, bool keep = false);
Var reduce_var(const Var& x, const Dims& axes, bool keep = false);  // population variance, two passes
Var argmax(const Var& x, int axis);                                 // i64, first of equals
Var argmin(const Var& x, int axis);
Var cumsum(const Var& x, int axis, bool reverse = false);

Dims all_axes(int rank);
// The adjoint of broadcasting: sums x down to `shape`.
Var sum_to(const Var& x, const Shape& shape);

}  // namespace tidemark
