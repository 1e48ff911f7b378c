// Whole training steps with the public interface on several threads: what users run, for ThreadSanitizer to
// look at. The sizes make products, normalisations and attention of more than one task each.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/tiny_models.h"

namespace tidemark {
namespace {

class ThreeThreads : public ::testing::Test {
 protected:
  ~ThreeThreads() override { set_threads(0); }

  struct Trained {
    std::vector<double> losses;
    std::vector<std::vector<double>> parameters;
    bool operator==(const Trained&) const = default;
  };

  // A few steps of a function compiled for so many threads, with the state donated.
  template <class Optimizer, class Model, class Loss>
  static Trained train(int threads, const Optimizer& optimizer, const Model& start, const Loss& loss,
                       const Tensor& x, const Tensor& y) {
    set_threads(threads);
    const auto step = compile(optim::step(optimizer, loss), {.donate = {0}, .effort = Effort::quick});
    auto state = optimizer.init(start);
    Trained trained;
    for (int i = 0; i < 3; ++i) {
      auto [after, value] = step(state, x, y);
      state = after;
      trained.losses.push_back(value.item());
    }
    for (const Tensor& t : tensors_of(state.parameters)) trained.parameters.push_back(t.to_vector());
    return trained;
  }
};

template <class Model>
Tensor loss(const Model& model, Tensor in, Tensor out) {
  return nn::classification_loss(model(in), out);
}

TEST_F(ThreeThreads, TrainAnMlpToTheBitsOfOne) {
  const auto run = [&](int threads) {
    return train(threads, optim::AdamW{.lr = 1e-3}, nn::Mlp::init(key(0), {64, 256, 256, 10}), loss<nn::Mlp>,
                 random_normal(key(7), {512, 64}), tiny::random_labels(8, {512}, 10));
  };
  const Trained one = run(1);
  EXPECT_LT(one.losses.back(), one.losses.front());
  EXPECT_EQ(run(3), one);
}

TEST_F(ThreeThreads, TrainATransformerToTheBitsOfOne) {
  const nn::GptConfig config{.layers = 2, .width = 64, .heads = 4, .vocabulary = 64, .context = 64};
  const auto run = [&](int threads) {
    return train(threads, optim::AdamW{.lr = 1e-3}, nn::Gpt::init(key(0), config), loss<nn::Gpt>,
                 tiny::random_labels(7, {4, 64}, 64), tiny::random_labels(8, {4, 64}, 64));
  };
  const Trained one = run(1);
  EXPECT_LT(one.losses.back(), one.losses.front());
  EXPECT_EQ(run(3), one);
}

TEST_F(ThreeThreads, GiveTheGradientsOfOneWithoutCompiling) {
  const auto gradients = [&](int threads) {
    set_threads(threads);
    const nn::Mlp model = nn::Mlp::init(key(0), {64, 192, 192, 10});
    const Tensor x = random_normal(key(7), {256, 64}), y = tiny::random_labels(8, {256}, 10);
    std::vector<std::vector<double>> values;
    for (const Tensor& t : tensors_of(grad(loss<nn::Mlp>)(model, x, y))) values.push_back(t.to_vector());
    return values;
  };
  EXPECT_EQ(gradients(3), gradients(1));
}

}  // namespace
}  // namespace tidemark
