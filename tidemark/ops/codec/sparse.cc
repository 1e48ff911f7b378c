#include "tidemark/ops/codec/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tidemark/ir/failure.h"
#include "tidemark/ir/limits.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

constexpr DTypeSet byte_dtype{1u << static_cast<int>(DType::u8)};

Type sparse_type(double share, const Type& type) { return {DType::u8, {sparse_bytes(share, type)}}; }

void require_share(const Call& call, double share) {
  if (share > 0 && share <= 1) return;
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("{}: room for {} of the elements", call.op->name, share),
        .expected = "a share above 0 and at most 1, such as 0.5",
        .where = call.where});
}

std::vector<Type> infer_to(const Call& call) {
  require_operands(call, 1);
  const double share = call.attrs_as<ToSparseAttrs>().share;
  require_share(call, share);
  return {sparse_type(share, call.in[0])};
}

std::vector<Type> infer_from(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<FromSparseAttrs>();
  require_share(call, attrs.share);
  const Type type{attrs.dtype, attrs.shape};
  require_within_limits(type, fmt::format("{}: ", call.op->name), call.where);
  if (call.in[0] != sparse_type(attrs.share, type)) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: {} for {} with room for {} of it", call.op->name, to_string(call.in[0]),
                              to_string(type), attrs.share),
          .expected = to_string(sparse_type(attrs.share, type)),
          .where = call.where,
          .help = "give the share, dtype and shape of what was packed"});
  }
  return {type};
}

Failure failure(const Call&) { return {Fails::early}; }

std::vector<Sample> samples_to() {
  std::vector<Sample> list;
  for (const Shape& shape : {Shape{3, 67}, Shape{5}, Shape{}, Shape{0, 3}})
    list.push_back({.in = {{.type = {DType::f64, shape}}}, .attrs = pack(ToSparseAttrs{1})});
  // Zeros, so that there is room for them, and for nothing else.
  list.push_back(
      {.in = {{.type = {DType::i32, {3, 67}}, .low = 0, .high = 0}}, .attrs = pack(ToSparseAttrs{0.1})});
  return list;
}

// Of bytes that are 0 or 1, with one bit in eight set at most: there is room for them.
std::vector<Sample> samples_from() {
  std::vector<Sample> list;
  for (int t = 0; t < dtype_count; ++t) {
    const Type type{static_cast<DType>(t), {2, 65}};
    list.push_back({.in = {{.type = sparse_type(0.5, type), .low = 0, .high = 1}},
                    .attrs = pack(FromSparseAttrs{0.5, type.dtype, type.shape})});
  }
  return list;
}

}  // namespace

const Op op::to_sparse = {
    .name = "to_sparse",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = any_dtype,
    .schema = &schema_of<ToSparseAttrs>,
    .infer = infer_to,
    .fails = failure,
    .samples = samples_to,
};
const Op op::from_sparse = {
    .name = "from_sparse",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = byte_dtype,
    .schema = &schema_of<FromSparseAttrs>,
    .infer = infer_from,
    .unpacks = true,
    .samples = samples_from,
};

std::int64_t sparse_capacity(double share, std::int64_t count) {
  return std::min(count, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count))));
}
std::int64_t sparse_bytes(double share, const Type& type) {
  return sparse_capacity(share, type.count()) * size_of(type.dtype) + (type.count() + 7) / 8;
}

Var to_sparse(const Var& x, double share) {
  return x.builder().call1(op::to_sparse, {x}, pack(ToSparseAttrs{share}));
}
Var from_sparse(const Var& bytes, double share, const Type& type) {
  return bytes.builder().call1(op::from_sparse, {bytes},
                               pack(FromSparseAttrs{share, type.dtype, type.shape}));
}

}  // namespace tidemark
