#include "tidemark/ops/quantization/fp8.h"

#include <fmt/format.h>

#include "tidemark/ir/limits.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

constexpr std::string_view names[] = {"e4m3", "e5m2"};
constexpr DTypeSet byte_dtype{1u << static_cast<int>(DType::u8)};
constexpr Type scale_type{DType::f32, {}};

Fp8Format require_format(const Call& call, const std::string& name) {
  if (const std::optional<Fp8Format> format = fp8_format_named(name)) return *format;
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("{}: there is no format \"{}\"", call.op->name, name),
        .expected = "e4m3 or e5m2",
        .where = call.where,
        .help = "e4m3 has a digit more, e5m2 a range of 32 powers of two instead of 18"});
}

void require_scale(const Call& call, int operand) {
  const Type& type = call.in[static_cast<std::size_t>(operand)];
  if (type == scale_type) return;
  fail(type.dtype == DType::f32 ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch,
       {.what = fmt::format("{}: operand {} is {}", call.op->name, operand, to_string(type)),
        .expected = "f32[]: what fp8_scale gives",
        .where = call.where});
}

std::vector<Type> infer_scale(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  require_format(call, call.attrs_as<Fp8ScaleAttrs>().format);
  return {scale_type};
}

std::vector<Type> infer_codes(const Call& call) {
  require_operands(call, 2);
  require_data_dtype(call, 0);
  require_scale(call, 1);
  const auto attrs = call.attrs_as<Fp8CodesAttrs>();
  require_format(call, attrs.format);
  if (attrs.rows < 0 || attrs.rows > call.in[0].rank()) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: {} dimensions of an operand of rank {} are rows",
                                                        call.op->name, attrs.rows, call.in[0].rank()),
                                    .expected = fmt::format("0 to {}", call.in[0].rank()),
                                    .where = call.where});
  }
  const Fp8CodesForm form = fp8_codes_form(call);
  return {{DType::u8, form.transposed ? Shape{form.columns, form.rows} : Shape{form.rows, form.columns}}};
}

std::vector<Type> infer_product(const Call& call) {
  if (call.in.size() != 5) require_operands(call, 4);
  const auto attrs = call.attrs_as<Fp8ProductAttrs>();
  require_format(call, attrs.lhs);
  require_format(call, attrs.rhs);
  require_data_dtype(call, 0);
  require_data_dtype(call, 1);
  require_scale(call, 2);
  require_scale(call, 3);
  if (!is_float(attrs.dtype)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: dtype {}", call.op->name, name_of(attrs.dtype)),
                                    .expected = "f32, f64, bf16 or f16",
                                    .where = call.where});
  }
  const Type &lhs = call.in[0], &rhs = call.in[1], result{attrs.dtype, attrs.shape};
  require_within_limits(result, fmt::format("{}: ", call.op->name), call.where);
  if (lhs.rank() != 2 || rhs.rank() != 2 || lhs.shape[1] != rhs.shape[1]) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: codes {} and {}", call.op->name,
                                                         to_string(lhs.shape), to_string(rhs.shape)),
                                     .expected = "two matrices whose rows are equally long",
                                     .where = call.where});
  }
  if (result.count() != lhs.shape[0] * rhs.shape[0]) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: {} for a product of {} and {} rows", call.op->name, to_string(result),
                              lhs.shape[0], rhs.shape[0]),
          .expected = fmt::format("a shape of {} elements", lhs.shape[0] * rhs.shape[0]),
          .where = call.where});
  }
  if (call.in.size() == 5 && call.in[4] != result) {
    fail(call.in[4].dtype != result.dtype ? ErrorCode::dtype_mismatch : ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: the product is {}, what it is added to is {}", call.op->name,
                              to_string(result), to_string(call.in[4])),
          .expected = "equal types",
          .where = call.where});
  }
  return {result};
}

std::vector<Sample> samples_scale() {
  std::vector<Sample> list;
  for (const std::string_view name : names) {
    const Attrs attrs = pack(Fp8ScaleAttrs{.format = std::string(name)});
    list.push_back({.in = {{.type = {DType::f64, {3, 67}}}}, .attrs = attrs});
    list.push_back({.in = {{.type = {DType::f64, {0}}}}, .attrs = attrs});
  }
  list.push_back({.in = {{.type = {DType::f64, {}}}}, .attrs = pack(Fp8ScaleAttrs{})});
  return list;
}

std::vector<Sample> samples_codes() {
  std::vector<Sample> list;
  const Sample::Operand scale{.type = scale_type, .low = 0.01, .high = 0.02};
  for (const std::string_view name : names) {
    for (const bool transposed : {false, true}) {
      for (const std::int64_t rows : {1, 2}) {
        list.push_back({.in = {{.type = {DType::f64, {3, 5, 7}}}, scale},
                        .attrs = pack(Fp8CodesAttrs{std::string(name), rows, transposed})});
      }
    }
  }
  list.push_back({.in = {{.type = {DType::f64, {4, 0}}}, scale}, .attrs = pack(Fp8CodesAttrs{})});
  list.push_back({.in = {{.type = {DType::f64, {4}}}, scale}, .attrs = pack(Fp8CodesAttrs{.rows = 0})});
  return list;
}

std::vector<Sample> samples_product() {
  std::vector<Sample> list;
  constexpr double largest = 120;  // codes up to there are numbers in both formats
  const auto codes = [](std::int64_t rows, std::int64_t depth) {
    return Sample::Operand{.type = {DType::u8, {rows, depth}}, .low = 0, .high = largest};
  };
  const Sample::Operand scale{.type = scale_type, .low = 0.01, .high = 0.02};
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, const Fp8ProductAttrs& attrs,
                       bool adds = false) {
    Sample sample{.in = {codes(m, k), codes(n, k), scale, scale}, .attrs = pack(attrs)};
    if (adds) sample.in.push_back({.type = {attrs.dtype, attrs.shape}});
    list.push_back(std::move(sample));
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    add(6, 5, 9, {.dtype = dtype, .shape = {2, 3, 5}});
  add(4, 3, 7, {.lhs = "e5m2", .dtype = DType::bf16, .shape = {4, 3}}, true);
  add(4, 3, 7, {.rhs = "e5m2", .dtype = DType::f32, .shape = {12}}, true);
  add(4, 0, 7, {.dtype = DType::f32, .shape = {4, 0}});
  add(2, 3, 0, {.dtype = DType::f32, .shape = {2, 3}});
  return list;
}

}  // namespace

std::string_view name_of(Fp8Format format) { return names[static_cast<std::size_t>(format)]; }
std::optional<Fp8Format> fp8_format_named(std::string_view name) {
  if (name == names[0]) return Fp8Format::e4m3;
  if (name == names[1]) return Fp8Format::e5m2;
  return std::nullopt;
}

Fp8Format fp8_scale_format(const Call& call) {
  return *fp8_format_named(call.attrs_as<Fp8ScaleAttrs>().format);
}
Fp8CodesForm fp8_codes_form(const Call& call) {
  const auto attrs = call.attrs_as<Fp8CodesAttrs>();
  Fp8CodesForm form{
      .format = *fp8_format_named(attrs.format), .rows = 1, .columns = 1, .transposed = attrs.transposed};
  const Shape& shape = call.in[0].shape;
  for (int d = 0; d < shape.rank(); ++d) (d < attrs.rows ? form.rows : form.columns) *= shape[d];
  return form;
}
Fp8ProductForm fp8_product_form(const Call& call) {
  const auto attrs = call.attrs_as<Fp8ProductAttrs>();
  return {.lhs = *fp8_format_named(attrs.lhs),
          .rhs = *fp8_format_named(attrs.rhs),
          .m = call.in[0].shape[0],
          .n = call.in[1].shape[0],
          .k = call.in[0].shape[1]};
}

const Op op::fp8_scale = {
    .name = "fp8_scale",
    .kind = OpKind::reduction,
    .derivative = Derivative::zero,
    .schema = &schema_of<Fp8ScaleAttrs>,
    .infer = infer_scale,
    .samples = samples_scale,
};
const Op op::fp8_codes = {
    .name = "fp8_codes",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .schema = &schema_of<Fp8CodesAttrs>,
    .infer = infer_codes,
    .samples = samples_codes,
};
const Op op::fp8_product = {
    .name = "fp8_product",
    .kind = OpKind::contraction,
    .derivative = Derivative::undefined,
    .dtypes = byte_dtype,
    .schema = &schema_of<Fp8ProductAttrs>,
    .infer = infer_product,
    .samples = samples_product,
};

}  // namespace tidemark
