// Batch normalisation of x (N, C, …) as in training: each channel over the batch and all later dimensions,
// gain and bias (C). Mean and (population) variance of each channel are results, for running averages. With
// fixed statistics, as in inference, it is elementwise: (x - mean) · rsqrt(variance + eps) · gain + bias.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct BatchNormAttrs {
  double eps = 1e-5;
  TM_FIELDS(BatchNormAttrs, eps)
};

struct BatchNorm {
  Var y, mean, variance;
};
BatchNorm batch_norm(const Var& x, const Var& gain, const Var& bias, double eps = 1e-5);

struct NormForm;
NormForm batch_norm_form(const Call& call);

}  // namespace tidemark
