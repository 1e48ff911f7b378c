#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 0);
  const auto attrs = call.attrs_as<IotaAttrs>();
  require_axis(call, attrs.axis, attrs.shape.rank());
  if (attrs.dtype == DType::boolean) {
    fail(ErrorCode::dtype_mismatch,
         {.what = "iota: bool does not count", .expected = "a number", .where = call.where});
  }
  return {{attrs.dtype, attrs.shape}};
}

std::vector<Sample> samples() {
  return {{.in = {}, .attrs = pack(IotaAttrs{DType::i64, {5}, 0})},
          {.in = {}, .attrs = pack(IotaAttrs{DType::f32, {2, 3, 2}, 1})},
          {.in = {}, .attrs = pack(IotaAttrs{DType::bf16, {2, 0}, 0})}};
}

}  // namespace

const Op op::iota = {
    .name = "iota",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = numbers,
    .schema = &schema_of<IotaAttrs>,
    .infer = infer,
    .samples = samples,
};

Var iota(Builder& builder, DType dtype, const Shape& shape, int axis) {
  return builder.call1(op::iota, {}, pack(IotaAttrs{dtype, shape, axis}));
}

}  // namespace tidemark
