// Losses that models share.
#pragma once
#include "tidemark/trace/model_functions.h"

namespace tidemark::nn {

// The mean cross entropy of logits (…, classes) and integer labels (…).
Tensor classification_loss(const Tensor& logits, const Tensor& labels);

// The mean squared error of two tensors of one shape.
Tensor squared_error(const Tensor& x, const Tensor& y);

}  // namespace tidemark::nn
