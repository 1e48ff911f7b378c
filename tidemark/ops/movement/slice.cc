#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  const auto attrs = call.attrs_as<SliceAttrs>();
  const Shape& from = call.in[0].shape;
  require_rank(call, "start", attrs.start, from.rank());
  require_rank(call, "limit", attrs.limit, from.rank());
  require_rank(call, "step", attrs.step, from.rank());
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    const std::int64_t start = attrs.start[i], limit = attrs.limit[i], step = attrs.step[i];
    if (step < 1) {
      fail(ErrorCode::bad_attribute, {.what = fmt::format("slice: a step of {} along axis {}", step, i),
                                      .expected = "a step of 1 or more",
                                      .where = call.where,
                                      .help = "reverse an axis with flip"});
    }
    if (start < 0 || start > limit || limit > from[i]) {
      fail(ErrorCode::index_out_of_range,
           {.what = fmt::format("slice: [{}, {}) along axis {} of size {}", start, limit, i, from[i]),
            .expected = fmt::format("0 ≤ start ≤ limit ≤ {}", from[i]),
            .where = call.where});
    }
    to.push_back((limit - start + step - 1) / step);
  }
  return {{call.in[0].dtype, to}};
}

// Puts the gradient back between zeros.
std::vector<Var> vjp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<SliceAttrs>();
  const Shape &whole = rule.in[0].shape(), &part = rule.out[0].shape();
  Dims low = attrs.start, high = attrs.start, interior = attrs.step;
  for (int i = 0; i < whole.rank(); ++i) {
    interior[i] = attrs.step[i] - 1;
    const std::int64_t taken = part[i] == 0 ? 0 : (part[i] - 1) * attrs.step[i] + 1;
    high[i] = whole[i] - attrs.start[i] - taken;
  }
  return {pad(rule.seed[0], constant_like(rule.seed[0], 0), low, high, interior)};
}
std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<SliceAttrs>();
  return {slice(rule.seed[0], attrs.start, attrs.limit, attrs.step)};
}

std::optional<ViewSpec> view(const Call& call, int) {
  const auto attrs = call.attrs_as<SliceAttrs>();
  ViewSpec spec{.strides = operand_strides(call, 0)};
  if (call.out[0].count() == 0) return ViewSpec{.strides = dense_strides(call.out[0].shape)};
  for (int i = 0; i < spec.strides.rank(); ++i) {
    spec.offset += attrs.start[i] * spec.strides[i];
    spec.strides[i] *= attrs.step[i];
  }
  return spec;
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {4, 7}}}}, .attrs = pack(SliceAttrs{{1, 1}, {4, 7}, {1, 3}})},
          {.in = {{.type = {DType::f64, {5}}}}, .attrs = pack(SliceAttrs{{0}, {4}, {2}})},
          {.in = {{.type = {DType::f64, {2, 3}}}}, .attrs = pack(SliceAttrs{{1, 2}, {1, 3}, {1, 1}})}};
}

}  // namespace

const Op op::slice = {
    .name = "slice",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<SliceAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .view = view,
    .samples = samples,
};

Var slice(const Var& x, const Dims& start, const Dims& limit, const Dims& step) {
  return x.builder().call1(op::slice, {x}, pack(SliceAttrs{start, limit, step}));
}

Var slice_axis(const Var& x, int axis, std::int64_t start, std::int64_t limit, std::int64_t step) {
  const int rank = x.shape().rank();
  Dims starts = Dims::filled(rank, 0), limits = x.shape(), steps = Dims::filled(rank, 1);
  TM_CHECK(0 <= axis && axis < rank, "slice_axis: axis {} of rank {}", axis, rank);
  starts[axis] = start, limits[axis] = limit, steps[axis] = step;
  return slice(x, starts, limits, steps);
}

}  // namespace tidemark
