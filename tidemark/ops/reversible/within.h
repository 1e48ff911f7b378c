// Elementwise functions that can be undone where their operand stays within a range, up to rounding: the
// steeper the inverse gets towards the ends of the range, the more an error grows (Op::conditioning).
//
//   function   |operand|        computed back as        an error grows by
//   exp        ≤ range          log y                   eʳ
//   log        of log x ≤ range exp y                   eʳ
//   tanh       ≤ range          atanh y                 cosh² r
//   sigmoid    ≤ range          log y − log1p(−y)       2 + 2 cosh r
//   softplus   ≤ range          y + log(−expm1(−y))     1 + eʳ
//   sinh       any              asinh y                 1
//   asinh      ≤ range          sinh y                  √(1 + r²)
//
// It has no kernel: what it is made of does, and is fused like anything else. Its rule reads the result
// alone.
#pragma once
#include <array>
#include <string_view>

#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

enum class RangeFunction : std::uint8_t { exp, log, tanh, sigmoid, softplus, sinh, asinh };
inline constexpr std::array<std::string_view, 7> range_function_names = {
    "exp", "log", "tanh", "sigmoid", "softplus", "sinh", "asinh"};

struct WithinAttrs {
  std::int64_t function = 0;  // a RangeFunction
  double range = 1;           // above 0
  TM_FIELDS(WithinAttrs, function, range)
};
Var within(const Var& x, RangeFunction function, double range);

}  // namespace tidemark
