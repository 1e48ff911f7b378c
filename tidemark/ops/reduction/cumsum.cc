#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  require_axis(call, call.attrs_as<CumsumAttrs>().axis, call.in[0].rank());
  return {call.in[0]};
}

std::vector<Var> vjp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<CumsumAttrs>();
  return {cumsum(rule.seed[0], static_cast<int>(attrs.axis), !attrs.reverse)};
}
std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<CumsumAttrs>();
  return {cumsum(rule.seed[0], static_cast<int>(attrs.axis), attrs.reverse)};
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}}}, .attrs = pack(CumsumAttrs{1, false})},
          {.in = {{.type = {DType::f64, {3, 4, 2}}}}, .attrs = pack(CumsumAttrs{1, true})},
          {.in = {{.type = {DType::f64, {0}}}}, .attrs = pack(CumsumAttrs{0, false})}};
}

}  // namespace

const Op op::cumsum = {
    .name = "cumsum",
    .kind = OpKind::composite,
    .dtypes = numbers,
    .schema = &schema_of<CumsumAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .samples = samples,
};

Var cumsum(const Var& x, int axis, bool reverse) {
  return x.builder().call1(op::cumsum, {x}, pack(CumsumAttrs{axis, reverse}));
}

}  // namespace tidemark
