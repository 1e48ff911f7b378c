#include "tidemark/ops/control/cond.h"

#include <numeric>

#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  if (call.in.empty() || call.regions.size() != 2) {
    fail(ErrorCode::malformed_graph,
         {.what = "cond needs a predicate and a region for each of its values", .where = call.where});
  }
  if (call.in[0].dtype != DType::boolean || call.in[0].rank() != 0) {
    fail(call.in[0].dtype != DType::boolean ? ErrorCode::dtype_mismatch : ErrorCode::shape_mismatch,
         {.what = fmt::format("cond: the condition is {}", to_string(call.in[0])),
          .expected = to_string(Type{DType::boolean, {}}),
          .where = call.where,
          .help = "compare scalars, or use select() to choose element by element"});
  }
  require_region(call, 0, call.in.subspan(1), "the branch for true");
  require_region(call, 1, call.in.subspan(1), "the branch for false");
  const std::vector<Type> types = output_types(call.regions[0]), other = output_types(call.regions[1]);
  if (types.size() != other.size()) {
    fail(
        ErrorCode::structure_mismatch,
        {.what = fmt::format("cond: one branch returns {} tensors, the other {}", types.size(), other.size()),
         .where = call.where});
  }
  for (std::size_t r = 0; r < types.size(); ++r) {
    if (types[r] == other[r]) continue;
    fail(types[r].dtype == other[r].dtype ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch,
         {.what = fmt::format("cond: result {} is {} in one branch and {} in the other", r,
                              to_string(types[r]), to_string(other[r])),
          .where = call.where});
  }
  return types;
}

std::vector<std::size_t> numbers_from(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> list(end - begin);
  std::iota(list.begin(), list.end(), begin);
  return list;
}

std::vector<Var> vjp(const RuleCall& rule) {
  const std::size_t values = rule.in.size() - 1, results = rule.out.size();
  std::unique_ptr<bool[]> wanted(new bool[values]);
  for (std::size_t i = 0; i < values; ++i)
    wanted[i] = rule.wants(static_cast<int>(i + 1)) && is_float(rule.in[i + 1].dtype());
  std::vector<Var> operands(rule.in.begin() + 1, rule.in.end());
  for (std::size_t r = 0; r < results; ++r) {
    if (is_float(rule.out[r].dtype()))
      operands.push_back(rule.seed[r] ? rule.seed[r] : zeros_like(rule.out[r]));
  }
  Graph branches[2];
  for (std::size_t b = 0; b < 2; ++b) {
    const Graph joint = rule.calculus->vjp(rule.call.regions[b], {wanted.get(), values}, {});
    const std::vector<Type> types = input_types(joint);
    branches[b] = replayed(
        regrouped(joint, types, numbers_from(0, types.size()), numbers_from(results, joint.outputs().size())),
        values, rule.call.where, "the gradient of cond runs its branch again",
        "call it before the branch and pass in what it returns");
  }
  const std::vector<Var> found = cond(rule.in[0], operands, std::move(branches[0]), std::move(branches[1]));
  std::vector<Var> gradients(rule.in.size());
  for (std::size_t i = 0, next = 0; i < values; ++i) {
    if (wanted[i]) gradients[i + 1] = found[next++];
  }
  return gradients;
}

std::vector<Var> jvp(const RuleCall& rule) {
  const std::size_t values = rule.in.size() - 1, results = rule.out.size();
  std::unique_ptr<bool[]> wanted(new bool[values]);
  std::vector<Var> operands(rule.in.begin() + 1, rule.in.end());
  for (std::size_t i = 0; i < values; ++i) {
    wanted[i] = static_cast<bool>(rule.seed[i + 1]);
    if (wanted[i]) operands.push_back(rule.seed[i + 1]);
  }
  const std::vector<Var> found =
      cond(rule.in[0], operands, rule.calculus->jvp(rule.call.regions[0], {wanted.get(), values}),
           rule.calculus->jvp(rule.call.regions[1], {wanted.get(), values}));
  std::vector<Var> result(2 * results);
  for (std::size_t r = 0, next = results; r < results; ++r) {
    if (is_float(rule.out[r].dtype())) result[r] = found[next++];
    result[results + r] = found[r];
  }
  return result;
}

}  // namespace

std::vector<Var> cond(const Var& predicate, std::span<const Var> values, Graph when_true, Graph when_false) {
  std::vector<Var> operands = {predicate};
  operands.insert(operands.end(), values.begin(), values.end());
  std::vector<Graph> regions;
  regions.push_back(std::move(when_true));
  regions.push_back(std::move(when_false));
  return predicate.builder().call(op::cond, operands, {}, std::move(regions));
}

const Op op::cond = {
    .name = "cond",
    .kind = OpKind::control,
    .dtypes = any_dtype,
    .results = -1,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
};

}  // namespace tidemark
