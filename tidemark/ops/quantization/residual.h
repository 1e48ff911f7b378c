// A forward value as a derivative rule reads it. It is the identity and a view, so it costs nothing; but it
// marks the one place where another may stand in for the value, such as a copy that waited in a smaller form:
// what the forward pass computes never passes through it.
//
//   v ──▶ forward readers        becomes, where it is decided so,    v ──▶ forward readers
//   └──▶ residual ──▶ rules                                          └──▶ quantize ──▶ dequantize ──▶ rules
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct ResidualAttrs {
  // The form that the user asked for (ops/codec/form.h). Empty: whoever plans may choose one.
  // `exact_residual`: one that keeps the bits, or the same value computed in another way
  // (autodiff/inverses.h).
  std::string format = "";
  TM_FIELDS(ResidualAttrs, format)
};

inline constexpr std::string_view exact_residual = "exact";

Var residual(const Var& x, std::string format = "");

}  // namespace tidemark
