#include <fmt/format.h>

#include "tidemark/base/bounded.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 2);
  require_same_dtype(call, 0, 1);
  const auto attrs = call.attrs_as<UpdateSliceAttrs>();
  const Shape &whole = call.in[0].shape, &part = call.in[1].shape;
  require_rank(call, "start", attrs.start, whole.rank());
  require_rank(call, "step", attrs.step, whole.rank());
  if (part.rank() != whole.rank()) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("update_slice: an update of shape {} into {}",
                                                         to_string(part), to_string(whole)),
                                     .expected = "equal ranks",
                                     .where = call.where,
                                     .help = "reshape or broadcast the update"});
  }
  for (int i = 0; i < whole.rank(); ++i) {
    if (attrs.step[i] < 1) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("update_slice: a step of {} along axis {}", attrs.step[i], i),
            .expected = "a step of 1 or more",
            .where = call.where});
    }
    const std::int64_t last =
        part[i] == 0 ? attrs.start[i] : attrs.start[i] + bounded_product(part[i] - 1, attrs.step[i]) + 1;
    if (attrs.start[i] < 0 || last > whole[i]) {
      fail(ErrorCode::index_out_of_range,
           {.what = fmt::format("update_slice: [{}, {}) along axis {} of size {}", attrs.start[i], last, i,
                                whole[i]),
            .expected = fmt::format("a window within [0, {})", whole[i]),
            .where = call.where});
    }
  }
  return {call.in[0]};
}

Var window_of(const Var& x, const UpdateSliceAttrs& attrs, const Shape& part) {
  Dims limit = attrs.start;
  for (int i = 0; i < part.rank(); ++i) {
    if (part[i] > 0) limit[i] += (part[i] - 1) * attrs.step[i] + 1;
  }
  return slice(x, attrs.start, limit, attrs.step);
}

std::vector<Var> vjp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<UpdateSliceAttrs>();
  const Var& g = rule.seed[0];
  Var whole, part;
  if (rule.wants(0)) whole = update_slice(g, zeros_like(rule.in[1]), attrs.start, attrs.step);
  if (rule.wants(1)) part = window_of(g, attrs, rule.in[1].shape());
  return {whole, part};
}

std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<UpdateSliceAttrs>();
  const Var whole = rule.seed[0] ? rule.seed[0] : zeros_like(rule.in[0]);
  const Var part = rule.seed[1] ? rule.seed[1] : zeros_like(rule.in[1]);
  return {update_slice(whole, part, attrs.start, attrs.step)};
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {4, 5}}}, {.type = {DType::f64, {2, 2}}}},
           .attrs = pack(UpdateSliceAttrs{{1, 0}, {1, 3}})},
          {.in = {{.type = {DType::f64, {3}}}, {.type = {DType::f64, {0}}}},
           .attrs = pack(UpdateSliceAttrs{{3}, {1}})},
          {.in = {{.type = {DType::f64, {}}}, {.type = {DType::f64, {}}}},
           .attrs = pack(UpdateSliceAttrs{{}, {}})}};
}

}  // namespace

const Op op::update_slice = {
    .name = "update_slice",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<UpdateSliceAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .samples = samples,
};

Var update_slice(const Var& x, const Var& update, const Dims& start, const Dims& step) {
  return x.builder().call1(op::update_slice, {x, update}, pack(UpdateSliceAttrs{start, step}));
}

}  // namespace tidemark
