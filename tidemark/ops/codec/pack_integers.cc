#include "tidemark/ops/codec/pack_integers.h"

#include <fmt/format.h>

#include "tidemark/ir/limits.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

constexpr DTypeSet byte_dtype{1u << static_cast<int>(DType::u8)};
constexpr DTypeSet wide_integers{integers.bits & ~byte_dtype.bits};

Type packed_type(std::int64_t bits, const Type& type) { return {DType::u8, {packed_bytes(bits, type)}}; }

// Wide codes are of wide integers; one bit tells 0 from all else in any dtype.
void require_bits(const Call& call, std::int64_t bits, DType dtype) {
  if (bits != 1 && bits != 8 && bits != 16 && bits != 32) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: codes of {} bits", call.op->name, bits),
                                    .expected = "1, 8, 16 or 32",
                                    .where = call.where});
  }
  if (bits > 1 && !wide_integers.contains(dtype)) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: {} in codes of {} bits", call.op->name, name_of(dtype), bits),
          .expected = "i32 or i64, or a single bit",
          .where = call.where});
  }
}

std::vector<Type> infer_pack(const Call& call) {
  require_operands(call, 1);
  const std::int64_t bits = call.attrs_as<PackIntegersAttrs>().bits;
  require_bits(call, bits, call.in[0].dtype);
  return {packed_type(bits, call.in[0])};
}

std::vector<Type> infer_unpack(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<UnpackIntegersAttrs>();
  require_bits(call, attrs.bits, attrs.dtype);
  const Type type{attrs.dtype, attrs.shape};
  require_within_limits(type, fmt::format("{}: ", call.op->name), call.where);
  if (call.in[0] != packed_type(attrs.bits, type)) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: {} for {} in codes of {} bits", call.op->name,
                                                         to_string(call.in[0]), to_string(type), attrs.bits),
                                     .expected = to_string(packed_type(attrs.bits, type)),
                                     .where = call.where,
                                     .help = "give the bits, dtype and shape of what was packed"});
  }
  return {type};
}

std::vector<Sample> samples_pack() {
  std::vector<Sample> list;
  for (const Shape& shape : {Shape{3, 67}, Shape{5}, Shape{}, Shape{0, 3}})
    list.push_back({.in = {{.type = {DType::f64, shape}}}, .attrs = pack(PackIntegersAttrs{1})});
  for (const std::int64_t bits : {8, 16, 32}) {
    for (const DType dtype : {DType::i32, DType::i64}) {
      list.push_back({.in = {{.type = {dtype, {3, 67}}, .low = 0, .high = 255}},
                      .attrs = pack(PackIntegersAttrs{bits})});
    }
  }
  return list;
}

std::vector<Sample> samples_unpack() {
  std::vector<Sample> list;
  const auto add = [&](std::int64_t bits, const Type& type) {
    list.push_back({.in = {{.type = packed_type(bits, type), .low = 0, .high = 127}},
                    .attrs = pack(UnpackIntegersAttrs{bits, type.dtype, type.shape})});
  };
  for (int t = 0; t < dtype_count; ++t) add(1, {static_cast<DType>(t), {2, 65}});
  for (const std::int64_t bits : {8, 16, 32}) {
    for (const DType dtype : {DType::i32, DType::i64}) add(bits, {dtype, {2, 65}});
  }
  return list;
}

}  // namespace

const Op op::pack_integers = {
    .name = "pack_integers",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = any_dtype,
    .schema = &schema_of<PackIntegersAttrs>,
    .infer = infer_pack,
    .samples = samples_pack,
};
const Op op::unpack_integers = {
    .name = "unpack_integers",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = byte_dtype,
    .schema = &schema_of<UnpackIntegersAttrs>,
    .infer = infer_unpack,
    .unpacks = true,
    .samples = samples_unpack,
};

std::int64_t packed_bytes(std::int64_t bits, const Type& type) {
  return bits == 1 ? (type.count() + 7) / 8 : type.count() * (bits / 8);
}

Var pack_integers(const Var& x, std::int64_t bits) {
  return x.builder().call1(op::pack_integers, {x}, pack(PackIntegersAttrs{bits}));
}
Var unpack_integers(const Var& bytes, std::int64_t bits, const Type& type) {
  return bytes.builder().call1(op::unpack_integers, {bytes},
                               pack(UnpackIntegersAttrs{bits, type.dtype, type.shape}));
}

}  // namespace tidemark
