#include "tidemark/trace/random_functions.h"

#include <fmt/format.h>

#include <limits>

#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/axes.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/statistics.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using Draws = std::span<const Var>;

void require_drawn_dtype(DType dtype, SourceLine where) {
  if (is_float(dtype)) return;
  fail(ErrorCode::dtype_mismatch, {.what = fmt::format("random numbers of {}", name_of(dtype)),
                                   .expected = "a floating-point dtype",
                                   .where = where});
}

// 16 bits would give few different numbers: they are drawn wider.
DType drawn_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// u is never 0, and never 1 either, so that both logarithms are finite.
Var gumbel(const Var& key, const Shape& shape, DType dtype) {
  const Var u = random_uniform(key, {.dtype = drawn_dtype(dtype), .shape = shape});
  const Var above_zero = maximum(u, constant_like(u, std::numeric_limits<float>::min()));
  return cast(neg(log(neg(log(above_zero)))), dtype);
}

void require_choice(const Operand& from, std::int64_t size, std::int64_t count, bool replace) {
  if (size >= 0 && count >= 0 && (replace ? size > 0 || count == 0 : count <= size)) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("random_choice: {} of {} numbers{}", count, size,
                                                      replace ? "" : ", each at most once"),
                                  .expected = replace ? "numbers to choose from, and a count of 0 or more"
                                                      : "at most as many as there are",
                                  .where = from.where()});
}

// Can numbers be drawn by these weights? A scalar.
Var are_weights(const Var& weights) {
  const Var zero = constant_like(weights, 0);
  const Var finite = less(weights, constant_like(weights, std::numeric_limits<double>::infinity()));
  const Var fine = logical_and(greater_equal(weights, zero), finite);
  const Var least = reduce_min(cast(fine, DType::i64), {0});
  return greater(least, constant_like(least, 0));
}

// The numbers that were drawn. What could not be drawn is `size`, and that an error of the call: an index out
// of range.
Var checked_choice(const Var& drawn, const Var& can, std::int64_t size) {
  const Var all = iota(drawn.builder(), DType::i64, {size}, 0);
  return take(all, select(can, drawn, constant_like(drawn, size)), 0);
}

}  // namespace

Tensor random_exponential(const Operand& key, const Shape& shape, double rate, DType dtype) {
  require_drawn_dtype(dtype, key.where());
  if (!(rate > 0)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("random_exponential: a rate of {}", rate),
                                    .expected = "a rate above 0",
                                    .where = key.where()});
  }
  return build({key}, [&](Builder&, Draws v) {
    // 1 - u is as uniform as u, and never 0.
    const Var u = random_uniform(v[0], {.dtype = drawn_dtype(dtype), .shape = shape});
    return cast(log1p(neg(u)) / -rate, dtype);
  });
}

Tensor random_gumbel(const Operand& key, const Shape& shape, DType dtype) {
  require_drawn_dtype(dtype, key.where());
  return build({key}, [&](Builder&, Draws v) { return gumbel(v[0], shape, dtype); });
}

Tensor random_categorical(const Operand& key, const Operand& logits, int axis) {
  const int at = absolute_axis(logits, axis);
  require_drawn_dtype(logits.tensor().dtype(), logits.where());
  return build({logits, key}, [&](Builder&, Draws v) {
    const DType wide = drawn_dtype(v[0].dtype());
    const Var noise = gumbel(v[1], v[0].shape(), wide);
    return argmax(cast(v[0], wide) + noise, at);
  });
}

Tensor random_choice(const Operand& key, std::int64_t size, std::int64_t count, bool replace) {
  require_choice(key, size, count, replace);
  return build({key}, [&](Builder& builder, Draws v) {
    if (count == 0) return full(builder, {DType::i64, {0}}, 0);
    if (!replace) return slice_axis(random_permutation(v[0], {.size = size}), 0, 0, count);
    // Of 64 random bits, the remainder favours small numbers by less than size / 2⁶⁴.
    const Var bits = random_bits(v[0], {.dtype = DType::i64, .shape = {count}});
    return mod(bits, constant_like(bits, size));
  });
}

// With replacement: where a uniform number falls among the running sums. Without: the largest of log w +
// gumbel, which are the first `count` of an order drawn one after the other (Efraimidis and Spirakis, 2006).
Tensor random_choice(const Operand& key, const Operand& weights, std::int64_t count, bool replace) {
  if (weights.tensor().rank() != 1) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("random_choice: weights of shape {}", to_string(weights.tensor().shape())),
          .expected = "one dimension",
          .where = weights.where()});
  }
  require_drawn_dtype(weights.tensor().dtype(), weights.where());
  const std::int64_t size = weights.tensor().shape()[0];
  require_choice(weights, size, count, replace);
  if (count == 0) return zeros({0}, DType::i64, weights.where());
  if (!replace) {
    return build({weights, key}, [&](Builder&, Draws v) {
      const DType wide = drawn_dtype(v[0].dtype());
      const Var noise = gumbel(v[1], v[0].shape(), wide);
      const Sorted largest = top_k(log(cast(v[0], wide)) + noise, 0, count);
      // A weight of 0 has the logarithm -inf: there are fewer others than are asked for.
      const Var lowest = constant_like(largest.values, -std::numeric_limits<double>::infinity());
      const Var can = logical_and(greater(largest.values, lowest), are_weights(v[0]));
      return checked_choice(largest.indices, can, size);
    });
  }
  const SourceLine where = weights.where();
  const std::vector<Operand> operands = {weights, key};
  const std::vector<Tensor> sums = build_all(operands, where, [&](Builder&, Draws v) {
    const Var running = cumsum(cast(v[0], DType::f64), 0);
    const Var total = slice_axis(running, 0, size - 1, size);
    const Var u = random_uniform(v[1], {.dtype = DType::f64, .shape = {count}});
    const Var below_one = u * (1 - 0x1p-52);  // so that no rounding reaches the total
    return std::vector<Var>{running, below_one * total};
  });
  const Tensor drawn = searchsorted(Operand(sums[0], where), Operand(sums[1], where), true);
  return build({weights, Operand(drawn, where)},
               [&](Builder&, Draws v) { return checked_choice(v[1], are_weights(v[0]), size); });
}

}  // namespace tidemark
