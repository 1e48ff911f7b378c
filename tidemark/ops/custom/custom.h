// Operations made from user code: a type rule, a host kernel and, when it is to be differentiated, a rule.
//
// Example, as in docs/custom_ops.md:
//   const td::Op& cube = td::make_custom_op({
//       .name = "cube",
//       .infer = [](std::span<const td::Type> in) { return std::vector<td::Type>{in[0]}; },
//       .kernel =
//           [](std::span<const td::TensorRef> in, std::span<const td::TensorRef> out) {
//             for (std::int64_t i = 0; i < in[0].count(); ++i) {
//               const float x = in[0].as<float>()[i];
//               out[0].as<float>()[i] = x * x * x;
//             }
//           },
//       .vjp =
//           [](const td::RuleCall& r) {
//             return std::vector<td::Var>{3 * r.seed[0] * r.in[0] * r.in[0]};
//           }});
//   const td::Tensor y = td::call(cube, {x}).front();
//
// The op lives as long as the process: graphs point at it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/ops/scalar/elementwise.h"  // what rules are written with

namespace tidemark {

struct CustomRules {
  std::string name;
  // Result types from operand types; throws for operands it does not take.
  std::function<std::vector<Type>(std::span<const Type>)> infer;
  // Operands and results are dense and do not overlap. It may run again to save memory, unless `replay`
  // forbids it.
  std::function<void(std::span<const TensorRef> in, std::span<const TensorRef> out)> kernel;
  std::function<std::vector<Var>(const RuleCall&)> vjp =
      {};  // without it a gradient through the op is an error
  std::function<std::vector<Var>(const RuleCall&)> jvp = {};  // likewise for forward mode
  std::function<Cost(const Call&)> cost = {};                 // reads and writes everything once
  Replay replay = Replay::exact;
  // What the kernel does to the world beside its results, such as {.domain = "io"} for one that prints. It
  // then runs whether anybody reads its results or not, in the program's order among those of its domain.
  Effect effect = {};
  Derivative derivative = Derivative::rule;  // zero: no gradient passes, silently
};

const Op& make_custom_op(CustomRules rules, SourceLine where = std::source_location::current());

extern const CpuKernel custom_kernel;  // of every custom op

}  // namespace tidemark
