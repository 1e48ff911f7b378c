// Running products, extremes and sums of exponentials along an axis: each result combines all elements up to
// its own. (cumsum is an op of its own, in functions.h.) They are made of about 2 log₂ n combinations of
// halves, quarters, … of the elements (a parallel prefix), which are differentiated as they stand: no
// division, so zeros are as good as any other value, and nothing grows beyond the results.
#pragma once
#include <utility>

#include "tidemark/trace/tensor.h"

namespace tidemark {

Tensor cumprod(const Operand& x, int axis);
Tensor cummax(const Operand& x, int axis);  // NaN stays from where it stands; equal elements share gradients
Tensor cummin(const Operand& x, int axis);
// The same with the position of each along the axis (i64), of equal elements that of the last: torch.cummax.
// Gradients go to these positions.
std::pair<Tensor, Tensor> cummax_with_indices(const Operand& x, int axis);
std::pair<Tensor, Tensor> cummin_with_indices(const Operand& x, int axis);
Tensor logcumsumexp(const Operand& x, int axis);  // log Σ exp x, without ever forming exp x

}  // namespace tidemark
