// Algebraic simplification, by rules that keep every bit of every result: our promise is that a program gives
// the same bits whether or not it was simplified, recomputed or fused. What sounds right over the reals is
// often not exact:
//
//   x + 0     changes -0 to +0           (x + -0 and x - 0 are exact)
//   x · 0     is not 0 for inf and NaN
//   0 - x     is +0 for x = 0, -x is -0
//   -(a - b)  is not b - a when a = b
//   !(a < b)  is not a ≥ b with a NaN
//   sum over no axis starts at +0 and so changes -0
//   x^2, x^½  pow may round differently from x·x and sqrt
//
// Each rule states why it is exact. A NaN stays a NaN; which NaN (sign, payload) is outside the promise, as
// it is in IEEE 754. Rules replace nodes; what they leave unused, dce removes.
#pragma once
#include <span>
#include <string_view>

#include "tidemark/ir/graph.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph simplify(const Graph& graph, const KnownOps& ops);

struct RuleText {
  std::string_view name;  // "mul(x, 1) → x"
  std::string_view why;   // why it is exact
};
std::vector<RuleText> simplify_rules();

}  // namespace tidemark
