// Root-mean-square normalisation over the last dimensions of x, as many as gain has:
//   y = x / √(mean of x² + eps) · gain
// 1/√… is the op's second result, with the normalised dimensions kept at size 1 (see normalize.h).
#pragma once
#include "tidemark/ops/normalization/layer_norm.h"

namespace tidemark {

Var rms_norm(const Var& x, const Var& gain, double eps = 1e-5);

NormForm rms_norm_form(const Call& call);  // its attributes are LayerNormAttrs

}  // namespace tidemark
