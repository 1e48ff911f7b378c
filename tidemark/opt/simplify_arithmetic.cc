#include <cmath>

#include "tidemark/opt/simplify_rule.h"

namespace tidemark {
namespace {

using K = KnownOps;

bool floating(const Site& s) { return is_float(s.type().dtype); }

// For op(x, c) and, if `commutes`, op(c, x): becomes x.
bool drop_uniform(Site& s, double number, bool commutes) {
  if (s.is_uniform(s.operand(1), number) && s.become(s.operand(0))) return true;
  return commutes && s.is_uniform(s.operand(0), number) && s.become(s.operand(1));
}

bool mul_one(Site& s) { return drop_uniform(s, 1, true); }
bool div_one(Site& s) { return drop_uniform(s, 1, false); }
bool add_zero(Site& s) { return drop_uniform(s, floating(s) ? -0.0 : 0.0, true); }
bool sub_zero(Site& s) { return drop_uniform(s, 0, false); }

bool mul_minus_one(Site& s) {
  for (std::size_t i : {0u, 1u}) {
    if (s.is_uniform(s.operand(1 - i), -1) && s.graph.type(s.operand(i)) == s.type()) {
      return s.become(s.ops.neg, {s.operand(i)});
    }
  }
  return false;
}

// The scale of a power of two, when the reciprocal is a normal number of the dtype too.
std::optional<double> exact_reciprocal(DType dtype, double c) {
  int exponent = 0;
  if (std::abs(std::frexp(c, &exponent)) != 0.5) return {};
  const int bound = dtype == DType::f16 ? 14 : dtype == DType::f64 ? 1022 : 126;
  if (std::abs(exponent - 1) > bound) return {};
  return 1 / c;
}

bool div_power_of_two(Site& s) {
  if (!floating(s) || !s.ops.constant || !s.ops.mul || s.graph.type(s.operand(0)) != s.type()) return false;
  const std::optional<double> c = s.uniform(s.operand(1));
  const std::optional<double> reciprocal = c ? exact_reciprocal(s.type().dtype, *c) : std::nullopt;
  if (!reciprocal) return false;
  const ValueId factor =
      s.add(*s.ops.constant, {},
            attrs_with(*s.ops.constant, {{"value", scalar_literal(s.type().dtype, *reciprocal)}}));
  return s.become(s.ops.mul, {s.operand(0), factor});
}

bool involution(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.node.op);
  return inner && s.become(inner->operands[0]);
}
bool idempotent(Site& s) { return s.made_by(s.operand(0), s.node.op) && s.become(s.operand(0)); }

bool even_function(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.neg);
  if (!inner) inner = s.made_by(s.operand(0), s.ops.abs);
  if (s.node.op == s.ops.abs && s.type().dtype == DType::u8) return false;  // -1 is 255, and so is its abs
  return inner && s.become(s.node.op, {inner->operands[0]});
}

bool add_neg(Site& s) {
  if (const Node* right = s.made_by(s.operand(1), s.ops.neg)) {
    return s.become(s.ops.sub, {s.operand(0), right->operands[0]});
  }
  if (const Node* left = s.made_by(s.operand(0), s.ops.neg)) {
    return s.become(s.ops.sub, {s.operand(1), left->operands[0]});
  }
  return false;
}
bool sub_neg(Site& s) {
  const Node* right = s.made_by(s.operand(1), s.ops.neg);
  return right && s.become(s.ops.add, {s.operand(0), right->operands[0]});
}
bool both_negated(Site& s) {
  if (s.node.op == s.ops.div && !floating(s)) return false;  // the least number is its own negative
  const Node *left = s.made_by(s.operand(0), s.ops.neg), *right = s.made_by(s.operand(1), s.ops.neg);
  return left && right && s.become(s.node.op, {left->operands[0], right->operands[0]});
}

bool same_operands(Site& s) { return s.operand(0) == s.operand(1) && s.become(s.operand(0)); }
bool and_true(Site& s) { return drop_uniform(s, 1, true); }
bool or_false(Site& s) { return drop_uniform(s, 0, true); }

bool not_equality(Site& s) {
  if (const Node* inner = s.made_by(s.operand(0), s.ops.equal))
    return s.become(s.ops.not_equal, inner->operands);
  if (const Node* inner = s.made_by(s.operand(0), s.ops.not_equal))
    return s.become(s.ops.equal, inner->operands);
  return false;
}

bool select_known(Site& s) {
  const std::optional<double> condition = s.uniform(s.operand(0));
  if (!condition) return false;
  const ValueId chosen = s.operand(*condition != 0 ? 1 : 2);
  if (s.become(chosen)) return true;
  return s.ops.broadcast &&
         s.become(s.ops.broadcast, {chosen}, attrs_with(*s.ops.broadcast, {{"shape", s.type().shape}}));
}
bool select_same(Site& s) { return s.operand(1) == s.operand(2) && s.become(s.operand(1)); }
bool select_not(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.logical_not);
  return inner && s.become(s.ops.select, {inner->operands[0], s.operand(2), s.operand(1)});
}

bool cast_to_itself(Site& s) { return s.become(s.operand(0)); }

// Every number of `a` is a number of `b`.
bool embeds(DType a, DType b) {
  if (a == b || a == DType::boolean) return true;
  switch (a) {
    case DType::f16:
    case DType::bf16:
      return b == DType::f32 || b == DType::f64;
    case DType::f32:
    case DType::i32:
      return b == DType::f64 || (a == DType::i32 && b == DType::i64);
    case DType::u8:
      return b != DType::boolean;
    default:
      return false;
  }
}
bool cast_back(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.cast);
  if (!inner) return false;
  const ValueId x = inner->operands[0];
  const DType from = s.graph.type(x).dtype, through = s.graph.type(s.operand(0)).dtype;
  return embeds(from, through) && s.become(x);
}
bool cast_through_wider_float(Site& s) {
  const Node* inner = s.made_by(s.operand(0), s.ops.cast);
  if (!inner) return false;
  const ValueId x = inner->operands[0];
  const DType from = s.graph.type(x).dtype, through = s.graph.type(s.operand(0)).dtype;
  if (!is_float(from) || !embeds(from, through) || !floating(s)) return false;
  return s.become(s.ops.cast, {x}, s.node.attrs);
}

}  // namespace

std::span<const Rule> arithmetic_rules() {
  static const std::vector<Rule> rules = {
      {"mul(x, 1) → x", "a product with 1 is x, also for ±0, ±inf and subnormals", {&K::mul}, mul_one},
      {"div(x, 1) → x", "a quotient by 1 is x, also for ±0, ±inf and subnormals", {&K::div}, div_one},
      {"add(x, -0) → x",
       "x + -0 is x for every x: +0 + -0 = +0, -0 + -0 = -0; integers: x + 0",
       {&K::add},
       add_zero},
      {"sub(x, +0) → x", "x - +0 is x for every x: -0 - +0 = -0", {&K::sub}, sub_zero},
      {"mul(x, -1) → neg(x)", "both only change the sign", {&K::mul}, mul_minus_one},
      {"div(x, 2^k) → mul(x, 2^-k)",
       "both round the same real number once; 2^-k is a normal number of the dtype, so exact itself",
       {&K::div},
       div_power_of_two},
      {"neg(neg(x)) → x",
       "the sign changes twice; integers wrap around back",
       {&K::neg, &K::logical_not},
       involution},
      {"abs(abs(x)) → abs(x), likewise relu, floor, ceil, round",
       "the function maps each of its results to itself",
       {&K::abs, &K::relu, &K::floor, &K::ceil, &K::round},
       idempotent},
      {"square(neg(x)) → square(x), likewise abs",
       "(-x)·(-x) and x·x round the same real number; |−x| = |x|, where numbers have signs",
       {&K::square, &K::abs},
       even_function},
      {"add(x, neg(y)) → sub(x, y)",
       "IEEE 754 defines x - y as x + (-y); x + y commutes",
       {&K::add},
       add_neg},
      {"sub(x, neg(y)) → add(x, y)", "IEEE 754 defines x - y as x + (-y)", {&K::sub}, sub_neg},
      {"mul(neg(x), neg(y)) → mul(x, y), likewise div",
       "the signs cancel before the one rounding; integers: only products, which wrap around alike",
       {&K::mul, &K::div},
       both_negated},
      {"maximum(x, x) → x, likewise minimum, and, or",
       "the result is one of the two operands",
       {&K::maximum, &K::minimum, &K::logical_and, &K::logical_or},
       same_operands},
      {"and(x, true) → x", "truth table", {&K::logical_and}, and_true},
      {"or(x, false) → x", "truth table", {&K::logical_or}, or_false},
      {"not(x = y) → x ≠ y and back",
       "≠ is the negation of =, with a NaN too (unlike < and ≥)",
       {&K::logical_not},
       not_equality},
      {"select(constant, a, b) → a or b", "copies the chosen elements", {&K::select}, select_known},
      {"select(c, a, a) → a", "copies the same element either way", {&K::select}, select_same},
      {"select(not(c), a, b) → select(c, b, a)", "the same elements are chosen", {&K::select}, select_not},
      {"cast(x) to its own dtype → x", "nothing is rounded", {&K::cast}, cast_to_itself},
      {"cast(cast(x)) back → x", "the dtype between holds every number of x's dtype", {&K::cast}, cast_back},
      {"cast(cast(x)) through a wider float → cast(x)",
       "the first cast rounds nothing, so the number is rounded once either way",
       {&K::cast},
       cast_through_wider_float},
  };
  return rules;
}

}  // namespace tidemark
