#include "tidemark/ops/custom/custom.h"

#include <deque>
#include <mutex>

#include "tidemark/base/error.h"
#include "tidemark/ir/failure.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

struct CustomOp {
  CustomRules rules;
  std::string domain;  // what rules.effect.domain points at: the user's text may go
  Op op;
};

std::vector<Type> infer(const Call& call) { return call.op->custom->infer(call.in); }
std::vector<Var> vjp(const RuleCall& r) { return r.call.op->custom->vjp(r); }
std::vector<Var> jvp(const RuleCall& r) { return r.call.op->custom->jvp(r); }
Cost cost(const Call& call) {
  const CustomRules& rules = *call.op->custom;
  return rules.cost ? rules.cost(call) : plain_cost(call);
}

void require(bool condition, const CustomRules& rules, std::string what, std::string expected,
             SourceLine where) {
  if (condition) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("custom op `{}`: {}", rules.name, what),
                                  .expected = std::move(expected),
                                  .where = where});
}

}  // namespace

const Op& make_custom_op(CustomRules rules, SourceLine where) {
  require(!rules.name.empty(), rules, "it has no name", "a name, for errors and reports", where);
  require(find_op(rules.name) == nullptr, rules, "the name is taken by a built-in op", "a name of its own",
          where);
  require(static_cast<bool>(rules.infer), rules, "it has no type rule",
          "infer: operand types to result types", where);
  require(static_cast<bool>(rules.kernel), rules, "it has no kernel",
          "kernel: a function on operands and results", where);
  require(rules.effect.exists() || rules.effect.on_replay == OnReplay::skip, rules,
          "its effect has no domain", "the name that its order is kept under, such as \"io\"", where);
  require(rules.replay != Replay::never || rules.effect.on_replay != OnReplay::repeat, rules,
          "its effect may be repeated and its results may not (replay = never)",
          "on_replay = OnReplay::skip, or results that are the same again", where);

  static std::mutex mutex;
  static auto* all = new std::deque<CustomOp>;  // addresses stay; never freed, as graphs may outlive anything
  const std::lock_guard lock(mutex);
  CustomOp& made = all->emplace_back();
  made.rules = std::move(rules);
  made.domain = made.rules.effect.domain;
  made.rules.effect.domain = made.domain;
  const bool has_rule = made.rules.vjp || made.rules.jvp;
  made.op = {
      .name = made.rules.name,
      .kind = OpKind::opaque,
      .replay = made.rules.replay,
      .effect = made.rules.effect,
      .derivative = made.rules.derivative == Derivative::rule && !has_rule ? Derivative::undefined
                                                                           : made.rules.derivative,
      .dtypes = any_dtype,
      .results = -1,
      .infer = infer,
      .vjp = made.rules.vjp ? vjp : nullptr,
      .jvp = made.rules.jvp ? jvp : nullptr,
      .fails = [](const Call&) { return Failure{Fails::late}; },  // users' code may throw at any time
      .custom = &made.rules,
  };
  return made.op;
}

const CpuKernel custom_kernel = {
    .run = [](const KernelArgs& args) { args.attrs<CustomRules>().kernel(args.in, args.out); },
    .prepare = [](const Call& call) -> std::shared_ptr<const void> {
      return {std::shared_ptr<const void>(), call.op->custom};  // borrowed: the rules live for ever
    },
    .facts = {.cost = cost},
};

}  // namespace tidemark
