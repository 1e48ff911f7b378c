// The cross entropy of integer labels under softmax(x wᵀ), without the logits x wᵀ, which for a language
// model are the largest value of the whole program:
//
//   loss = log Σ e^logits - logits[label], one per example        total = Σ weights · loss
//
// Examples are taken in chunks: the logits of one chunk live in scratch, and before they are
// given up everything is made of them that anybody will ask for. Where reverse mode follows, that is the
// gradient of the total to x and w too: the logits' gradient is known as soon as they are, since the weights
// are, up to the one number that arrives at the total. So the logits are computed once, as when they are
// kept, where computing them again for the backward pass would be a product more, a third of the time. (Hsu
// et al. 2024, Liger Kernel, do so on GPUs.)
//
// Per-example losses of 16-bit operands, and the gradients, are f32: sums over chunks are rounded once. A
// label out of range is an error while running.
#pragma once
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct LinearCrossEntropyAttrs {
  bool ignore = false;            // examples labelled `ignore_index` have loss and gradient 0
  std::int64_t ignore_index = 0;  // read only when `ignore` is set
  bool columns = false;           // w is (D, C), a class a column, instead of (C, D)
  // Results beside total and loss, asked for by reverse mode: the gradients of the total.
  bool x_gradient = false, w_gradient = false;
  TM_FIELDS(LinearCrossEntropyAttrs, ignore, ignore_index, columns, x_gradient, w_gradient)
};

struct LinearCrossEntropy {
  Var total, loss;  // (), (…)
};
// x (…, D), w (C, D), labels (…), weights (…).
LinearCrossEntropy linear_cross_entropy(const Var& x, const Var& w, const Var& labels, const Var& weights,
                                        const LinearCrossEntropyAttrs& attrs = {});

}  // namespace tidemark
