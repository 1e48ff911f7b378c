// Training steps of whole models, computed in micro-batches: as those of the whole batch, or refused by name.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tiny_models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/session.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/split_batch.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

// The step of a model for so many examples.
using Make = std::function<tiny::TinyModel(std::int64_t batch)>;

Graph in_parts(const Make& make, std::int64_t batch, std::int64_t count) {
  const Graph full = make(batch).step, small = make(batch / count).step;
  std::vector<bool> batched;
  for (std::size_t i = 0; i < full.inputs().size(); ++i)
    batched.push_back(full.type(full.inputs()[i].value) != small.type(small.inputs()[i].value));
  return split_batch({.full = full, .small = small, .batched = batched, .parts = count, .where = {}},
                     find_op);
}

std::vector<Tensor> outputs_of(const Graph& step, const tiny::TinyModel& model) {
  Program program(step, {}, default_device());
  std::vector<Tensor> inputs = model.inputs();
  return program.run(inputs, {});
}

// What one step makes of parameters, moments and loss, against the step of the whole batch: moments are
// gradients, so they say more than parameters, which hardly change.
void expect_as_whole_model(const Make& make, std::int64_t batch = 8) {
  const tiny::TinyModel model = make(batch);
  const std::vector<Tensor> want = outputs_of(model.step, model);
  for (const std::int64_t count : {2, 4}) {
    SCOPED_TRACE(fmt::format("{} in {}", model.name, count));
    const std::vector<Tensor> got = outputs_of(in_parts(make, batch, count), model);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!is_float(want[i].dtype())) continue;
      const std::vector<double> a = got[i].to_vector(), b = want[i].to_vector();
      double most = 0, largest = 1e-30;
      for (std::size_t k = 0; k < a.size(); ++k) {
        most = std::max(most, std::abs(a[k] - b[k]));
        largest = std::max(largest, std::abs(b[k]));
      }
      EXPECT_LE(most / largest, 4e-6) << "output " << i;
    }
  }
}

std::string refusal_of(const Make& make) {
  try {
    in_parts(make, 8, 4);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ModelsInMicroBatches, StepAsTheWholeBatchDoes) {
  // Without an optimizer whose first step is the gradient's sign: gradients are compared, not signs.
  expect_as_whole_model([](std::int64_t batch) { return tiny::mlp(batch); });
  expect_as_whole_model([](std::int64_t batch) { return tiny::lstm(8, batch); });
  expect_as_whole_model([](std::int64_t batch) { return tiny::vgg(batch); });
}

TEST(ModelsInMicroBatches, GradientsOfTransformersAreThoseOfTheWholeBatch) {
  const auto with_momentum = [](auto init, const Tensor& x, const Tensor& labels) {
    return tiny::classifier("transformer", nn::OptimizerKind::momentum, init, x, labels);
  };
  expect_as_whole_model([&](std::int64_t batch) {
    const nn::GptConfig config{.layers = 2, .width = 32, .heads = 4, .vocabulary = 64, .context = 16};
    return with_momentum([config] { return nn::Gpt::init(key(0), config); },
                         tiny::random_labels(7, {batch, 16}, 64), tiny::random_labels(8, {batch, 16}, 64));
  });
  expect_as_whole_model([&](std::int64_t batch) {
    const nn::LlamaConfig config{
        .layers = 2, .width = 32, .heads = 4, .kv_heads = 2, .hidden = 48, .vocabulary = 64};
    return with_momentum([config] { return nn::Llama::init(key(0), config); },
                         tiny::random_labels(7, {batch, 16}, 64), tiny::random_labels(8, {batch, 16}, 64));
  });
  expect_as_whole_model([&](std::int64_t batch) {
    const nn::VitConfig config{.layers = 2, .width = 32, .heads = 4, .patch = 4, .side = 16, .classes = 10};
    return with_momentum([config] { return nn::Vit::init(key(0), config); }, tiny::random_images(batch, 16),
                         tiny::random_labels(8, {batch}, 10));
  });
}

// As many micro-batches as examples, of which some have no label that counts: their share is nothing, not
// NaN.
TEST(ModelsInMicroBatches, ExamplesOneByOneOfWhichSomeHaveNoLabels) {
  const Tensor x = random_normal(key(1), {6, 5}), w = random_normal(key(2), {5, 3});
  const auto expect_as_whole = [&](const auto& loss, const Tensor& labels) {
    const auto [value, slope] = compile(value_and_grad(loss))(w, x, labels);
    const auto [got, got_slope] = compile(value_and_grad(loss), {.accumulate = 6})(w, x, labels);
    EXPECT_NEAR(got.item(), value.item(), 1e-6);
    const std::vector<double> want = slope.to_vector(), have = got_slope.to_vector();
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-6);
  };
  for (const std::vector<std::int64_t>& some :
       {std::vector<std::int64_t>{-1, 0, -1, 2, 1, -1}, std::vector<std::int64_t>(6, -1)}) {
    const Tensor labels = tensor(some, {6}), weights = tensor({1.0F, 2.0F, 0.5F});
    for (const double smoothing : {0.0, 0.1}) {
      for (const Tensor& weighted : {Tensor(), weights}) {
        const nn::ClassLossOptions options{.ignore = -1, .smoothing = smoothing, .weights = weighted};
        expect_as_whole([&](Tensor own, Tensor in,
                            Tensor out) { return nn::classification_loss(matmul(in, own), out, options); },
                        labels);
        expect_as_whole([&](Tensor own, Tensor in,
                            Tensor out) { return nn::nll_loss(log_softmax(matmul(in, own)), out, options); },
                        labels);
      }
    }
    expect_as_whole(
        [&](Tensor own, Tensor in, Tensor out) {
          return linear_cross_entropy(in, own, out, {.ignore = true, .ignore_index = -1, .columns = true});
        },
        labels);
  }
}

TEST(ModelsInMicroBatches, BatchNormalisationIsRefusedByName) {
  for (const Make& make : {Make([](std::int64_t batch) { return tiny::resnet18(batch); }),
                           Make([](std::int64_t batch) { return tiny::mobilenet(batch); })}) {
    EXPECT_THAT(refusal_of(make),
                ::testing::HasSubstr("batch_norm takes the examples of the batch together"));
  }
}

}  // namespace
}  // namespace tidemark
