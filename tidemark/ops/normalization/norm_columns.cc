#include "tidemark/ops/normalization/norm_columns.h"

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

enum class ColumnPart { data, column, number };  // like x; an element of x for each column; a number for each

void require_columns(const Call& call, std::initializer_list<ColumnPart> parts) {
  require_operands(call, static_cast<int>(parts.size()));
  const Type& x = call.in[0];
  if (!is_float(x.dtype) || x.rank() < 2) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: x is {}", call.op->name, to_string(x)),
                                     .expected = "a floating-point tensor (…, C)",
                                     .where = call.where});
  }
  std::size_t i = 0;
  for (const ColumnPart part : parts) {
    const Type type =
        part == ColumnPart::data
            ? x
            : Type{part == ColumnPart::column ? x.dtype : statistics_dtype(x.dtype), {x.shape.back()}};
    if (call.in[i] != type) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("{}: operand {} is {}", call.op->name, i, to_string(call.in[i])),
            .expected = fmt::format("{}, for x of type {}", to_string(type), to_string(x)),
            .where = call.where});
    }
    ++i;
  }
}
Type per_column_type(const Call& call) { return {call.in[0].dtype, {call.in[0].shape.back()}}; }
Type column_number_type(const Call& call) {
  return {statistics_dtype(call.in[0].dtype), {call.in[0].shape.back()}};
}

std::vector<Type> infer_column_statistics(const Call& call) {
  require_columns(call, {ColumnPart::data, ColumnPart::column});
  return std::vector<Type>(3, column_number_type(call));
}
std::vector<Type> infer_normalize_columns(const Call& call) {
  require_columns(call, {ColumnPart::data, ColumnPart::number, ColumnPart::number, ColumnPart::column});
  return {call.in[0]};
}
std::vector<Type> infer_column_slopes(const Call& call) {
  if (call.in.size() == masked_slopes_operands) {
    require_columns(call, {ColumnPart::data, ColumnPart::number, ColumnPart::number, ColumnPart::data,
                           ColumnPart::number, ColumnPart::column});
  } else {
    require_columns(call, {ColumnPart::data, ColumnPart::number, ColumnPart::number, ColumnPart::data});
  }
  return {per_column_type(call), per_column_type(call), column_number_type(call), column_number_type(call)};
}
std::vector<Type> infer_normalize_columns_grad(const Call& call) {
  if (call.in.size() == masked_grad_operands) {
    require_columns(call, {ColumnPart::data, ColumnPart::data, ColumnPart::number, ColumnPart::number,
                           ColumnPart::number, ColumnPart::number, ColumnPart::column});
  } else {
    require_columns(call, {ColumnPart::data, ColumnPart::data, ColumnPart::number, ColumnPart::number,
                           ColumnPart::number, ColumnPart::number});
  }
  return {call.in[0]};
}

// What expansions are made of: values in the dtype that computes.
struct ColumnMath {
  DType dtype;
  explicit ColumnMath(const Var& x) : dtype(statistics_dtype(x.dtype())) {}
  Var operator()(const Var& v) const { return cast(v, dtype); }
  Var sum(const Var& v) const { return reduce_sum(v, rows_of(v)); }
  Var mean(const Var& v) const { return reduce_mean(v, rows_of(v)); }

 private:
  static Dims rows_of(const Var& v) {
    Dims axes;
    for (int d = 0; d + 1 < v.shape().rank(); ++d) axes.push_back(d);
    return axes;
  }
};
Var normalized(const Var& x, const Var& mean, const Var& scale, const Var& bias) {
  const ColumnMath wide(x);
  return cast((wide(x) - mean) * scale + wide(bias), x.dtype());
}
// g where what was normalised is above zero.
Var masked(const Var& g, const Var& normalized) {
  const Var zero = zeros(g.builder(), {g.dtype(), {}});
  return select(greater(normalized, zero), g, zero);
}

std::vector<Var> expand_column_statistics(const RuleCall& r) {
  const ColumnMath wide(r.in[0]);
  const Var x = wide(r.in[0]), mean = wide.mean(x), variance = wide.mean(square(x - mean));
  return {mean, variance, wide(r.in[1]) * rsqrt(variance + r.call.attrs_as<BatchNormAttrs>().eps)};
}
std::vector<Var> expand_normalize_columns(const RuleCall& r) {
  return {normalized(r.in[0], r.in[1], r.in[2], r.in[3])};
}
std::vector<Var> expand_column_slopes(const RuleCall& r) {
  const ColumnMath wide(r.in[0]);
  const bool is_masked = r.in.size() == masked_slopes_operands;
  const Var &x = r.in[0], &mean = r.in[1];
  const Var g = wide(is_masked ? masked(r.in[3], normalized(x, mean, r.in[4], r.in[5])) : r.in[3]);
  const Var variance = r.in[2] + r.call.attrs_as<BatchNormAttrs>().eps;
  const Var plain = wide.sum(g), product = wide.sum(g * (wide(x) - mean));
  const double rows = static_cast<double>(columns_form(r.call).rows);
  return {cast(product * rsqrt(variance), x.dtype()), cast(plain, x.dtype()), plain / rows,
          product / rows / variance};
}
std::vector<Var> expand_normalize_columns_grad(const RuleCall& r) {
  const ColumnMath wide(r.in[0]);
  const bool is_masked = r.in.size() == masked_grad_operands;
  const Var &x = r.in[0], &mean = r.in[2], &scale = r.in[3], &a = r.in[4], &b = r.in[5];
  const Var g = wide(is_masked ? masked(r.in[1], normalized(x, mean, scale, r.in[6])) : r.in[1]);
  return {cast((g - a - (wide(x) - mean) * b) * scale, x.dtype())};
}

// Operands by their parts; numbers are as variances and scales are.
Sample column_sample(const Shape& x, std::initializer_list<ColumnPart> parts, bool smooth, Attrs attrs) {
  Sample sample{.attrs = std::move(attrs), .smooth = smooth, .tolerance = 10};
  for (const ColumnPart part : parts) {
    sample.in.push_back(part == ColumnPart::data ? Sample::Operand{.type = {DType::f64, x}}
                        : part == ColumnPart::column
                            ? Sample::Operand{.type = {DType::f64, {x.back()}}}
                            : Sample::Operand{.type = {DType::f64, {x.back()}}, .low = 0.5, .high = 1.5});
  }
  return sample;
}
std::vector<Sample> column_samples(std::initializer_list<ColumnPart> parts, bool smooth, const Attrs& attrs) {
  return {column_sample({7, 4}, parts, smooth, attrs), column_sample({2, 3, 5}, parts, smooth, attrs)};
}
std::vector<Sample> with_more(std::vector<Sample> some, std::vector<Sample> more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

std::vector<Sample> samples_column_statistics() {
  return column_samples({ColumnPart::data, ColumnPart::column}, true, pack(BatchNormAttrs{}));
}
std::vector<Sample> samples_normalize_columns() {
  return column_samples({ColumnPart::data, ColumnPart::number, ColumnPart::number, ColumnPart::column}, true,
                        {});
}
std::vector<Sample> samples_column_slopes() {
  return with_more(
      column_samples({ColumnPart::data, ColumnPart::number, ColumnPart::number, ColumnPart::data}, true,
                     pack(BatchNormAttrs{})),
      column_samples({ColumnPart::data, ColumnPart::number, ColumnPart::number, ColumnPart::data,
                      ColumnPart::number, ColumnPart::column},
                     false, pack(BatchNormAttrs{.eps = 0.1})));
}
std::vector<Sample> samples_normalize_columns_grad() {
  constexpr ColumnPart number = ColumnPart::number;
  return with_more(
      column_samples({ColumnPart::data, ColumnPart::data, number, number, number, number}, true, {}),
      column_samples({ColumnPart::data, ColumnPart::data, number, number, number, number, ColumnPart::column},
                     false, {}));
}

}  // namespace

ColumnsForm columns_form(const Call& call) {
  const Shape& x = call.in[0].shape;
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < x.rank(); ++d) rows *= x[d];
  return {.rows = rows, .columns = x.back()};
}

// They take 16-bit data too, but then numbers in f32, a mixture that samples cannot say.
const Op op::column_statistics = {.name = "column_statistics",
                                  .kind = OpKind::reduction,
                                  .dtypes = wide_floats,
                                  .results = 3,
                                  .schema = &schema_of<BatchNormAttrs>,
                                  .infer = infer_column_statistics,
                                  .expand = expand_column_statistics,
                                  .samples = samples_column_statistics};
const Op op::normalize_columns = {.name = "normalize_columns",
                                  .dtypes = wide_floats,
                                  .infer = infer_normalize_columns,
                                  .expand = expand_normalize_columns,
                                  .samples = samples_normalize_columns};
const Op op::column_slopes = {.name = "column_slopes",
                              .kind = OpKind::reduction,
                              .dtypes = wide_floats,
                              .results = 4,
                              .schema = &schema_of<BatchNormAttrs>,
                              .infer = infer_column_slopes,
                              .expand = expand_column_slopes,
                              .samples = samples_column_slopes};
const Op op::normalize_columns_grad = {.name = "normalize_columns_grad",
                                       .dtypes = wide_floats,
                                       .infer = infer_normalize_columns_grad,
                                       .expand = expand_normalize_columns_grad,
                                       .samples = samples_normalize_columns_grad};

}  // namespace tidemark
