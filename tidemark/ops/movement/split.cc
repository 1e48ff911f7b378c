#include <fmt/ranges.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  const auto attrs = call.attrs_as<SplitAttrs>();
  require_axis(call, attrs.axis, call.in[0].rank());
  const auto axis = static_cast<int>(attrs.axis);
  std::int64_t total = 0;
  bool negative = false;
  for (std::int64_t size : attrs.sizes) total += size, negative = negative || size < 0;
  if (attrs.sizes.empty() || negative || total != call.in[0].shape[axis]) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("split: the sizes ({}) for axis {} of {}", fmt::join(attrs.sizes, ", "), axis,
                              to_string(call.in[0].shape)),
          .expected = fmt::format("sizes that add up to {}", call.in[0].shape[axis]),
          .where = call.where});
  }
  std::vector<Type> parts(attrs.sizes.size(), call.in[0]);
  for (std::size_t r = 0; r < parts.size(); ++r) parts[r].shape[axis] = attrs.sizes[r];
  return parts;
}

std::vector<Var> vjp(const RuleCall& rule) {
  std::vector<Var> parts;
  for (std::size_t r = 0; r < rule.out.size(); ++r) {
    parts.push_back(rule.seed[r] ? rule.seed[r] : zeros_like(rule.out[r]));
  }
  return {concat(parts, static_cast<int>(rule.call.attrs_as<SplitAttrs>().axis))};
}

std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<SplitAttrs>();
  return split(rule.seed[0], static_cast<int>(attrs.axis), attrs.sizes);
}

Var inverse(const RuleCall& rule, int) {
  return concat(rule.out, static_cast<int>(rule.call.attrs_as<SplitAttrs>().axis));
}

std::optional<ViewSpec> view(const Call& call, int result) {
  const auto attrs = call.attrs_as<SplitAttrs>();
  const auto r = static_cast<std::size_t>(result);
  ViewSpec spec{.strides = operand_strides(call, 0)};
  if (call.out[r].count() == 0) return ViewSpec{.strides = dense_strides(call.out[r].shape)};
  for (std::size_t k = 0; k < r; ++k)
    spec.offset += attrs.sizes[k] * spec.strides[static_cast<int>(attrs.axis)];
  return spec;
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {2, 6}}}}, .attrs = pack(SplitAttrs{1, {1, 3, 2}})},
          {.in = {{.type = {DType::f64, {3}}}}, .attrs = pack(SplitAttrs{0, {3, 0}})}};
}

}  // namespace

const Op op::split = {
    .name = "split",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<SplitAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .inverse = inverse,
    .view = view,
    .samples = samples,
};

std::vector<Var> split(const Var& x, int axis, const IntList& sizes) {
  return x.builder().call(op::split, std::span(&x, 1), pack(SplitAttrs{axis, sizes}));
}

}  // namespace tidemark
