#include <fmt/format.h>

#include "tidemark/base/bounded.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

// The size once gaps are put between the elements.
std::int64_t spread(std::int64_t size, std::int64_t interior) {
  return size == 0 ? 0 : size + bounded_product(size - 1, interior);
}

std::vector<Type> infer(const Call& call) {
  require_operands(call, 2);
  require_same_dtype(call, 0, 1);
  const auto attrs = call.attrs_as<PadAttrs>();
  const Shape& from = call.in[0].shape;
  if (call.in[1].rank() != 0) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("pad: the fill has shape {}", to_string(call.in[1].shape)),
          .expected = "a scalar",
          .where = call.where});
  }
  require_rank(call, "low", attrs.low, from.rank());
  require_rank(call, "high", attrs.high, from.rank());
  require_rank(call, "interior", attrs.interior, from.rank());
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    if (attrs.interior[i] < 0) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("pad: interior {} along axis {}", attrs.interior[i], i),
            .expected = "0 or more elements between neighbours",
            .where = call.where});
    }
    const std::int64_t size = attrs.low[i] + spread(from[i], attrs.interior[i]) + attrs.high[i];
    if (size < 0) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("pad: low {} and high {} crop axis {} of size {} to below nothing",
                                attrs.low[i], attrs.high[i], i, spread(from[i], attrs.interior[i])),
            .expected = "a result size of 0 or more",
            .where = call.where});
    }
    to.push_back(size);
  }
  return {{call.in[0].dtype, to}};
}

// What of a padded gradient lies at the operand's own elements: undo low and high, then skip the gaps.
Var unpad(const Var& g, const PadAttrs& attrs, const Shape& shape) {
  const int rank = shape.rank();
  Dims low = attrs.low, high = attrs.high, limit = shape, step = attrs.interior;
  for (int i = 0; i < rank; ++i) {
    low[i] = -low[i], high[i] = -high[i];
    limit[i] = spread(shape[i], attrs.interior[i]);
    step[i] = attrs.interior[i] + 1;
  }
  const Var spread_out = pad(g, constant_like(g, 0), low, high, Dims::filled(rank, 0));
  return slice(spread_out, Dims::filled(rank, 0), limit, step);
}

std::vector<Var> vjp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<PadAttrs>();
  const Var& g = rule.seed[0];
  const Var inside = unpad(g, attrs, rule.in[0].shape());
  Var fill;
  if (rule.wants(1)) {
    const Var inside_alone = pad(inside, constant_like(g, 0), attrs.low, attrs.high, attrs.interior);
    fill = reduce_sum(g - inside_alone, all_axes(g.shape().rank()));
  }
  return {inside, fill};
}

std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<PadAttrs>();
  const Var x = rule.seed[0] ? rule.seed[0] : zeros_like(rule.in[0]);
  const Var fill = rule.seed[1] ? rule.seed[1] : constant_like(rule.in[1], 0);
  return {pad(x, fill, attrs.low, attrs.high, attrs.interior)};
}

std::vector<Sample> samples() {
  const Sample::Operand fill{.type = {DType::f64, {}}};
  return {{.in = {{.type = {DType::f64, {2, 3}}}, fill}, .attrs = pack(PadAttrs{{1, 0}, {2, 1}, {0, 2}})},
          {.in = {{.type = {DType::f64, {4, 5}}}, fill}, .attrs = pack(PadAttrs{{-1, 2}, {1, -3}, {0, 1}})},
          {.in = {{.type = {DType::f64, {0}}}, fill}, .attrs = pack(PadAttrs{{1}, {2}, {3}})},
          {.in = {{.type = {DType::f64, {}}}, fill}, .attrs = pack(PadAttrs{{}, {}, {}})}};
}

}  // namespace

const Op op::pad = {
    .name = "pad",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<PadAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .samples = samples,
};

Var pad(const Var& x, const Var& fill, const Dims& low, const Dims& high, const Dims& interior) {
  return x.builder().call1(op::pad, {x, fill}, pack(PadAttrs{low, high, interior}));
}

}  // namespace tidemark
