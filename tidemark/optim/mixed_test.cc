#include "tidemark/optim/mixed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

struct Layer {
  Tensor weight, bias;
  TM_FIELDS(Layer, weight, bias)
};
Layer layer() { return {random_normal(key(1), {8, 4}), zeros({4})}; }
Tensor loss(const Layer& p, Tensor x, Tensor y) {
  const Tensor difference = matmul(x, p.weight) + p.bias - y;
  return mean(square(cast(difference, DType::f32)));
}

template <class Tree>
std::vector<std::byte> bits(const Tree& tree) {
  std::vector<std::byte> all;
  for_each_tensor(tree, [&](const std::string&, const Tensor& t) {
    const std::byte* begin = t.bytes();
    all.insert(all.end(), begin, begin + t.type().bytes());
  });
  return all;
}

TEST(Mixed, TheLossIsComputedInSixteenBitsAndTheMastersStayF32) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    DType seen = DType::f32, data = DType::f32, labels = DType::f32;
    const auto watched = [&](const Layer& p, Tensor x, Tensor y, Tensor l) {
      seen = p.weight.dtype(), data = x.dtype(), labels = l.dtype();
      return loss(p, x, y);
    };
    const Sgd sgd{.lr = 0.1};
    const Tensor x = random_normal(key(2), {16, 8}), y = random_normal(key(3), {16, 4});
    const auto [state, value] =
        step(sgd, computed_in(dtype, watched))(sgd.init(layer()), x, y, zeros({3}, DType::i32));
    EXPECT_EQ(seen, dtype);
    EXPECT_EQ(data, dtype);
    EXPECT_EQ(labels, DType::i32);
    EXPECT_EQ(state.parameters.weight.dtype(), DType::f32);
    const auto exact = step(sgd, loss)(sgd.init(layer()), x, y).first;
    const auto got = state.parameters.weight.to_vector(), expected = exact.parameters.weight.to_vector();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0.02);
  }
}

TEST(Mixed, ChangesTooSmallForTheComputingDtypeAddUpInTheMasters) {
  const auto slope = [](const Tensor& w) { return sum(w); };
  const Sgd sgd{.lr = 1.0 / 4096};
  const auto train = compile(step(sgd, computed_in(DType::bf16, slope)), {.donate = {0}});
  auto state = sgd.init(ones({2}));
  for (int t = 0; t < 1024; ++t) state = train(state).first;
  EXPECT_EQ(state.parameters.to_vector()[0], 0.75);
}

// Any scale gives the same bits as none, as long as nothing overflows or vanishes: it is a power of two.
TEST(LossScale, APowerOfTwoDoesNotChangeWhatIsLearned) {
  const AdamW adamw{.lr = 0.01};
  const auto scaled = scale_loss(adamw, {.first = 1024, .interval = 3});
  const auto plain_train = compile(step(adamw, loss), {.donate = {0}});
  const auto train = compile(step(scaled, loss), {.donate = {0}});
  const Tensor x = random_normal(key(2), {16, 8}), y = random_normal(key(3), {16, 4});
  auto plain = adamw.init(layer());
  auto state = scaled.init(layer());
  for (int t = 1; t <= 10; ++t) {
    plain = plain_train(plain, x, y).first;
    state = train(state, x, y).first;
    EXPECT_EQ(bits(state.parameters), bits(plain.parameters)) << t;
    EXPECT_EQ(state.scale.item(), 1024 << (t / 3));
    EXPECT_EQ(state.finite.item(), t % 3);
  }
}

template <class Optimizer>
void expect_skipped(const Optimizer& optimizer, double poison) {
  const auto scaled =
      scale_loss(optimizer, {.first = 8, .growth = 4, .backoff = 0.25, .least = 1, .interval = 2});
  const auto train = compile(step(scaled, loss), {.donate = {0}});
  const Tensor x = random_normal(key(2), {16, 8}), y = random_normal(key(3), {16, 4});
  const Tensor bad = x + poison;
  auto state = scaled.init(layer());
  state = train(state, x, y).first;  // one good, so that moments are not zero
  using Inner = decltype(optimizer.init(layer()));
  const std::vector<std::byte> before = bits(static_cast<const Inner&>(state));
  double expected_scale = 8;
  for (int t = 0; t < 3; ++t) {  // 2, then no less than 1
    state = train(state, bad, y).first;
    expected_scale = std::max(1.0, expected_scale / 4);
    EXPECT_EQ(bits(static_cast<const Inner&>(state)), before);
    EXPECT_EQ(state.scale.item(), expected_scale);
    EXPECT_EQ(state.finite.item(), 0);
    EXPECT_EQ(state.steps.item(), 1);
  }
  state = train(state, x, y).first;
  EXPECT_EQ(state.steps.item(), 2);
  EXPECT_NE(bits(static_cast<const Inner&>(state)), before);
}

TEST(LossScale, AnUpdateWithAnInfinityOrNanIsSkippedAndTheStateKeptToTheBit) {
  for (const double poison : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    expect_skipped(Sgd{}, poison);
    expect_skipped(AdamW{}, poison);
    expect_skipped(Adafactor{}, poison);
    expect_skipped(with_ema(0.9, clip_norm(1.0, Lion{})), poison);
  }
}

TEST(LossScale, InF16SmallGradientsSurviveAndTheFirstScaleComesDownByItself) {
  // A gradient of 2⁻³⁰ is none in f16; times 2¹⁵ it is one. The loss itself is 2¹⁶ times larger at the start.
  const auto tiny = [](const Tensor& w) { return sum(w) * 0x1p-20 * 0x1p-8; };
  const Sgd sgd{.lr = 1};
  EXPECT_EQ(step(sgd, computed_in(DType::f16, tiny))(sgd.init(zeros({2}))).first.parameters.to_vector()[0],
            0);
  const auto scaled = scale_loss(sgd);
  const auto state = step(scaled, computed_in(DType::f16, tiny))(scaled.init(zeros({2}))).first;
  EXPECT_EQ(state.parameters.to_vector()[0], -0x1p-28);

  const auto large = [](const Tensor& w) { return sum(w) * 8; };
  const auto train = compile(step(scaled, computed_in(DType::f16, large)), {.donate = {0}});
  auto at = scaled.init(zeros({2}));
  for (int t = 0; t < 6; ++t) at = train(at).first;
  EXPECT_EQ(at.scale.item(), 4096);  // 8 · 8192 is beyond f16
  EXPECT_EQ(at.steps.item(), 3);
  EXPECT_EQ(at.parameters.to_vector()[0], -24);
}

TEST(LossScale, SettingsThatMakeNoSenseAreRefused) {
  for (const LossScale& wrong :
       {LossScale{.first = 0}, LossScale{.first = INFINITY}, LossScale{.growth = 0.5},
        LossScale{.backoff = 0}, LossScale{.backoff = 2}, LossScale{.least = 0}, LossScale{.interval = 0}}) {
    EXPECT_THROW(scale_loss(Sgd{}, wrong), Error);
  }
}

}  // namespace
}  // namespace tidemark::optim
