// Reading and writing by integer positions. Indices are i32 or i64; one out of range is an error with the
// user's line.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {
struct TakeAttrs {
  std::int64_t axis = 0;
  std::string what = "";  // the indices are, for errors: "a GRU: the length"; none: "take: the index"
  TM_FIELDS(TakeAttrs, axis, what)
};
struct TakeAddAttrs {
  std::int64_t axis = 0, axis_size = 0;
  TM_FIELDS(TakeAddAttrs, axis, axis_size)
};
struct OneHotAttrs {
  std::int64_t classes = 1;
  DType dtype = DType::f32;
  TM_FIELDS(OneHotAttrs, classes, dtype)
};

// take: result[..., i..., ...] = x[..., indices[i...], ...] along `axis`. Embedding is take along axis 0.
Var take(const Var& x, const Var& indices, int axis, std::string what = "");
// take_add: zeros of `axis_size` along axis, plus `updates` summed in at `indices`: the adjoint of take.
// Deterministic. The op may have a third operand, onto which the sums are added (opt/accumulate.h): the same
// bits as an addition behind it, and that operand's memory may be the result's.
Var take_add(const Var& updates, const Var& indices, int axis, std::int64_t axis_size);
// gather: result has the indices' shape; result[p] = x[p with p[axis] replaced by indices[p]].
Var gather(const Var& x, const Var& indices, int axis);
// scatter_add: x plus updates[p] added at p with p[axis] replaced by indices[p]. Overwrites x when it may.
Var scatter_add(const Var& x, const Var& indices, const Var& updates, int axis);
Var one_hot(const Var& indices, std::int64_t classes, DType dtype);  // appends a dimension

}  // namespace tidemark
