#include "tidemark/train/metrics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

const std::vector<float> scores = {3, 2, 1, 0, 1, 2, 5, 4, 0, 0, 9, 8};

TEST(Metrics, CountExamplesThatAreRight) {
  const Tensor logits = tensor(scores, {4, 3}), labels = tensor<std::int32_t>({0, 2, 1, 0});
  EXPECT_EQ(accuracy(logits, labels).item(), 0.5);
  EXPECT_EQ(top_k_accuracy(logits, labels, 1).item(), 0.5);
  EXPECT_EQ(top_k_accuracy(logits, labels, 2).item(), 0.75);
  EXPECT_EQ(top_k_accuracy(logits, labels, 3).item(), 1);
  const Tensor by_pixel = reshape(logits, {2, 2, 3});
  EXPECT_EQ(accuracy(by_pixel, reshape(labels, {2, 2})).item(), 0.5);
}

TEST(Metrics, AConfusionMatrixHasALabelARow) {
  const Tensor predicted = tensor<std::int64_t>({0, 1, 1, 2}), labels = tensor<std::int32_t>({0, 1, 2, 2});
  EXPECT_EQ(confusion_matrix(predicted, labels, 3).to_vector(),
            (std::vector<double>{1, 0, 0, 0, 1, 0, 0, 1, 1}));
}

TEST(Metrics, AMeanWeighsItsBatches) {
  Mean mean;
  EXPECT_TRUE(std::isnan(mean.value()));
  mean.add(1, 3), mean.add(5);
  EXPECT_EQ(mean.value(), 2);
  mean.reset(), mean.add(7);
  EXPECT_EQ(mean.value(), 7);
  EXPECT_NEAR(perplexity(std::log(4.0)), 4, 1e-12);
}

TEST(Metrics, TakeOneLabelForEachExample) {
  const Tensor logits = tensor(scores, {4, 3}), labels = tensor<std::int32_t>({0, 2, 1, 0});
  for (const Shape& shape : {Shape{4, 1}, Shape{1, 4}, Shape{2, 2}}) {
    const Tensor other = reshape(labels, shape);
    EXPECT_EQ(testing::code_of([&] { accuracy(logits, other); }), ErrorCode::shape_mismatch);
    EXPECT_EQ(testing::code_of([&] { top_k_accuracy(logits, other, 2); }), ErrorCode::shape_mismatch);
    EXPECT_EQ(testing::code_of([&] { confusion_matrix(labels, other, 3); }), ErrorCode::shape_mismatch);
  }
  const Tensor one = tensor<std::int32_t>({0});
  EXPECT_EQ(testing::code_of([&] { accuracy(logits, one); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { top_k_accuracy(logits, one, 1); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(accuracy(tensor(std::vector<float>{1, 2}, {2}), scalar(1, DType::i32)).item(), 1);
}

}  // namespace
}  // namespace tidemark
