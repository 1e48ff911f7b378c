#include "tidemark/ops/codec/low_rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/ir/limits.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

Type factors_type(std::int64_t rank, const Type& type) {
  return {type.dtype, {low_rank_count(rank, type.shape)}};
}

void require_matrix(const Call& call, std::int64_t rank, const Shape& shape) {
  if (rank < 1) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: a rank of {}", call.op->name, rank),
                                    .expected = "at least 1",
                                    .where = call.where});
  }
  if (shape.rank() < 1) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: a scalar is no matrix", call.op->name),
                                     .expected = "at least one axis; the last one are the columns",
                                     .where = call.where});
  }
}

std::vector<Type> infer_to(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const std::int64_t rank = call.attrs_as<ToLowRankAttrs>().rank;
  require_matrix(call, rank, call.in[0].shape);
  return {factors_type(rank, call.in[0])};
}

std::vector<Type> infer_from(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<FromLowRankAttrs>();
  require_matrix(call, attrs.rank, attrs.shape);
  const Type type{call.in[0].dtype, attrs.shape};
  require_within_limits(type, fmt::format("{}: ", call.op->name), call.where);
  if (call.in[0] != factors_type(attrs.rank, type)) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: factors {} of rank {} for {}", call.op->name, to_string(call.in[0]),
                              attrs.rank, to_string(attrs.shape)),
          .expected = to_string(factors_type(attrs.rank, type)),
          .where = call.where,
          .help = "give the rank and shape of what the factors were made of"});
  }
  return {type};
}

std::vector<Sample> samples_to() {
  std::vector<Sample> list;
  for (const Shape& shape : {Shape{12, 9}, Shape{2, 3, 5}, Shape{7}, Shape{0, 3}})
    list.push_back({.in = {{.type = {DType::f64, shape}}}, .attrs = pack(ToLowRankAttrs{2})});
  return list;
}

std::vector<Sample> samples_from() {
  std::vector<Sample> list;
  for (const Shape& shape : {Shape{4, 3, 5}, Shape{7}, Shape{0, 3}}) {
    list.push_back(
        {.in = {{.type = factors_type(2, {DType::f64, shape})}}, .attrs = pack(FromLowRankAttrs{2, shape})});
  }
  return list;
}

}  // namespace

const Op op::to_low_rank = {
    .name = "to_low_rank",
    .kind = OpKind::contraction,
    .derivative = Derivative::zero,
    .schema = &schema_of<ToLowRankAttrs>,
    .infer = infer_to,
    .samples = samples_to,
};
const Op op::from_low_rank = {
    .name = "from_low_rank",
    .kind = OpKind::contraction,
    .derivative = Derivative::zero,
    .schema = &schema_of<FromLowRankAttrs>,
    .infer = infer_from,
    .unpacks = true,
    .samples = samples_from,
};

MatrixSizes low_rank_sizes(std::int64_t rank, const Shape& shape) {
  MatrixSizes sizes;
  sizes.cols = shape.back();
  sizes.rows = sizes.cols == 0 ? 0 : element_count(shape) / sizes.cols;
  sizes.rank = std::min({rank, sizes.rows, sizes.cols});
  return sizes;
}
std::int64_t low_rank_count(std::int64_t rank, const Shape& shape) {
  const MatrixSizes sizes = low_rank_sizes(rank, shape);
  return sizes.rank * (sizes.rows + sizes.cols);
}

Var to_low_rank(const Var& x, std::int64_t rank) {
  return x.builder().call1(op::to_low_rank, {x}, pack(ToLowRankAttrs{rank}));
}
Var from_low_rank(const Var& factors, std::int64_t rank, const Type& type) {
  return factors.builder().call1(op::from_low_rank, {factors}, pack(FromLowRankAttrs{rank, type.shape}));
}

}  // namespace tidemark
