// The cross entropy of integer labels under softmax(logits), one loss per example, stable at any finite
// logits:
//
//   loss = log Σ e^logits - logits[label]        gradient: (e^(logits - logsumexp) - [class = label]) g
//
// The op also returns the logsumexp, one number per example, from which the gradient rebuilds the
// probabilities: nothing of the logits' size is kept but the logits, and their gradient may overwrite them.
// Losses of 16-bit logits are f32. A label out of range is an error while running.
#pragma once
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct CrossEntropyAttrs {
  bool ignore = false;            // examples labelled `ignore_index` have loss and gradient 0
  std::int64_t ignore_index = 0;  // read only when `ignore` is set
  TM_FIELDS(CrossEntropyAttrs, ignore, ignore_index)
};

struct CrossEntropy {
  Var loss, logsumexp;  // (…)
};
CrossEntropy cross_entropy(const Var& logits, const Var& labels,
                           const CrossEntropyAttrs& attrs = {});  // (…, C), (…)

}  // namespace tidemark
