#include "tidemark/ops/quantization/quantize.h"

#include <fmt/format.h>

#include <limits>

#include "tidemark/ir/limits.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

constexpr DTypeSet byte_dtype{1u << static_cast<int>(DType::u8)};

QuantFormat require_format(const Call& call, const std::string& name) {
  if (const std::optional<QuantFormat> format = quant_format_named(name)) return *format;
  std::string known;
  for (const QuantFacts& facts : quant_facts) known += (known.empty() ? "" : ", ") + std::string(facts.name);
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("{}: there is no format \"{}\"", call.op->name, name),
        .expected = "one of " + known,
        .where = call.where,
        .help = "int8 takes a quarter of f32, bf16 half with an error relative to each number"});
}

std::vector<Type> infer_quantize(const Call& call) {
  if (call.in.size() != 2) require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<QuantizeAttrs>();
  const QuantFormat format = require_format(call, attrs.format);
  if (call.in.size() == 2 && call.in[1] != Type{DType::i64, {}}) {
    fail(call.in[1].dtype == DType::i64 ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: operand 1 is {}", call.op->name, to_string(call.in[1])),
          .expected = "i64[]: a key, for stochastic rounding",
          .where = call.where,
          .help = "make keys with key(seed), split_key or fold_in; without one, rounding is to nearest"});
  }
  if (attrs.stream < 0 || attrs.stream > std::numeric_limits<std::uint32_t>::max()) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: stream {}", call.op->name, attrs.stream),
                                    .expected = "0 ≤ stream < 2³²",
                                    .where = call.where});
  }
  return {quantized_type(format, call.in[0])};
}

std::vector<Type> infer_dequantize(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<DequantizeAttrs>();
  const QuantFormat format = require_format(call, attrs.format);
  if (!is_float(attrs.dtype)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: dtype {}", call.op->name, name_of(attrs.dtype)),
                                    .expected = "f32, f64, bf16 or f16",
                                    .where = call.where});
  }
  const Type type{attrs.dtype, attrs.shape};
  require_within_limits(type, fmt::format("{}: ", call.op->name), call.where);
  if (call.in[0] != quantized_type(format, type)) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: {} bytes for {} in {}", call.op->name, to_string(call.in[0]),
                              to_string(type), attrs.format),
          .expected = to_string(quantized_type(format, type)),
          .where = call.where,
          .help = "give the format, dtype and shape of what was quantized"});
  }
  return {type};
}

std::vector<Sample> samples_quantize() {
  std::vector<Sample> list;
  const Sample::Operand key{.type = {DType::i64, {}}, .low = -1000, .high = 1000};
  for (const QuantFacts& facts : quant_facts) {
    const Attrs attrs = pack(QuantizeAttrs{.format = std::string(facts.name)});
    list.push_back({.in = {{.type = {DType::f64, {3, 67}}}}, .attrs = attrs});  // a block and a part
    list.push_back({.in = {{.type = {DType::f64, {5}}}, key}, .attrs = attrs});
  }
  list.push_back({.in = {{.type = {DType::f64, {}}}}, .attrs = pack(QuantizeAttrs{})});
  list.push_back({.in = {{.type = {DType::f64, {0, 3}}}}, .attrs = pack(QuantizeAttrs{})});
  return list;
}

std::vector<Sample> samples_dequantize() {
  std::vector<Sample> list;
  for (int i = 0; i < quant_format_count; ++i) {
    const auto format = static_cast<QuantFormat>(i);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      const Type type{dtype, {2, 65}};
      // Any bytes will do; with these, scales are numbers below 1.
      list.push_back({.in = {{.type = quantized_type(format, type), .low = 0, .high = 63}},
                      .attrs = pack(DequantizeAttrs{
                          .format = std::string(name_of(format)), .dtype = dtype, .shape = type.shape})});
    }
  }
  return list;
}

}  // namespace

const Op op::quantize = {
    .name = "quantize",
    .derivative = Derivative::zero,
    .schema = &schema_of<QuantizeAttrs>,
    .infer = infer_quantize,
    .samples = samples_quantize,
};
const Op op::dequantize = {
    .name = "dequantize",
    .derivative = Derivative::zero,
    .dtypes = byte_dtype,
    .schema = &schema_of<DequantizeAttrs>,
    .infer = infer_dequantize,
    .unpacks = true,
    .samples = samples_dequantize,
};

Var quantize(const Var& x, QuantFormat format) {
  return x.builder().call1(op::quantize, {x}, pack(QuantizeAttrs{.format = std::string(name_of(format))}));
}
Var quantize(const Var& x, QuantFormat format, const Var& key, std::int64_t stream) {
  return x.builder().call1(op::quantize, {x, key},
                           pack(QuantizeAttrs{.format = std::string(name_of(format)), .stream = stream}));
}
Var dequantize(const Var& bytes, QuantFormat format, const Type& type) {
  return bytes.builder().call1(
      op::dequantize, {bytes},
      pack(
          DequantizeAttrs{.format = std::string(name_of(format)), .dtype = type.dtype, .shape = type.shape}));
}

}  // namespace tidemark
