// Operations that move elements without computing: most can be views (no copy) when their consumers take
// strides.
#pragma once
#include <span>

#include "tidemark/ir/builder.h"

namespace tidemark {

struct BroadcastAttrs {
  Dims shape;  // NumPy rules
  TM_FIELDS(BroadcastAttrs, shape)
};
struct ReshapeAttrs {
  Dims shape;  // fully given: no -1 in the graph
  TM_FIELDS(ReshapeAttrs, shape)
};
struct TransposeAttrs {
  Dims order;  // result dimension i is operand dimension order[i]
  TM_FIELDS(TransposeAttrs, order)
};
struct SliceAttrs {
  Dims start, limit, step;  // step ≥ 1; 0 ≤ start ≤ limit ≤ size
  TM_FIELDS(SliceAttrs, start, limit, step)
};
struct PadAttrs {
  Dims low, high, interior;  // `interior`: gaps between elements; low/high may be negative (crop)
  TM_FIELDS(PadAttrs, low, high, interior)
};
struct AxisAttrs {
  std::int64_t axis = 0;  // 0 ≤ axis < rank
  TM_FIELDS(AxisAttrs, axis)
};
struct AxesAttrs {
  Dims axes;
  TM_FIELDS(AxesAttrs, axes)
};
struct SplitAttrs {
  std::int64_t axis = 0;
  IntList sizes;  // one result each
  TM_FIELDS(SplitAttrs, axis, sizes)
};
struct TriangleAttrs {
  std::int64_t diagonal = 0;  // 0: main; positive: above
  TM_FIELDS(TriangleAttrs, diagonal)
};
struct IotaAttrs {
  DType dtype = DType::i64;
  Dims shape;
  std::int64_t axis = 0;  // counts 0, 1, 2, … along this axis
  TM_FIELDS(IotaAttrs, dtype, shape, axis)
};
struct UpdateSliceAttrs {
  Dims start, step;  // as in SliceAttrs; the window's size is the update's
  TM_FIELDS(UpdateSliceAttrs, start, step)
};

Var broadcast(const Var& x, const Shape& shape);  // no node when the shape is already right
Var reshape(const Var& x, const Shape& shape);    // likewise
Var transpose(const Var& x, const Dims& order);
Var swap_last_two(const Var& x);
Var slice(const Var& x, const Dims& start, const Dims& limit, const Dims& step);
Var slice_axis(const Var& x, int axis, std::int64_t start, std::int64_t limit, std::int64_t step = 1);
Var pad(const Var& x, const Var& fill, const Dims& low, const Dims& high,
        const Dims& interior);  // fill: rank 0
Var concat(std::span<const Var> parts, int axis);
std::vector<Var> split(const Var& x, int axis, const IntList& sizes);
Var flip(const Var& x, const Dims& axes);
Var tril(const Var& x, std::int64_t diagonal = 0);  // of the last two dimensions
Var triu(const Var& x, std::int64_t diagonal = 0);
Var iota(Builder& builder, DType dtype, const Shape& shape, int axis);
Var expand_dims(const Var& x, int axis);  // a reshape
Var squeeze(const Var& x, int axis);      // a reshape
// x with the window at `start` (stepping by `step`) replaced by `update`: what x.at(i) = v becomes.
// Overwrites x when it may.
Var update_slice(const Var& x, const Var& update, const Dims& start, const Dims& step);

}  // namespace tidemark
