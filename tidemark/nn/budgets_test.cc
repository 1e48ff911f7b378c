// Layers and losses inside budgets and in micro-batches: the bits, and the sums, of the whole.
#include <gtest/gtest.h>

#include "tests/support/tiny_models.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

constexpr Effort little = 0.001;

// The results in a share of the memory against those without a budget, bit by bit.
template <class F, class... Args>
void expect_same_bits_within(double share, const F& f, const Args&... args) {
  const auto free = compile(f, {.effort = little});
  const std::vector<Tensor> want = tensors_of(free(args...));
  const Bytes memory(static_cast<std::int64_t>(share * static_cast<double>(free.plan().peak().count)));
  const auto tight = compile(f, {.memory = memory, .effort = little});
  const std::vector<Tensor> got = tensors_of(tight(args...));
  EXPECT_LE(tight.plan().peak(), memory);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_vector(), want[i].to_vector()) << i;
}

struct Listener {
  GruLayer gru;
  Linear head;
  TM_FIELDS(Listener, gru, head)
};
Listener listener() { return {GruLayer::init(key(0), 8, 16), Linear::init(key(1), 16, 6)}; }
Tensor listening_loss(const Listener& model, Tensor x, Tensor labels, Tensor steps, Tensor lengths) {
  const Tensor heard = model.gru.scanned(x, model.gru.start(x.size(1)), {.lengths = steps}).first;
  return ctc_loss(log_softmax(model.head(heard)), labels, steps, lengths);
}
struct Heard {
  Tensor x = random_normal(key(2), {12, 4, 8}), labels = tiny::random_labels(3, {4, 5}, 5) + 1;
  Tensor steps = tensor(std::vector<std::int64_t>{12, 10, 7, 12}, {4}),
         lengths = tensor(std::vector<std::int64_t>{5, 0, 3, 4}, {4});
};

TEST(LayersInBudgets, HearTheSameWithCtc) {
  const Heard heard;
  expect_same_bits_within(0.9, value_and_grad(listening_loss), listener(), heard.x, heard.labels, heard.steps,
                          heard.lengths);
}

TEST(LayersInBudgets, HaveTheSameRunningStatistics) {
  const auto loss = [](const ResNet& model, const NormStatistics& old, Tensor x, Tensor y) {
    auto [logits, statistics] = model.train(x, old);
    return std::tuple(classification_loss(logits, y), statistics);
  };
  const ResNet model =
      ResNet::init(key(0), {.depths = {1, 1}, .width = 4, .classes = 3, .small_images = true});
  const optim::Momentum momentum{.lr = 0.1};
  expect_same_bits_within(0.9, optim::step(momentum, loss), momentum.init(model), fresh_statistics(model),
                          tiny::random_images(4, 8), tiny::random_labels(3, {4}, 3));
}

TEST(LayersInMicroBatches, CountTheLabelsOfTheWholeBatch) {
  const Mlp model = Mlp::init(key(0), {6, 8, 5});
  const Tensor x = random_normal(key(1), {8, 6}), weights = random_uniform(key(2), {5}, 0.5, 2);
  // Micro-batches differ in how many labels count.
  const Tensor labels = tensor(std::vector<std::int32_t>{-1, -1, 3, -1, 0, 1, 2, 4}, {8});
  const auto loss = [](const Mlp& m, Tensor in, Tensor out, Tensor w) {
    return classification_loss(m(in), out, {.ignore = -1, .smoothing = 0.1, .weights = w});
  };
  const auto [value, gradient] = compile(value_and_grad(loss))(model, x, labels, weights);
  const auto parts = compile(value_and_grad(loss), {.batch_arguments = {1, 2}, .accumulate = 4});
  const auto [same, same_gradient] = parts(model, x, labels, weights);
  EXPECT_NEAR(same.item(), value.item(), 1e-6);
  const std::vector<Tensor> a = tensors_of(gradient), b = tensors_of(same_gradient);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LT(max(abs(a[i] - b[i])).item(), 1e-6);
}

}  // namespace
}  // namespace tidemark::nn
