#include <algorithm>

#include "tidemark/opt/simplify_rule.h"

namespace tidemark {
namespace {

using K = KnownOps;

bool same_type(Site& s) { return s.become(s.operand(0)); }

bool transpose_identity(Site& s) {
  const Dims& order = attribute<Dims>(s.node, "order");
  for (int i = 0; i < order.rank(); ++i) {
    if (order[i] != i) return false;
  }
  return s.become(s.operand(0));
}

bool transpose_twice(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.transpose);
  if (!inner) return false;
  const Dims &outer_order = attribute<Dims>(s.node, "order"), &inner_order = attribute<Dims>(*inner, "order");
  Dims order;
  for (std::int64_t axis : outer_order) order.push_back(inner_order[static_cast<int>(axis)]);
  const ValueId x = inner->operands[0];
  return s.become(s.ops.transpose, {x}, attrs_with(*s.ops.transpose, {{"order", order}}));
}

// Outer and inner of the same op, where the outer's attributes alone fix the result.
bool skip_inner(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.node.op);
  if (!inner) return false;
  // The same elements go by the same name: a report would not find a gradient that lost it.
  if (s.graph.type(s.operand(0)).count() == s.type().count()) s.name = s.graph[s.operand(0)].name;
  return s.become(s.node.op, {inner->operands[0]}, s.node.attrs);
}

bool slice_all(Site& s) {
  const Dims& step = attribute<Dims>(s.node, "step");
  return std::all_of(step.begin(), step.end(), [](std::int64_t n) { return n == 1; }) &&
         s.become(s.operand(0));
}

bool slice_twice(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.slice);
  if (!inner) return false;
  const Dims &start = attribute<Dims>(s.node, "start"), &step = attribute<Dims>(s.node, "step");
  const Dims &inner_start = attribute<Dims>(*inner, "start"), &inner_step = attribute<Dims>(*inner, "step");
  Dims starts, limits, steps;
  for (int i = 0; i < start.rank(); ++i) {
    const std::int64_t size = s.type().shape[i];
    const std::int64_t first = inner_start[i] + start[i] * inner_step[i];
    const std::int64_t both =
        size > 1 ? step[i] * inner_step[i] : 1;  // one element: any step, and none to overflow
    starts.push_back(size > 0 ? first : 0);
    limits.push_back(size > 0 ? first + (size - 1) * both + 1 : 0);
    steps.push_back(both);
  }
  const ValueId x = inner->operands[0];
  return s.become(s.ops.slice, {x},
                  attrs_with(*s.ops.slice, {{"start", starts}, {"limit", limits}, {"step", steps}}));
}

bool pad_nothing(Site& s) {
  for (const char* name : {"low", "high", "interior"}) {
    const Dims& dims = attribute<Dims>(s.node, name);
    if (!std::all_of(dims.begin(), dims.end(), [](std::int64_t n) { return n == 0; })) return false;
  }
  return s.become(s.operand(0));
}

bool only_part(Site& s) {
  return s.node.operands.size() == 1 && s.types.size() == 1 && s.become(s.operand(0));
}

bool flip_nothing(Site& s) {
  for (std::int64_t axis : attribute<Dims>(s.node, "axes")) {
    if (s.type().shape[static_cast<int>(axis)] > 1) return false;
  }
  return s.become(s.operand(0));
}

bool flip_twice(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.flip);
  if (!inner) return false;
  Dims a = attribute<Dims>(s.node, "axes"), b = attribute<Dims>(*inner, "axes");
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b && s.become(inner->operands[0]);
}

bool reduce_single(Site& s) {
  for (std::int64_t axis : attribute<Dims>(s.node, "axes")) {
    if (s.graph.type(s.operand(0)).shape[static_cast<int>(axis)] != 1) return false;
  }
  if (s.become(s.operand(0))) return true;
  return s.ops.reshape &&
         s.become(s.ops.reshape, {s.operand(0)}, attrs_with(*s.ops.reshape, {{"shape", s.type().shape}}));
}

// NumPy's result shape; the operands are known to fit together.
Shape joint_shape(const Graph& graph, const std::vector<ValueId>& operands) {
  Shape joint;
  for (ValueId v : operands) {
    Shape shape = graph.type(v).shape;
    while (shape.rank() < joint.rank()) shape.insert(0, 1);
    while (joint.rank() < shape.rank()) joint.insert(0, 1);
    for (int i = 0; i < shape.rank(); ++i) {
      if (joint[i] == 1) joint[i] = shape[i];
    }
  }
  return joint;
}

bool implicit_broadcast(Site& s) {
  for (std::size_t i = 0; i < s.node.operands.size() && s.node.operands.size() > 1; ++i) {
    const Node* inner = s.made_by(s.operand(i), s.ops.broadcast);
    if (!inner) continue;
    std::vector<ValueId> operands = s.node.operands;
    operands[i] = inner->operands[0];
    if (joint_shape(s.graph, operands) != s.type().shape) continue;
    s.node.operands = std::move(operands);
    return true;
  }
  return false;
}

// Elementwise work on repeated elements is done once per distinct element.
bool broadcast_last(Site& s) {
  if (!s.ops.broadcast || s.node.operands.empty()) return false;
  bool any = false;
  std::vector<ValueId> operands = s.node.operands;
  for (ValueId& v : operands) {
    if (const Node* inner = s.made_by(v, s.ops.broadcast)) {
      v = inner->operands[0];
      any = true;
    }
  }
  if (!any) return false;
  const Shape small = joint_shape(s.graph, operands);
  if (element_count(small) >= s.type().count()) return false;
  const ValueId computed = s.add(*s.node.op, std::move(operands), s.node.attrs);
  return s.become(s.ops.broadcast, {computed}, attrs_with(*s.ops.broadcast, {{"shape", s.type().shape}}));
}

}  // namespace

std::span<const Rule> movement_rules() {
  static const std::vector<Rule> rules = {
      {"reshape or broadcast to the same shape → x",
       "no element moves",
       {&K::reshape, &K::broadcast},
       same_type},
      {"stop_gradient(x) → x, likewise residual",
       "derivatives are taken before: what is left is the identity",
       {&K::stop_gradient, &K::residual},
       same_type},
      {"transpose by the identity → x", "no element moves", {&K::transpose}, transpose_identity},
      {"transpose(transpose(x)) → transpose(x)", "the orders compose", {&K::transpose}, transpose_twice},
      {"reshape(reshape(x)) → reshape(x), likewise broadcast",
       "elements keep their order; repetitions compose",
       {&K::reshape, &K::broadcast},
       skip_inner},
      {"slice of everything → x", "no element is left out", {&K::slice}, slice_all},
      {"slice(slice(x)) → slice(x)", "starts add and steps multiply", {&K::slice}, slice_twice},
      {"pad by nothing → x", "no element is added", {&K::pad}, pad_nothing},
      {"concat or split of one part → x", "no element moves", {&K::concat, &K::split}, only_part},
      {"flip of axes of size 1 → x", "no element moves", {&K::flip}, flip_nothing},
      {"flip(flip(x)) → x", "the same axes are reversed twice", {&K::flip}, flip_twice},
      {"reduce_max over one element → x, likewise min, prod",
       "the extremum of one element is the element, and 1·x is x (a sum would start at +0)",
       {&K::reduce_max, &K::reduce_min, &K::reduce_prod},
       reduce_single},
      {"f(x, broadcast(y)) → f(x, y)", "elementwise ops repeat elements themselves", {}, implicit_broadcast},
      {"f(broadcast(x)) → broadcast(f(x))", "equal elements give equal results", {}, broadcast_last},
  };
  return rules;
}

}  // namespace tidemark
