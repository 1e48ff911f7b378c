#include "tidemark/ops/scalar/constant.h"

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  const Literal value = call.attrs_as<ConstantAttrs>().value;
  return {{value.dtype, value.shape}};
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  for (int t = 0; t < dtype_count; ++t) {
    list.push_back({.in = {}, .attrs = pack(ConstantAttrs{scalar_literal(static_cast<DType>(t), 1)})});
  }
  return list;
}

}  // namespace

const Op op::constant = {
    .name = "constant",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = any_dtype,
    .schema = &schema_of<ConstantAttrs>,
    .infer = infer,
    .samples = samples,
};

Var constant(Builder& builder, Literal literal) {
  return builder.call1(op::constant, {}, pack(ConstantAttrs{std::move(literal)}));
}
Var constant(Builder& builder, DType dtype, const Number& value) {
  return constant(builder, scalar_literal(dtype, value));
}
Var constant_like(const Var& x, const Number& value) { return constant(x.builder(), x.dtype(), value); }
Var full(Builder& builder, const Type& type, const Number& value) {
  return broadcast(constant(builder, type.dtype, value), type.shape);
}
Var zeros(Builder& builder, const Type& type) { return full(builder, type, 0); }
Var zeros_like(const Var& x) { return zeros(x.builder(), x.type()); }
Var ones_like(const Var& x) { return full(x.builder(), x.type(), 1); }

}  // namespace tidemark
