#include "tidemark/trace/statistics.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/axes.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using Values = std::span<const Var>;

constexpr double infinite = std::numeric_limits<double>::infinity();

std::int64_t count_along(const Shape& shape, const Dims& axes) {
  std::int64_t count = 1;
  for (std::int64_t axis : axes) count *= shape[static_cast<int>(axis)];
  return count;
}

Dims all_axes_of(const Operand& x) { return all_axes(x.tensor().rank()); }

// f(v) where v is above 0, and v itself elsewhere: 0 or NaN. There f gets 1, so that no infinite slope of f
// meets the slope 0 of what v was made of.
template <class F>
Var where_positive(const Var& v, const F& f) {
  const Var positive = greater(v, zeros_like(v));
  const Var value = f(select(positive, v, ones_like(v)));
  return select(positive, value, v);
}

Var variance(const Var& x, const Dims& axes, bool keep, double correction) {
  const Var population = reduce_var(x, axes, keep);
  if (correction == 0) return population;
  const auto n = static_cast<double>(count_along(x.shape(), axes));
  return population * (n / std::max(n - correction, 0.0));
}

// ---- norms

Var power_norm(const Var& x, double p, const Dims& axes) {
  const Var size = abs(x);
  if (p == 1) return reduce_sum(size, axes, true);
  if (p == infinite) return reduce_max(size, axes, true);
  const Var largest = stop_gradient(reduce_max(size, axes, true));
  const Var zero = zeros_like(largest), limit = constant_like(largest, infinite);
  const Var nonzero = greater(largest, zero), finite = less(largest, limit);
  const Var ordinary = logical_and(nonzero, finite);
  const Var scale = select(ordinary, largest, ones_like(largest));
  const Var scaled = size / scale;
  if (p == 2) {
    const Var total = reduce_sum(square(scaled), axes, true);
    return scale * where_positive(total, [](const Var& s) { return sqrt(s); });
  }
  const Var powers = where_positive(scaled, [&](const Var& s) { return pow(s, constant_like(s, p)); });
  const Var total = reduce_sum(powers, axes, true);
  return scale * where_positive(total, [&](const Var& s) { return pow(s, constant_like(s, 1 / p)); });
}

// ---- truth

Var truth_of(const Var& x) { return x.dtype() == DType::boolean ? x : not_equal(x, zeros_like(x)); }

Tensor truths(const Operand& x, const Dims& axes, bool keep, bool every) {
  return build({x}, [&](Builder& builder, Values v) {
    const Var truth = truth_of(v[0]);
    if (axes.empty()) return truth;
    if (count_along(v[0].shape(), axes) > 0) {
      return every ? reduce_min(truth, axes, keep) : reduce_max(truth, axes, keep);
    }
    const Shape shape = reduce_sum(cast(truth, DType::u8), axes, keep).shape();
    return full(builder, {DType::boolean, shape}, every);
  });
}

// An infinity compared with |x|; whole numbers and truth values have none.
template <class Compare>
Tensor compared_with_infinity(const Operand& x, bool otherwise, const Compare& compare) {
  return build({x}, [&](Builder& builder, Values v) {
    if (!is_float(v[0].dtype())) return full(builder, {DType::boolean, v[0].shape()}, otherwise);
    const Var size = abs(v[0]);
    return compare(size, constant_like(size, infinite));
  });
}

// ---- order

void require_quantile(const Operand& x, double q, std::int64_t count) {
  if (!(q >= 0 && q <= 1)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("quantile: q = {}", q),
                                    .expected = "q from 0 to 1",
                                    .where = x.where(),
                                    .help = q > 1 ? "divide percent by 100" : ""});
  }
  if (count == 0) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("a quantile of no values: {}", to_string(x.tensor().shape())),
          .expected = "at least one value per result",
          .where = x.where()});
  }
  if (!is_float(x.tensor().dtype())) {
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("a quantile of {}", name_of(x.tensor().dtype())),
                                     .expected = "a floating-point dtype",
                                     .where = x.where(),
                                     .help = "cast it first"});
  }
}

// Between equal ends is their very value, which the weighted sum may miss by a rounding. The gradient is that
// of the sum, of equal ends too.
Var between(const Var& low, const Var& high, double weight) {
  if (weight == 0) return low;
  const Var from_low = low * (1 - weight), sum = from_low + high * weight;
  const Var off = logical_and(equal(low, high), not_equal(sum, low));
  const Var correction = select(off, low - sum, constant_like(sum, 0));
  return sum + stop_gradient(correction);
}

Var quantile_along(const Var& x, double q, int axis) {
  const Var sorted = sort(x, axis).values;
  const std::int64_t n = x.shape()[axis];
  const double place = q * static_cast<double>(n - 1);
  const auto low = static_cast<std::int64_t>(std::floor(place));
  const std::int64_t high = std::min(low + 1, n - 1);
  const Var lower = slice_axis(sorted, axis, low, low + 1), upper = slice_axis(sorted, axis, high, high + 1);
  const Var last = slice_axis(sorted, axis, n - 1, n);  // NaN, if there is one
  const Var value = between(lower, upper, place - std::floor(place));
  return select(not_equal(last, last), last, value);
}

// Below, where NaN is above every number.
Var ranks_below(const Var& a, const Var& b) {
  const Var below = less(a, b);
  if (!is_float(a.dtype())) return below;
  const Var a_is_number = equal(a, a), b_is_nan = not_equal(b, b);
  return logical_or(below, logical_and(a_is_number, b_is_nan));
}

void require_count(std::int64_t length, const Operand& x) {
  if (length >= 0) return;
  fail(
      ErrorCode::bad_attribute,
      {.what = fmt::format("bincount: a length of {}", length), .expected = "0 or more", .where = x.where()});
}

Var flattened(const Var& x) { return reshape(x, {element_count(x.shape())}); }

}  // namespace

Tensor var(const Operand& x, const Dims& axes, bool keep, double correction) {
  const Dims at = absolute_axes(x, axes);
  return build({x}, [&](Builder&, Values v) { return variance(v[0], at, keep, correction); });
}
Tensor stddev(const Operand& x) { return stddev(x, all_axes_of(x)); }
Tensor stddev(const Operand& x, const Dims& axes, bool keep, double correction) {
  const Dims at = absolute_axes(x, axes);
  return build({x}, [&](Builder&, Values v) {
    const Var squares = variance(v[0], at, keep, correction);
    return where_positive(squares, [](const Var& s) { return sqrt(s); });
  });
}

Tensor norm(const Operand& x, double p) { return norm(x, p, all_axes_of(x)); }
Tensor norm(const Operand& x, double p, const Dims& axes, bool keep) {
  if (!(p > 0)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("norm: p = {}", p),
                                    .expected = "p above 0, or infinity",
                                    .where = x.where(),
                                    .help = "to count what is not 0, sum(cast(x != 0, DType::i64))"});
  }
  const Dims at = absolute_axes(x, axes);
  return build({x}, [&](Builder&, Values v) {
    const bool nothing = count_along(v[0].shape(), at) == 0;
    const Var value = nothing ? reduce_sum(v[0], at, true) : power_norm(v[0], p, at);
    if (keep || at.empty()) return value;
    Shape shape;
    for (int i = 0, next = 0; i < value.shape().rank(); ++i) {
      const bool reduced = next < at.rank() && at[next] == i;
      reduced ? void(++next) : shape.push_back(value.shape()[i]);
    }
    return reshape(value, shape);
  });
}

Tensor quantile(const Operand& x, double q) {
  require_quantile(x, q, x.tensor().count());
  return build({x}, [&](Builder&, Values v) { return reshape(quantile_along(flattened(v[0]), q, 0), {}); });
}
Tensor quantile(const Operand& x, double q, int axis, bool keep) {
  const int at = absolute_axis(x, axis);
  require_quantile(x, q, x.tensor().shape()[at]);
  return build({x}, [&](Builder&, Values v) {
    const Var value = quantile_along(v[0], q, at);
    return keep ? value : squeeze(value, at);
  });
}
Tensor median(const Operand& x) { return quantile(x, 0.5); }
Tensor median(const Operand& x, int axis, bool keep) { return quantile(x, 0.5, axis, keep); }

Tensor argmax(const Operand& x) {
  const Shape row{x.tensor().count()};
  return build({x}, [&](Builder&, Values v) { return argmax(reshape(v[0], row), 0); });
}
Tensor argmin(const Operand& x) {
  const Shape row{x.tensor().count()};
  return build({x}, [&](Builder&, Values v) { return argmin(reshape(v[0], row), 0); });
}

Tensor any_of(const Operand& x) { return truths(x, all_axes_of(x), false, false); }
Tensor any_of(const Operand& x, const Dims& axes, bool keep) {
  return truths(x, absolute_axes(x, axes), keep, false);
}
Tensor all_of(const Operand& x) { return truths(x, all_axes_of(x), false, true); }
Tensor all_of(const Operand& x, const Dims& axes, bool keep) {
  return truths(x, absolute_axes(x, axes), keep, true);
}
Tensor isnan(const Operand& x) {
  return build({x}, [](Builder&, Values v) { return not_equal(v[0], v[0]); });
}
Tensor isinf(const Operand& x) {
  return compared_with_infinity(x, false, [](const Var& a, const Var& b) { return equal(a, b); });
}
Tensor isfinite(const Operand& x) {
  return compared_with_infinity(x, true, [](const Var& a, const Var& b) { return less(a, b); });
}

Tensor bincount(const Operand& x, std::int64_t length) {
  require_count(length, x);
  return build({x}, [&](Builder& builder, Values v) {
    const Var at = flattened(v[0]);
    return take_add(full(builder, {DType::i64, at.shape()}, 1), at, 0, length);
  });
}
Tensor bincount(const Operand& x, std::int64_t length, const Operand& weights) {
  require_count(length, x);
  return build({x, weights}, [&](Builder&, Values v) {
    const Var at = flattened(v[0]);
    return take_add(flattened(broadcast(v[1], v[0].shape())), at, 0, length);
  });
}

// The answer's binary digits from the highest: each asks one element whether so many are below the value.
Tensor searchsorted(const Operand& sorted, const Operand& values, bool right) {
  if (sorted.tensor().rank() != 1) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("searchsorted: sorted values of shape {}", to_string(sorted.tensor().shape())),
          .expected = "one dimension",
          .where = sorted.where()});
  }
  return build({sorted, values}, [&](Builder& builder, Values v) {
    const std::int64_t n = v[0].shape()[0];
    Var below = full(builder, {DType::i64, v[1].shape()}, 0);
    if (n == 0) return below;
    for (auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); step > 0;
         step /= 2) {
      const Var wanted = add(below, constant_like(below, step));
      const Var last = sub(wanted, constant_like(wanted, 1));
      const Var element = take(v[0], minimum(last, constant_like(last, n - 1)), 0);
      const Var counts = right ? logical_not(ranks_below(v[1], element)) : ranks_below(element, v[1]);
      const Var there = less_equal(wanted, constant_like(wanted, n));
      below = select(logical_and(there, counts), wanted, below);
    }
    return below;
  });
}

}  // namespace tidemark
