#include "tidemark/train/metrics.h"

#include <cmath>

#include <fmt/format.h>

namespace tidemark {
namespace {

void check_one_label_each(std::string_view metric, const Operand& logits, const Operand& labels) {
  const Tensor &x = logits.tensor(), &y = labels.tensor();
  bool fits = x.rank() == y.rank() + 1;
  for (int i = 0; fits && i < y.rank(); ++i) fits = x.size(i) == y.size(i);
  if (fits) return;
  fail(ErrorCode::shape_mismatch, {.what = fmt::format("{} of logits {} and labels {}", metric,
                                                       to_string(x.type()), to_string(y.type())),
                                   .expected = "logits (…, classes) and labels (…)",
                                   .where = logits.where()});
}

Tensor rows_of_ones(const Operand& classes, std::int64_t count) {
  const Tensor flat = reshape(cast(classes, DType::i64), {-1});
  return one_hot({flat, classes.where()}, count, DType::f64);
}

}  // namespace

Tensor accuracy(const Operand& logits, const Operand& labels) {
  check_one_label_each("accuracy", logits, labels);
  const Tensor best = argmax(logits, -1);
  return mean(cast(best == cast(labels, DType::i64), DType::f32));
}

Tensor top_k_accuracy(const Operand& logits, const Operand& labels, std::int64_t k) {
  check_one_label_each("top_k_accuracy", logits, labels);
  const Tensor best = top_k(logits, k).second;
  const Tensor wanted = expand_dims(cast(labels, DType::i64), -1);
  return mean(max(cast(cast(best, DType::i64) == wanted, DType::f32), {-1}));
}

Tensor confusion_matrix(const Operand& predicted, const Operand& labels, std::int64_t classes) {
  const Tensor &of = predicted.tensor(), &to = labels.tensor();
  if (of.shape() != to.shape()) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("confusion_matrix of predictions {} and labels {}",
                                                         to_string(of.type()), to_string(to.type())),
                                     .expected = "two tensors of one shape",
                                     .where = predicted.where()});
  }
  const Tensor rows = rows_of_ones(labels, classes), columns = rows_of_ones(predicted, classes);
  return cast(matmul(transpose(rows), columns), DType::i64);  // counts are exact in f64
}

double perplexity(double loss) { return std::exp(loss); }

}  // namespace tidemark
