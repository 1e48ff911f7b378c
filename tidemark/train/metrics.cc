#include "tidemark/train/metrics.h"

namespace tidemark {

Tensor accuracy(const Operand& logits, const Operand& labels) {
  const Tensor best = argmax(logits, -1);
  return mean(cast(best == cast(labels, DType::i64), DType::f32));
}

Tensor top_k_accuracy(const Operand& logits, const Operand& labels, std::int64_t k) {
  const Tensor best = top_k(logits, k).second;
  const Tensor wanted = expand_dims(cast(labels, DType::i64), -1);
  return mean(max(cast(cast(best, DType::i64) == wanted, DType::f32), {-1}));
}

Tensor confusion_matrix(const Operand& predicted, const Operand& labels, std::int64_t classes) {
  const Tensor rows = one_hot(reshape(cast(labels, DType::i64), {-1}), classes, DType::f64);
  const Tensor columns = one_hot(reshape(cast(predicted, DType::i64), {-1}), classes, DType::f64);
  return cast(matmul(transpose(rows), columns), DType::i64);  // counts are exact in f64
}

}  // namespace tidemark
