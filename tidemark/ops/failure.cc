#include "tidemark/ops/failure.h"

#include <algorithm>
#include <unordered_map>

#include "tidemark/ir/graph.h"
#include "tidemark/ops/cross_entropy.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/loop_reverse.h"
#include "tidemark/ops/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/triangular_solve.h"
#include "tidemark/ops/while_loop.h"

namespace tidemark {
namespace {

using Rule = Failure (*)(const Call&);

Failure along_axis(const Call& call) {
  const auto axis = static_cast<int>(call.attrs_as<AxisAttrs>().axis);
  return {Fails::early, IndexCheck{.operand = 1, .bound = call.in[0].shape[axis]}};
}
Failure take_add(const Call& call) {
  return {Fails::early, IndexCheck{.operand = 1, .bound = call.attrs_as<TakeAddAttrs>().axis_size}};
}
Failure one_hot(const Call& call) {
  return {Fails::early, IndexCheck{.operand = 0, .bound = call.attrs_as<OneHotAttrs>().classes}};
}
Failure labels(const Call& call) {
  const auto attrs = call.attrs_as<CrossEntropyAttrs>();
  IndexCheck check{.operand = 1, .bound = call.in[0].shape.back()};
  if (attrs.ignore) check.except = attrs.ignore_index;
  return {Fails::early, check};
}
Failure diagonal(const Call& call) {
  return {call.attrs_as<TriangularSolveAttrs>().unit ? Fails::never : Fails::early};
}
Failure half_way(const Call&) { return {Fails::late}; }
Failure steps(const Call& call) {
  return {call.attrs_as<WhileAttrs>().max_steps >= 0 ? Fails::late : Fails::never};
}
Failure files(const Call& call) {
  return {call.attrs_as<LoopReverseAttrs>().uses_files() ? Fails::late : Fails::never};
}

// By op. Their kernels are the only ones that throw.
const std::unordered_map<const Op*, Rule>& rules() {
  static const auto* all = new std::unordered_map<const Op*, Rule>{
      {&op::take, along_axis},           {&op::take_add, take_add},         {&op::gather, along_axis},
      {&op::scatter_add, along_axis},    {&op::one_hot, one_hot},           {&op::cross_entropy, labels},
      {&op::cross_entropy_grad, labels}, {&op::triangular_solve, diagonal}, {&op::solve, half_way},
      {&op::cholesky, half_way},         {&op::while_loop, steps},          {&op::loop_reverse, files},
  };
  return *all;
}

bool can_fail(const Graph& region) {
  return std::ranges::any_of(region.nodes(), [&](const Node& node) {
    return failure_of(NodeCall(region, node)).when != Fails::never;
  });
}

}  // namespace

Failure failure_of(const Call& call) {
  if (call.op->custom || std::ranges::any_of(call.regions, can_fail)) return {Fails::late};
  const auto rule = rules().find(call.op);
  return rule == rules().end() ? Failure{} : rule->second(call);
}

}  // namespace tidemark
