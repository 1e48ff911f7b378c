#include "tidemark/nn/losses.h"

#include "tidemark/trace/functions.h"

namespace tidemark::nn {

Tensor classification_loss(const Tensor& logits, const Tensor& labels) {
  return mean(cross_entropy(logits, labels));
}

Tensor squared_error(const Tensor& x, const Tensor& y) { return mean(square(x - y)); }

}  // namespace tidemark::nn
