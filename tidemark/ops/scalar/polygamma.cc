#include "tidemark/ops/scalar/polygamma.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_dtype(call, 0, floats);
  const std::int64_t order = call.attrs_as<PolygammaAttrs>().order;
  if (order < 1 || order > max_polygamma_order) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("polygamma: order {}", order),
          .expected = fmt::format("an order of at most {}, and not negative", max_polygamma_order),
          .where = call.where,
          .help = "order 0 is digamma; each derivative is of the next order"});
  }
  return {call.in[0]};
}

std::vector<Var> pull(const RuleCall& rule) {
  const Var& g = rule.seed[0];
  if (!g) return {Var()};
  const auto order = static_cast<int>(rule.call.attrs_as<PolygammaAttrs>().order);
  return {g * polygamma(order + 1, rule.in[0])};
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}, .low = 0.6, .high = 5}}, .attrs = pack(PolygammaAttrs{1})},
          {.in = {{.type = {DType::f64, {}}, .low = 1, .high = 3}}, .attrs = pack(PolygammaAttrs{2})},
          {.in = {{.type = {DType::f64, {5}}, .low = -1.8, .high = -1.2}}, .attrs = pack(PolygammaAttrs{3})}};
}

}  // namespace

const Op op::polygamma = {
    .name = "polygamma",
    .kind = OpKind::elementwise,
    .dtypes = floats,
    .schema = &schema_of<PolygammaAttrs>,
    .infer = infer,
    .vjp = pull,
    .jvp = pull,
    .samples = samples,
};

Var polygamma(int order, const Var& x) {
  if (order == 0) return digamma(x);
  return x.builder().call1(op::polygamma, {x}, pack(PolygammaAttrs{order}));
}

}  // namespace tidemark
