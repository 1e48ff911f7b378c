#include "tidemark/nn/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

const ResNetConfig little{.depths = {1, 1}, .width = 4, .classes = 3, .small_images = true};

void expect_close(const Tensor& x, const Tensor& y, double tolerance) {
  const std::vector<double> a = x.to_vector(), b = y.to_vector();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(BatchNorm2d, MovesRunningStatisticsTowardsTheBatch) {
  // One channel of 1, 2, 3, 6: mean 3, variance of the batch 3.5, of the population estimated as 14/3.
  const BatchNorm2d norm{ones({1}, DType::f64), zeros({1}, DType::f64)};
  const Tensor x = tensor(std::vector<double>{1, 2, 3, 6}, {2, 1, 1, 2});
  const auto [y, next] = norm.train(x, fresh_statistics(std::vector{norm})[0]);
  EXPECT_NEAR(next.mean.item(), 0.3, 1e-15);
  EXPECT_NEAR(next.variance.item(), 0.9 + 0.1 * 14 / 3, 1e-15);
  EXPECT_EQ(y.to_vector(), norm(x).to_vector());
  const auto [again, whole] = norm.train(x, next, 1);
  EXPECT_NEAR(whole.mean.item(), 3, 1e-15);
  const Tensor inferred = norm.infer(x, {whole.mean, tensor({3.5})});
  expect_close(inferred, y, 1e-12);
}

TEST(BatchNorm2d, InfersEachExampleForItself) {
  const BatchNorm2d norm{random_normal(key(1), {3}), random_normal(key(2), {3})};
  const RunningStatistics running{random_normal(key(3), {3}), random_uniform(key(4), {3}, 0.5, 2)};
  const Tensor x = random_normal(key(5), {4, 3, 5, 5}), y = norm.infer(x, running);
  EXPECT_EQ(norm.infer(x.at(Range{1, 2}), running).to_vector(), y.at(Range{1, 2}).to_vector());
  EXPECT_EQ(norm.infer(random_normal(key(5), {4, 3}), running).shape(), (Shape{4, 3}));
  EXPECT_EQ(norm.infer(random_normal(key(5), {4, 3, 2, 2, 2}), running).shape(), (Shape{4, 3, 2, 2, 2}));
  const Tensor coarse = norm.infer(cast(x, DType::bf16), running);
  EXPECT_EQ(coarse.dtype(), DType::bf16);
}

TEST(BatchNorm2d, GivesRunningStatisticsNoGradient) {
  const BatchNorm2d norm =
      map_tree([](const Tensor& w) { return cast(w, DType::f64); }, BatchNorm2d::init(2));
  const RunningStatistics running = fresh_statistics(std::vector{norm})[0];
  const Tensor x = random_normal(key(1), {3, 2, 2, 2}, 0, 1, DType::f64);
  const auto of_statistics = [&](Tensor in, RunningStatistics old) {
    const auto [y, next] = norm.train(in, old);
    return sum(next.mean) + sum(next.variance);
  };
  for (double g : grad([&](Tensor in) { return of_statistics(in, running); })(x).to_vector()) EXPECT_EQ(g, 0);
  const auto training = [&](BatchNorm2d p) { return sum(square(p.train(x, running).first)); };
  testing::expect_gradient(training, norm);
  const auto inference = [&](std::pair<BatchNorm2d, Tensor> p) {
    return sum(square(p.first.infer(p.second, running)));
  };
  testing::expect_gradient(inference, std::pair(norm, x));
}

TEST(BatchNorm2d, RefusesToLearnAVarianceFromOneNumber) {
  const BatchNorm2d norm = BatchNorm2d::init(3);
  const RunningStatistics running = fresh_statistics(std::vector{norm})[0];
  EXPECT_EQ(testing::code_of([&] { norm.train(ones({1, 3, 1, 1}), running); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { norm(ones({1, 3, 1, 1})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { norm(ones({1, 3})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(norm(ones({2, 3})).shape(), (Shape{2, 3}));
  EXPECT_EQ(norm.infer(ones({1, 3, 1, 1}), running).shape(), (Shape{1, 3, 1, 1}));
}

TEST(BatchNorm2d, RefusesOtherChannelsStatisticsAndMomenta) {
  const BatchNorm2d norm = BatchNorm2d::init(3);
  const RunningStatistics running = fresh_statistics(std::vector{norm})[0];
  // One channel, and a last dimension of three, would broadcast.
  for (const Shape& shape : {Shape{4, 1, 5, 5}, Shape{4, 6, 5, 5}, Shape{4, 1, 5, 3}, Shape{3}}) {
    const Tensor x = ones(shape);
    EXPECT_EQ(testing::code_of([&] { norm(x); }), ErrorCode::shape_mismatch) << to_string(shape);
    EXPECT_EQ(testing::code_of([&] { norm.train(x, running); }), ErrorCode::shape_mismatch)
        << to_string(shape);
    EXPECT_EQ(testing::code_of([&] { norm.infer(x, running); }), ErrorCode::shape_mismatch)
        << to_string(shape);
  }
  const Tensor x = ones({4, 3, 5, 5});
  const RunningStatistics one{zeros({1}), ones({1})}, mixed{zeros({3}), ones({3}, DType::f64)};
  for (const RunningStatistics& other : {one, mixed}) {
    EXPECT_EQ(testing::code_of([&] { norm.train(x, other); }), ErrorCode::shape_mismatch);
    EXPECT_EQ(testing::code_of([&] { norm.infer(x, other); }), ErrorCode::shape_mismatch);
  }
  for (const double momentum : {-0.1, 1.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(testing::code_of([&] { norm.train(x, running, momentum); }), ErrorCode::bad_attribute)
        << momentum;
  }
  EXPECT_EQ(norm.train(x, running, 0).second.mean.to_vector(), running.mean.to_vector());
}

TEST(BatchNorm2d, NeverAveragesInSixteenBits) {
  const BatchNorm2d norm = BatchNorm2d::init(2);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto narrow = [&](const Tensor& t) { return cast(t, dtype); };
    const RunningStatistics running = map_tree(narrow, fresh_statistics(std::vector{norm})[0]);
    const auto [y, next] = map_tree(narrow, norm).train(cast(ones({3, 2, 2, 2}), dtype), running);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(next.mean.dtype(), DType::f32);
    EXPECT_EQ(next.variance.dtype(), DType::f32);
  }
}

// In mixed precision statistics are handed on as they are: in 16 bits, 1 - 2⁻¹⁰ would be 1 again.
TEST(NormStatistics, StayF32InMixedPrecision) {
  const auto loss = [](const BatchNorm2d& norm, const NormStatistics& old, Tensor x) {
    EXPECT_NE(norm.gain.dtype(), DType::f32);
    EXPECT_NE(x.dtype(), DType::f32);
    auto [y, next] = norm.train(x, old.at(0), 0x1p-10);
    return std::tuple(mean(cast(y, DType::f32)), NormStatistics{next});
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const optim::Sgd sgd{.lr = 0.1};
    const auto train = compile(optim::step(sgd, optim::computed_in(dtype, loss)), {.donate = {0, 1}});
    auto state = sgd.init(BatchNorm2d::init(2));
    NormStatistics statistics = fresh_statistics(std::vector{state.parameters});
    for (int t = 0; t < 2; ++t) {
      auto [next, values] = train(state, statistics, ones({3, 2, 2, 2}));  // variance 0
      state = next;
      statistics = std::get<1>(values);
    }
    EXPECT_EQ(statistics[0].mean.dtype(), DType::f32);
    EXPECT_EQ(statistics[0].variance.dtype(), DType::f32);
    const double kept = 1 - 0x1p-10;
    EXPECT_NEAR(statistics[0].variance.to_vector()[0], kept * kept, 1e-6);
    EXPECT_NEAR(statistics[0].mean.to_vector()[0], 1 - kept * kept, 1e-6);
  }
}

// Trains by the loop of batch_norm.h and infers what it has learnt.
TEST(NormStatistics, TravelThroughATrainingStepBesideTheLoss) {
  const auto loss = [](const ResNet& model, const NormStatistics& old, Tensor images, Tensor labels) {
    auto [logits, statistics] = model.train(images, old);
    return std::tuple(classification_loss(logits, labels), statistics);
  };
  const Tensor images = random_normal(key(1), {6, 3, 8, 8}, 1, 2);
  const Tensor labels = tensor(std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}, {6});
  const optim::Momentum momentum{.lr = 0.05};
  const auto train = compile(optim::step(momentum, loss), {.donate = {0, 1}, .effort = 0.005});
  auto state = momentum.init(ResNet::init(key(0), little));
  NormStatistics statistics = fresh_statistics(state.parameters);
  EXPECT_EQ(statistics.size(), 6u);
  std::vector<double> losses;
  for (int i = 0; i < 40; ++i) {
    auto [next, values] = train(state, statistics, images, labels);
    state = next;
    statistics = std::get<1>(values);
    losses.push_back(std::get<0>(values).item());
  }
  EXPECT_LT(losses.back(), 0.1 * losses.front());
  const Tensor logits = state.parameters.infer(images, statistics);
  EXPECT_EQ(argmax(logits, -1).to_vector(), labels.to_vector());
  // By itself, an image has the logits that it has among others.
  expect_close(state.parameters.infer(images.at(Range{2, 3}), statistics), logits.at(Range{2, 3}), 1e-5);
}

TEST(NormStatistics, AreTheFirstBatchsOwnWhenMovedAllTheWay) {
  // Each norm then infers what it trained on, up to the population's variance.
  const auto expect_agreement = [](const auto& model, const auto& train, const Tensor& trained) {
    NormStatistics statistics = fresh_statistics(model);
    for (int i = 0; i < 150; ++i) statistics = train(statistics);
    expect_close(model.infer(random_normal(key(7), {4, 3, 16, 16}), statistics), trained, 5e-2);
  };
  const Tensor images = random_normal(key(7), {4, 3, 16, 16});
  const UNet unet = UNet::init(key(0), {.width = 4, .levels = 1});
  expect_agreement(
      unet, [&](const NormStatistics& s) { return unet.train(images, s).second; }, unet(images));
  const MobileNet net = MobileNet::init(
      key(0), {.stem = 8, .last = 16, .classes = 3, .stages = {{1, 8, 1, 1}, {2, 8, 1, 1}}, .dropout = 0});
  EXPECT_EQ(fresh_statistics(net).size(), 7u);
  expect_agreement(
      net, [&](const NormStatistics& s) { return net.train(images, key(1), s).second; }, net(images, key(1)));
}

TEST(NormStatistics, MustBeOfTheModel) {
  const ResNet model = ResNet::init(key(0), little);
  NormStatistics statistics = fresh_statistics(model);
  const Tensor images = ones({2, 3, 8, 8});
  statistics.push_back(statistics.back());
  EXPECT_EQ(testing::code_of([&] { model.train(images, statistics); }), ErrorCode::structure_mismatch);
  EXPECT_EQ(testing::code_of([&] { model.infer(images, statistics); }), ErrorCode::structure_mismatch);
  std::uint32_t line = 0;
  try {
    line = __LINE__, model.infer(images, statistics);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().where.line, line) << error.what();
  }
  statistics.resize(2);
  EXPECT_EQ(testing::code_of([&] { model.infer(images, statistics); }), ErrorCode::structure_mismatch);
}

}  // namespace
}  // namespace tidemark::nn
