#include "tidemark/trace/unique.h"

#include <fmt/format.h>

#include "tidemark/ir/limits.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

// Of sorted elements, those that differ from the one before; NaN differs from every number and from no NaN.
Var starts_of_runs(Builder& builder, const Var& sorted) {
  const std::int64_t n = sorted.shape()[0];
  const Var before = slice_axis(sorted, 0, 0, n - 1), after = slice_axis(sorted, 0, 1, n);
  Var differ = not_equal(before, after);
  if (is_float(sorted.dtype())) {
    const Var before_is_number = equal(before, before), after_is_number = equal(after, after);
    const Var number = logical_or(before_is_number, after_is_number);
    differ = logical_and(differ, number);
  }
  const Var first = full(builder, {DType::boolean, {1}}, true);
  const Var parts[] = {first, differ};
  return concat(parts, 0);
}

std::vector<Var> unique_of_some(Builder& builder, const Var& x, std::int64_t capacity, const Number& fill) {
  const std::int64_t n = element_count(x.shape());
  const Sorted sorted = sort(reshape(x, {n}), 0, false);
  const Var starts = starts_of_runs(builder, sorted.values);
  const Var runs = cumsum(cast(starts, DType::i64), 0, false);
  const Var rank = runs - constant_like(runs, 1);
  const Var count = squeeze(slice_axis(runs, 0, n - 1, n), 0);
  // What there is no room for goes to one place more, which is cut off.
  const Var place = minimum(rank, constant_like(rank, capacity));
  const auto gathered_up = [&](const Var& what) {
    return slice_axis(take_add(what, place, 0, capacity + 1), 0, 0, capacity);
  };
  const Var positions = iota(builder, DType::i64, {n}, 0);
  const Var first = gathered_up(select(starts, positions, zeros_like(positions)));
  const Var counts = gathered_up(ones_like(positions));
  const Var filled = less(iota(builder, DType::i64, {capacity}, 0), count);
  const Var found = take(sorted.values, first, 0);
  const Var values = select(filled, found, full(builder, {x.dtype(), {capacity}}, fill));
  const Var inverse = reshape(take_add(rank, sorted.indices, 0, n), x.shape());
  return {values, count, inverse, counts};
}

std::vector<Var> unique_of_none(Builder& builder, const Var& x, std::int64_t capacity, const Number& fill) {
  const Var values = full(builder, {x.dtype(), {capacity}}, fill);
  const Var count = full(builder, {DType::i64, {}}, 0), inverse = full(builder, {DType::i64, x.shape()}, 0);
  return {values, count, inverse, full(builder, {DType::i64, {capacity}}, 0)};
}

}  // namespace

Unique unique(const Operand& x, std::int64_t capacity, const Number& fill) {
  if (capacity < 0) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("unique: a capacity of {}", capacity),
                                    .expected = "0 (as many as elements) or more",
                                    .where = x.where()});
  }
  const Tensor& tensor = x.tensor();
  require_fits(tensor.dtype(), fill, x.where());
  const std::int64_t room = capacity == 0 ? tensor.count() : capacity;
  require_within_limits({tensor.dtype(), {room}}, "unique", x.where());
  const Operand operands[] = {x};
  const std::vector<Tensor> results =
      build_all(operands, x.where(), [&](Builder& builder, std::span<const Var> v) {
        return tensor.count() == 0 ? unique_of_none(builder, v[0], room, fill)
                                   : unique_of_some(builder, v[0], room, fill);
      });
  return {results[0], results[1], results[2], results[3]};
}

}  // namespace tidemark
