// A forward value as a derivative rule reads it. It is the identity and a view, so it costs nothing; but it
// marks the one place where another may stand in for the value, such as a lossy copy: what the forward pass
// computes never passes through it.
//
//   v ──▶ forward readers        becomes, where it is decided so,    v ──▶ forward readers
//   └──▶ residual ──▶ rules                                          └──▶ quantize ──▶ dequantize ──▶ rules
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct ResidualAttrs {
  // That the user asked for (quant_format.h). Empty: whoever plans may choose one. `exact_residual`: none,
  // but the same value computed in another way may stand in (autodiff/inverses.h).
  std::string format = "";
  TM_FIELDS(ResidualAttrs, format)
};

inline constexpr std::string_view exact_residual = "exact";

Var residual(const Var& x, std::string format = "");

}  // namespace tidemark
