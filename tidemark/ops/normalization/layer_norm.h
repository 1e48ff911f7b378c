// Layer normalisation over the last dimensions of x, as many as gain and bias have:
//   y = (x - mean) / √(variance + eps) · gain + bias
// The statistics, with the normalised dimensions kept at size 1, are further results of the op (see
// normalize.h).
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct LayerNormAttrs {
  std::int64_t dims = 1;  // how many trailing dimensions are normalised together
  double eps = 1e-5;
  TM_FIELDS(LayerNormAttrs, dims, eps)
};

Var layer_norm(const Var& x, const Var& gain, const Var& bias, double eps = 1e-5);

struct NormForm;
NormForm layer_norm_form(const Call& call);

}  // namespace tidemark
