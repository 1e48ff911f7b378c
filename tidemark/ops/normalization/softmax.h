// Softmax and its logarithm along one axis, stable at any finite input: the maximum is taken off first.
//
//   softmax:     y = e^(x - max) / Σ e^(x - max)       gradient from y alone:  y (g - Σ g y)
//   log_softmax: y = x - max - log Σ e^(x - max)       gradient from y alone:  g - e^y Σ g
//
// The operand x is not needed once y exists, so a backward pass never keeps both.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

Var softmax(const Var& x, int axis);      // a negative axis counts from the end
Var log_softmax(const Var& x, int axis);  // likewise

// The gradients as ops of their own, each one pass over rows; `y` is the result, `g` its gradient.
Var softmax_grad(const Var& y, const Var& g, int axis);
Var log_softmax_grad(const Var& y, const Var& g, int axis);

}  // namespace tidemark
