// Operations made from user code: a type rule, a host kernel and, when it is to be differentiated, a rule.
//
//   const Op& cube = make_custom_op({
//       .name = "cube",
//       .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
//       .kernel = [](std::span<const TensorRef> in, std::span<const TensorRef> out) { … },
//       .vjp = [](const RuleCall& r) { return std::vector{3 * r.seed[0] * r.in[0] * r.in[0]}; }});
//   Var y = builder.call1(cube, {x});
//
// The op lives as long as the process: graphs point at it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/cpu_kernel.h"

namespace tidemark {

struct CustomRules {
  std::string name;
  // Result types from operand types; throws for operands it does not take.
  std::function<std::vector<Type>(std::span<const Type>)> infer;
  // Operands and results are dense and do not overlap. It may run again to save memory, unless `replay` forbids it.
  std::function<void(std::span<const TensorRef> in, std::span<const TensorRef> out)> kernel;
  std::function<std::vector<Var>(const RuleCall&)> vjp =
      {};  // without it a gradient through the op is an error
  std::function<std::vector<Var>(const RuleCall&)> jvp = {};  // likewise for forward mode
  std::function<Cost(const Call&)> cost = {};                 // reads and writes everything once
  Replay replay = Replay::exact;
  Derivative derivative = Derivative::rule;  // zero: no gradient passes, silently
};

const Op& make_custom_op(CustomRules rules);

extern const CpuKernel custom_kernel;  // of every custom op

}  // namespace tidemark
