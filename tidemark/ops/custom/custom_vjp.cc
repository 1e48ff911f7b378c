#include "tidemark/ops/custom/custom_vjp.h"

#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  if (call.regions.size() != 2 || call.regions[0].inputs().size() != call.in.size()) {
    fail(ErrorCode::malformed_graph,
         {.what = "custom_vjp_call needs a region of its operands and one of its pullback",
          .where = call.where});
  }
  std::vector<Type> types;
  for (ValueId v : call.regions[0].outputs()) types.push_back(call.regions[0].type(v));
  return types;
}

std::vector<Var> vjp(const RuleCall& rule) {
  std::vector<Var> arguments(rule.in.begin(), rule.in.end());
  arguments.insert(arguments.end(), rule.out.begin(), rule.out.end());
  for (std::size_t r = 0; r < rule.out.size(); ++r) {
    if (!is_float(rule.out[r].dtype())) continue;
    arguments.push_back(rule.seed[r] ? rule.seed[r] : zeros_like(rule.out[r]));
  }
  std::vector<Var> gradients = inline_graph(rule.builder, rule.call.regions[1], arguments);
  gradients.resize(rule.in.size());
  return gradients;
}

std::vector<Var> expand_call(const RuleCall& rule) {
  return inline_graph(rule.builder, rule.call.regions[0], rule.in);
}

}  // namespace

const Op op::custom_vjp_call = {
    .name = "custom_vjp_call",
    .kind = OpKind::control,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<CustomVjpAttrs>,
    .infer = infer,
    .vjp = vjp,
    .expand = expand_call,
};

}  // namespace tidemark
