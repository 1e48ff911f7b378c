// A forward value as a derivative rule reads it. It is the identity and a view, so it costs nothing; but it
// marks the one place where a lossy copy may stand in for the value: what the forward pass computes never
// passes through it.
//
//   v ──▶ forward readers        becomes, where it is decided so,    v ──▶ forward readers
//   └──▶ residual ──▶ rules                                          └──▶ quantize ──▶ dequantize ──▶ rules
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct ResidualAttrs {
  std::string format = "";  // that the user asked for (quant_format.h); empty: whoever plans may choose one
  TM_FIELDS(ResidualAttrs, format)
};

Var residual(const Var& x, std::string format = "");

}  // namespace tidemark
