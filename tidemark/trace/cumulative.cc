#include "tidemark/trace/cumulative.h"

#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/axes.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using Combine = Var (*)(const Var&, const Var&);

// Here x is (before, n, after), and prefixes run along the middle. Pairs are combined and their prefixes
// found, which are the results at odd places; those at even places need one element more.
Var prefixes(const Var& x, const Combine combine) {
  const std::int64_t n = x.shape()[1], pairs = n / 2, rest = n % 2;
  if (n < 2) return x;
  const Var first = slice_axis(x, 1, 0, 2 * pairs, 2), second = slice_axis(x, 1, 1, 2 * pairs, 2);
  const Var odd = prefixes(combine(first, second), combine);
  const Var start = slice_axis(x, 1, 0, 1);
  Var even = start;
  if (n > 2) {
    const Var known = slice_axis(odd, 1, 0, pairs - 1 + rest), next = slice_axis(x, 1, 2, n, 2);
    const Var parts[] = {start, combine(known, next)};
    even = concat(parts, 1);
  }
  // One after the other: as columns of two, the last of which may have no partner.
  const Var paired = expand_dims(rest ? slice_axis(even, 1, 0, pairs) : even, 2);
  const Var columns[] = {paired, expand_dims(odd, 2)};
  const Var joined = reshape(concat(columns, 2), {x.shape()[0], 2 * pairs, x.shape()[2]});
  if (rest == 0) return joined;
  const Var whole[] = {joined, slice_axis(even, 1, pairs, pairs + 1)};
  return concat(whole, 1);
}

// A sum of two, by the op that is stable at infinities and has softmax as its derivative.
Var log_sum_of_two(const Var& a, const Var& b) {
  const Var raised = expand_dims(a, 3);
  const Var both[] = {raised, expand_dims(b, 3)};
  return reduce_logsumexp(concat(both, 3), {3});
}

Var cumulated_along(const Var& x, int axis, const Combine combine) {
  const Shape& shape = x.shape();
  Shape around = {1, shape[axis], 1};
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) around[i < axis ? 0 : 2] *= shape[i];
  }
  return reshape(prefixes(reshape(x, around), combine), shape);
}

Tensor cumulated(const Operand& x, int axis, const Combine combine) {
  const int at = absolute_axis(x, axis);
  return build({x}, [&](Builder&, std::span<const Var> v) { return cumulated_along(v[0], at, combine); });
}

// An element that is as extreme as all before it is a record; where the last record stands is the largest of
// their positions.
std::pair<Tensor, Tensor> records(const Operand& x, int axis, const Combine combine) {
  const int at = absolute_axis(x, axis);
  const Operand operands[] = {x};
  const std::vector<Tensor> results =
      build_all(operands, x.where(), [&](Builder& builder, std::span<const Var> v) {
        const Var fixed = stop_gradient(v[0]);
        Var record = equal(fixed, cumulated_along(fixed, at, combine));
        if (is_float(fixed.dtype())) record = logical_or(record, not_equal(fixed, fixed));  // NaN
        const Var positions = iota(builder, DType::i64, fixed.shape(), at);
        const Var indices = cumulated_along(select(record, positions, zeros_like(positions)), at, maximum);
        return std::vector<Var>{gather(v[0], indices, at), indices};
      });
  return {results[0], results[1]};
}

}  // namespace

Tensor cumprod(const Operand& x, int axis) { return cumulated(x, axis, mul); }
Tensor cummax(const Operand& x, int axis) { return cumulated(x, axis, maximum); }
Tensor cummin(const Operand& x, int axis) { return cumulated(x, axis, minimum); }
std::pair<Tensor, Tensor> cummax_with_indices(const Operand& x, int axis) {
  return records(x, axis, maximum);
}
std::pair<Tensor, Tensor> cummin_with_indices(const Operand& x, int axis) {
  return records(x, axis, minimum);
}
Tensor logcumsumexp(const Operand& x, int axis) { return cumulated(x, axis, log_sum_of_two); }

}  // namespace tidemark
