#include "tidemark/ops/scalar/cast.h"

#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  return {{call.attrs_as<CastAttrs>().dtype, call.in[0].shape}};
}

// Between floats the Jacobian is the identity. From or to integers and bool the result is piecewise constant.
std::vector<Var> carry(const RuleCall& rule, DType to) {
  if (!rule.seed[0] || !is_float(rule.call.in[0].dtype) || !is_float(rule.call.out[0].dtype)) return {Var()};
  return {cast(rule.seed[0], to)};
}
std::vector<Var> vjp(const RuleCall& rule) { return carry(rule, rule.call.in[0].dtype); }
std::vector<Var> jvp(const RuleCall& rule) { return carry(rule, rule.call.out[0].dtype); }

std::vector<Sample> samples() {
  std::vector<Sample> list;
  for (int t = 0; t < dtype_count; ++t) {
    const auto to = static_cast<DType>(t);
    list.push_back({.in = {{.type = {DType::f64, {3, 4}}}},
                    .attrs = pack(CastAttrs{to}),
                    .smooth = to == DType::f64});  // differences drown in the rounding of a shorter result
  }
  return list;
}

}  // namespace

const Op op::cast = {
    .name = "cast",
    .kind = OpKind::elementwise,
    .dtypes = any_dtype,
    .schema = &schema_of<CastAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .samples = samples,
};

Var cast(const Var& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.builder().call1(op::cast, {x}, pack(CastAttrs{dtype}));
}

}  // namespace tidemark
