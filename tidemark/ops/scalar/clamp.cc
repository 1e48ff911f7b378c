#include "tidemark/ops/scalar/clamp.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/error.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_dtype(call, 0, numbers);
  const auto bounds = call.attrs_as<ClampAttrs>();
  if (!(bounds.low <= bounds.high)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("clamp: bounds {} and {}", bounds.low, bounds.high),
                                    .expected = "low ≤ high",
                                    .where = call.where,
                                    .help = "the lower bound comes first"});
  }
  if (!is_float(call.in[0].dtype)) {
    for (double bound : {bounds.low, bounds.high}) {
      if (bound == std::trunc(bound)) continue;  // infinite ones too: no bound
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("clamp: a bound {} for {}", bound, name_of(call.in[0].dtype)),
            .expected = "a whole number",
            .where = call.where,
            .help = "cast the tensor to a floating-point dtype first"});
    }
  }
  return {call.in[0]};
}

std::vector<Var> pull(const RuleCall& rule) {
  const Var &g = rule.seed[0], &x = rule.in[0];
  if (!g) return {Var()};
  const auto bounds = rule.call.attrs_as<ClampAttrs>();
  const Var above = greater_equal(x, constant_like(x, bounds.low));
  const Var inside = logical_and(above, less_equal(x, constant_like(x, bounds.high)));
  return {select(inside, g, constant_like(g, 0))};
}

std::vector<Sample> samples() {
  const Attrs attrs = pack(ClampAttrs{-1, 1});
  return {{.in = {{.type = {DType::f64, {3, 4}}, .low = -3, .high = 3}}, .attrs = attrs},
          {.in = {{.type = {DType::f64, {}}, .low = 1.5, .high = 3}}, .attrs = attrs}};
}

}  // namespace

const Op op::clamp = {
    .name = "clamp",
    .kind = OpKind::elementwise,
    .dtypes = numbers,
    .schema = &schema_of<ClampAttrs>,
    .infer = infer,
    .vjp = pull,
    .jvp = pull,
    .samples = samples,
};

Var clamp(const Var& x, double low, double high) {
  return x.builder().call1(op::clamp, {x}, pack(ClampAttrs{low, high}));
}

}  // namespace tidemark
