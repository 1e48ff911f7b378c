#include <fmt/format.h>

#include "tidemark/ir/failure.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_index_dtype(call, 0);
  const auto attrs = call.attrs_as<OneHotAttrs>();
  Shape shape = call.in[0].shape;
  if (attrs.classes < 0 || shape.rank() == max_rank) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("one_hot: {} classes for indices of shape {}", attrs.classes, to_string(shape)),
          .expected = fmt::format("0 or more classes, and indices of rank below {}", max_rank),
          .where = call.where});
  }
  shape.push_back(attrs.classes);
  return {{attrs.dtype, shape}};
}

Failure failure(const Call& call) {
  return {Fails::early, IndexCheck{.operand = 0, .bound = call.attrs_as<OneHotAttrs>().classes}};
}

std::vector<Sample> samples() {
  return {
      {.in = {{.type = {DType::i64, {3}}, .low = 0, .high = 4}}, .attrs = pack(OneHotAttrs{5, DType::f64})},
      {.in = {{.type = {DType::i32, {2, 2}}, .low = 0, .high = 2}},
       .attrs = pack(OneHotAttrs{3, DType::bf16})},
      {.in = {{.type = {DType::i64, {}}, .low = 0, .high = 2}},
       .attrs = pack(OneHotAttrs{3, DType::boolean})}};
}

}  // namespace

const Op op::one_hot = {
    .name = "one_hot",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = integers,
    .schema = &schema_of<OneHotAttrs>,
    .infer = infer,
    .fails = failure,
    .samples = samples,
};

Var one_hot(const Var& indices, std::int64_t classes, DType dtype) {
  return indices.builder().call1(op::one_hot, {indices}, pack(OneHotAttrs{classes, dtype}));
}

}  // namespace tidemark
