// What people look at beside the loss. Functions of tensors run inside a compiled step or at once; `Mean`
// adds up plain numbers over batches.
#pragma once
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"

namespace tidemark {

// The share of examples whose largest logit is their label's: logits (…, C), labels (…); f32.
Tensor accuracy(const Operand& logits, const Operand& labels);
// The same for one of the k largest.
Tensor top_k_accuracy(const Operand& logits, const Operand& labels, std::int64_t k);
// i64 (C, C): how many examples of class r (row) were taken for class c (column). Both (…), below C.
Tensor confusion_matrix(const Operand& predicted, const Operand& labels, std::int64_t classes);

// A mean of numbers with weights (the sizes of batches, of which the last may be smaller).
class Mean {
 public:
  void add(double value, double weight = 1) { sum_ += value * weight, weight_ += weight; }
  double value() const { return sum_ / weight_; }  // NaN: nothing was added
  double weight() const { return weight_; }
  void reset() { sum_ = weight_ = 0; }

 private:
  double sum_ = 0, weight_ = 0;
};

// e^loss: of how many tokens, all as likely, the next one seems to be chosen. `loss`: a mean in nats.
double perplexity(double loss);

}  // namespace tidemark
