#include "tidemark/ops/reversible/within.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/ops/registry.h"
#include "tidemark/ops/reversible/invertible.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

RangeFunction function_of(const Call& call) {
  return static_cast<RangeFunction>(call.attrs_as<WithinAttrs>().function);
}

// How steep the inverse is at most.
double steepest(RangeFunction function, double range) {
  switch (function) {
    case RangeFunction::exp:
    case RangeFunction::log:
      return std::exp(range);
    case RangeFunction::tanh:
      return std::cosh(range) * std::cosh(range);
    case RangeFunction::sigmoid:
      return 2 + 2 * std::cosh(range);
    case RangeFunction::softplus:
      return 1 + std::exp(range);
    case RangeFunction::sinh:
      return 1;
    case RangeFunction::asinh:
      return std::hypot(1, range);
  }
  return 1;
}

std::vector<Type> within_infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<WithinAttrs>();
  constexpr auto functions = static_cast<std::int64_t>(range_function_names.size());
  if (attrs.function < 0 || attrs.function >= functions)
    fail(ErrorCode::bad_attribute, {.what = fmt::format("within: function {}", attrs.function),
                                    .expected = fmt::format("0 to {}", functions - 1),
                                    .where = call.where});
  if (attrs.range > 0 && std::isfinite(steepest(function_of(call), attrs.range))) return {call.in[0]};
  const auto name = range_function_names[static_cast<std::size_t>(attrs.function)];
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("{}: a range of {}", name, attrs.range),
        .expected = "a number above 0 on whose range the function can be undone",
        .where = call.where,
        .help = "it says how large the operand gets; without it nothing is undone"});
}

std::vector<Var> within_expand(const RuleCall& rule) {
  const Var& x = rule.in[0];
  switch (function_of(rule.call)) {
    case RangeFunction::exp:
      return {exp(x)};
    case RangeFunction::log:
      return {log(x)};
    case RangeFunction::tanh:
      return {tanh(x)};
    case RangeFunction::sigmoid:
      return {sigmoid(x)};
    case RangeFunction::softplus:
      return {softplus(x)};
    case RangeFunction::sinh:
      return {sinh(x)};
    case RangeFunction::asinh:
      return {asinh(x)};
  }
  return {};
}

// By the result, so that nothing waits for the rule's sake.
Var slope_from(const Var& y, RangeFunction function) {
  const Var one = constant_like(y, 1);
  switch (function) {
    case RangeFunction::exp:
      return y;
    case RangeFunction::log:
      return exp(neg(y));
    case RangeFunction::tanh:
      return one - y * y;
    case RangeFunction::sigmoid:
      return y * (one - y);
    case RangeFunction::softplus:
      return neg(expm1(neg(y)));
    case RangeFunction::sinh:
      return sqrt(one + y * y);
    case RangeFunction::asinh:
      return one / cosh(y);
  }
  return {};
}
std::vector<Var> within_pull(const RuleCall& rule) {
  const Var& g = rule.seed[0];
  if (!g) return {Var()};
  return {g * slope_from(rule.out[0], function_of(rule.call))};
}

Var within_inverse(const RuleCall& rule, int) {
  const Var& y = rule.out[0];
  switch (function_of(rule.call)) {
    case RangeFunction::exp:
      return log(y);
    case RangeFunction::log:
      return exp(y);
    case RangeFunction::tanh:
      return atanh(y);
    case RangeFunction::sigmoid: {
      const Var rest = log1p(neg(y));
      return log(y) - rest;
    }
    case RangeFunction::softplus: {
      const Var rest = log(neg(expm1(neg(y))));
      return y + rest;
    }
    case RangeFunction::sinh:
      return asinh(y);
    case RangeFunction::asinh:
      return sinh(y);
  }
  return {};
}
Conditioning within_conditioning(const Call& call) {
  const double range = call.attrs_as<WithinAttrs>().range;
  const double gain = steepest(function_of(call), range);
  // The function and the three of its inverse are off by a few roundings each. Those of the result grow by
  // the gain; log and asinh grow with the size of what is computed back, which the largest magnitude
  // counts.
  return {.gain = gain, .rounding = 16 * unit_rounding(call.in[0].dtype) * std::max(gain, 1 + range)};
}

std::vector<Sample> within_samples() {
  std::vector<Sample> list;
  for (std::int64_t function = 0; function < static_cast<std::int64_t>(range_function_names.size());
       ++function) {
    const bool is_log = static_cast<RangeFunction>(function) == RangeFunction::log;
    for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 2}}) {
      list.push_back(
          {.in = {{.type = {DType::f64, shape}, .low = is_log ? 0.2 : -1.5, .high = is_log ? 4 : 1.5}},
           .attrs = pack(WithinAttrs{.function = function, .range = 2})});
    }
  }
  return list;
}

}  // namespace

const Op op::within = {
    .name = "within",
    .dtypes = floats,
    .schema = &schema_of<WithinAttrs>,
    .infer = within_infer,
    .vjp = within_pull,
    .jvp = within_pull,
    .expand = within_expand,
    .inverse = within_inverse,
    .conditioning = within_conditioning,
    .tolerant = true,
    .samples = within_samples,
};

Var within(const Var& x, RangeFunction function, double range) {
  return x.builder().call1(
      op::within, {x}, pack(WithinAttrs{.function = static_cast<std::int64_t>(function), .range = range}));
}

}  // namespace tidemark
