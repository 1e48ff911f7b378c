#include "tidemark/ops/codec/delta.h"

#include <fmt/format.h>

#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

// The chain carries the data; values and bytes have dtypes of their own.
constexpr DTypeSet chain_dtype{1u << static_cast<int>(DType::f64)};

QuantFormat require_format(const Call& call, const std::string& name) {
  if (const std::optional<QuantFormat> format = quant_format_named(name)) return *format;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: there is no format \"{}\"", call.op->name, name),
                                  .expected = "a format of quantize, such as int8",
                                  .where = call.where});
}

void require_type(const Call& call, int operand, const Type& expected) {
  const Type& given = call.in[static_cast<std::size_t>(operand)];
  if (given == expected) return;
  fail(given.dtype == expected.dtype ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch,
       {.what = fmt::format("{}: operand {} is {}", call.op->name, operand, to_string(given)),
        .expected = to_string(expected),
        .where = call.where});
}

std::vector<Type> infer_to(const Call& call) {
  require_operands(call, 2);
  const QuantFormat format = require_format(call, call.attrs_as<ToDeltaAttrs>().format);
  if (!is_float(call.in[0].dtype)) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: operand 0 is {}", call.op->name, to_string(call.in[0])),
          .expected = "f32, f64, bf16 or f16",
          .where = call.where});
  }
  const Type chain = delta_chain_type(call.in[0]);
  require_type(call, 1, chain);
  return {quantized_type(format, call.in[0]), chain};
}

std::vector<Type> infer_from(const Call& call) {
  require_operands(call, 2);
  const auto attrs = call.attrs_as<FromDeltaAttrs>();
  const QuantFormat format = require_format(call, attrs.format);
  if (!is_float(attrs.dtype)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: dtype {}", call.op->name, name_of(attrs.dtype)),
                                    .expected = "f32, f64, bf16 or f16",
                                    .where = call.where});
  }
  const Type type{attrs.dtype, call.in[1].shape};
  require_type(call, 0, quantized_type(format, type));
  require_type(call, 1, delta_chain_type(type));
  return {type, call.in[1]};
}

constexpr DType float_dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16};

std::vector<Sample> samples_to() {
  std::vector<Sample> list;
  const auto add = [&](DType dtype, const Shape& shape, QuantFormat format) {
    list.push_back({.in = {{.type = {dtype, shape}}, {.type = {DType::f64, shape}}},
                    .attrs = pack(ToDeltaAttrs{std::string(name_of(format))})});
  };
  for (int i = 0; i < quant_format_count; ++i) {
    for (const DType dtype : float_dtypes) add(dtype, {3, 67}, static_cast<QuantFormat>(i));
  }
  add(DType::f32, {}, QuantFormat::int8);
  add(DType::f32, {0, 3}, QuantFormat::int8);
  return list;
}

std::vector<Sample> samples_from() {
  std::vector<Sample> list;
  for (int i = 0; i < quant_format_count; ++i) {
    const auto format = static_cast<QuantFormat>(i);
    for (const DType dtype : float_dtypes) {
      const Type type{dtype, {2, 65}};
      // Any bytes will do; with these, scales are numbers below 1.
      list.push_back({.in = {{.type = quantized_type(format, type), .low = 0, .high = 63},
                             {.type = delta_chain_type(type)}},
                      .attrs = pack(FromDeltaAttrs{std::string(name_of(format)), dtype})});
    }
  }
  return list;
}

}  // namespace

const Op op::to_delta = {
    .name = "to_delta",
    .derivative = Derivative::zero,
    .dtypes = chain_dtype,
    .results = 2,
    .schema = &schema_of<ToDeltaAttrs>,
    .infer = infer_to,
    .samples = samples_to,
};
const Op op::from_delta = {
    .name = "from_delta",
    .derivative = Derivative::zero,
    .dtypes = chain_dtype,
    .results = 2,
    .schema = &schema_of<FromDeltaAttrs>,
    .infer = infer_from,
    .unpacks = true,
    .samples = samples_from,
};

Type delta_chain_type(const Type& type) { return {DType::f64, type.shape}; }

DeltaStep to_delta(const Var& x, const Var& chain, QuantFormat format) {
  const std::vector<Var> made =
      x.builder().call(op::to_delta, std::vector{x, chain}, pack(ToDeltaAttrs{std::string(name_of(format))}));
  return {made[0], made[1]};
}
UndoneDelta from_delta(const Var& bytes, const Var& chain, QuantFormat format, DType dtype) {
  const std::vector<Var> made = bytes.builder().call(
      op::from_delta, std::vector{bytes, chain}, pack(FromDeltaAttrs{std::string(name_of(format)), dtype}));
  return {made[0], made[1]};
}

double delta_error(QuantFormat format, DType dtype) {
  // With e of a difference and V the largest magnitude, what stands for a value is at most (1 + s) V, and so
  // s V ≤ e (V + (1 + s) V). The rest rounds the difference to f32 and the sum to the dtype.
  const double e = quantization_error(format, dtype == DType::f64 ? DType::f64 : DType::f32,
                                      /*stochastic=*/false, /*mixed=*/true) +
                   0x1p-23;
  const double rounding = dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : 0x1p-24;
  const double share = 2 * e / (1 - e);
  return share + (1 + share) * rounding;
}

}  // namespace tidemark
