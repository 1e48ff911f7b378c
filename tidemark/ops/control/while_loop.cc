#include "tidemark/ops/control/while_loop.h"

#include <algorithm>
#include <numeric>

#include "tidemark/ir/failure.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  const auto a = call.attrs_as<WhileAttrs>();
  if (a.carries < 0 || a.keep < 0 || static_cast<std::size_t>(a.carries) > call.in.size() ||
      call.regions.size() != 2) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("while_loop: {} carried values of {} operands, {} regions", a.carries,
                              call.in.size(), call.regions.size()),
          .where = call.where});
  }
  require_region(call, 0, call.in, "the condition");
  require_region(call, 1, call.in, "the body");
  const std::vector<Type> test = output_types(call.regions[0]);
  if (test.size() != 1 || test[0] != Type{DType::boolean, {}}) {
    fail(test.size() == 1 && test[0].dtype == DType::boolean ? ErrorCode::shape_mismatch
                                                             : ErrorCode::dtype_mismatch,
         {.what = fmt::format("while_loop: the condition gives {}",
                              test.size() == 1 ? to_string(test[0]) : fmt::format("{} tensors", test.size())),
          .expected = to_string(Type{DType::boolean, {}}),
          .where = call.where});
  }
  std::vector<Type> types = output_types(call.regions[1]);
  if (types.size() != static_cast<std::size_t>(a.carries)) {
    fail(ErrorCode::wrong_operand_count,
         {.what = fmt::format("while_loop: the body returns {} values", types.size()),
          .expected = fmt::format("the {} that are carried", a.carries),
          .where = call.where});
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == call.in[i]) continue;
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("while_loop: carried value {} enters the body as {} and leaves it as {}", i,
                              to_string(call.in[i]), to_string(types[i])),
          .where = call.where,
          .help = "what is carried keeps its shape and dtype from step to step"});
  }
  types.push_back({DType::i64, {}});
  if (a.keep == 0) return types;
  for (std::int64_t i = 0; i < a.carries; ++i)
    types.push_back(stacked(a.keep, types[static_cast<std::size_t>(i)]));
  types.push_back({DType::i64, {a.keep}});
  return types;
}

std::vector<Var> for_reverse(const RuleCall& rule) {
  WhileAttrs attrs = rule.call.attrs_as<WhileAttrs>();
  const std::size_t results = rule.call.out.size();
  if (attrs.keep == 0)
    attrs.keep = attrs.max_steps >= 1 ? std::min(attrs.max_steps, usual_slots) : usual_slots;
  std::vector<Var> out =
      rule.builder.call(op::while_loop, rule.in, pack(attrs),
                        std::vector<Graph>(rule.call.regions.begin(), rule.call.regions.end()));
  out.resize(results);
  return out;
}

std::vector<Var> vjp(const RuleCall& rule) {
  const auto a = rule.call.attrs_as<WhileAttrs>();
  const auto carries = static_cast<std::size_t>(a.carries);
  TM_CHECK(a.keep > 0, "a while_loop that keeps no states is reversed");
  LoopReversal reversal{
      .attrs = {.trips = -1, .carries = a.carries, .slots = a.keep, .memory = a.memory, .begins = true},
      .body = rule.call.regions[1]};
  for (std::size_t i = carries; i < rule.in.size(); ++i) {
    if (!rule.wants(static_cast<int>(i)) || !is_float(rule.in[i].dtype())) continue;
    reversal.wanted.push_back(i);
    reversal.attrs.summed.push_back(static_cast<std::int64_t>(i - carries));
  }
  std::vector<Var> operands(rule.out.begin() + static_cast<std::ptrdiff_t>(carries) + 1, rule.out.end() - 1);
  for (std::size_t c = 0; c < carries; ++c) {
    if (is_float(rule.out[c].dtype()))
      operands.push_back(rule.seed[c] ? rule.seed[c] : zeros_like(rule.out[c]));
  }
  operands.insert(operands.end(), rule.in.begin() + static_cast<std::ptrdiff_t>(carries), rule.in.end());
  operands.insert(operands.end(), rule.in.begin(), rule.in.begin() + static_cast<std::ptrdiff_t>(carries));
  operands.push_back(rule.out.back());
  operands.push_back(rule.out[carries]);
  std::vector<Graph> regions = reversal_regions(reversal, *rule.calculus);
  const std::vector<Var> found =
      rule.builder.call(op::loop_reverse, operands, pack(reversal.attrs), std::move(regions));
  std::vector<Var> gradients(rule.in.size());
  std::size_t next = 0;
  for (std::size_t c = 0; c < carries; ++c) {
    if (is_float(rule.in[c].dtype())) gradients[c] = found[next++];
  }
  for (std::size_t i : reversal.wanted) gradients[i] = found[next++];
  return gradients;
}

// Values and tangents together; the values alone decide when it ends.
std::vector<Var> jvp(const RuleCall& rule) {
  WhileAttrs attrs = rule.call.attrs_as<WhileAttrs>();
  attrs.keep = 0;  // what is kept serves a reversal, which brings its own when it is differentiated
  const auto carries = static_cast<std::size_t>(attrs.carries);
  const std::size_t inputs = rule.in.size();
  std::unique_ptr<bool[]> wanted(new bool[inputs]);
  for (std::size_t i = 0; i < inputs; ++i)
    wanted[i] = is_float(rule.in[i].dtype()) && (i < carries || rule.seed[i]);
  const Graph joint = rule.calculus->jvp(rule.call.regions[1], {wanted.get(), inputs});

  std::vector<Var> operands(rule.in.begin(), rule.in.begin() + static_cast<std::ptrdiff_t>(carries));
  std::vector<std::size_t> order(inputs), tangents;
  std::iota(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(carries), std::size_t{0});
  const auto add_tangents = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!wanted[i]) continue;
      tangents.push_back(operands.size());
      operands.push_back(rule.seed[i] ? rule.seed[i] : zeros_like(rule.in[i]));
    }
  };
  add_tangents(0, carries);
  attrs.carries = static_cast<std::int64_t>(operands.size());
  for (std::size_t i = carries; i < inputs; ++i) {
    order[i] = operands.size();
    operands.push_back(rule.in[i]);
  }
  add_tangents(carries, inputs);
  std::vector<Type> types;
  for (const Var& operand : operands) types.push_back(operand.type());
  const std::size_t answer[] = {0};
  std::vector<Graph> regions;
  regions.push_back(regrouped(rule.call.regions[0], types, order, answer));
  order.insert(order.end(), tangents.begin(), tangents.end());
  std::vector<std::size_t> outputs(static_cast<std::size_t>(attrs.carries));
  std::iota(outputs.begin(), outputs.end(), std::size_t{0});
  regions.push_back(regrouped(joint, types, order, outputs));
  const std::vector<Var> found = rule.builder.call(op::while_loop, operands, pack(attrs), std::move(regions));
  const std::size_t results = rule.out.size();
  std::vector<Var> result(results);
  result.insert(result.end(), rule.out.begin(), rule.out.end());
  for (std::size_t c = 0, next = carries; c < carries; ++c) {
    if (is_float(rule.in[c].dtype())) result[c] = found[next++];
    result[results + c] = found[c];
  }
  result[results + carries] = found.back();
  return result;
}

// Where a number of steps is the most.
Failure failure(const Call& call) {
  return {call.attrs_as<WhileAttrs>().max_steps >= 0 ? Fails::late : Fails::never};
}

}  // namespace

const Op op::while_loop = {
    .name = "while_loop",
    .kind = OpKind::control,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<WhileAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .for_reverse = for_reverse,
    .fails = failure,
};

}  // namespace tidemark
