// What an update takes of the plan's memory: parameters and state once, in place, and gradients one by one.
#include <gtest/gtest.h>

#include "tidemark/nn/models.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

using namespace optim;  // NOLINT: what is tested

constexpr std::int64_t width = 256;
constexpr int layers = 8;

Mlp net() { return Mlp::init(key(0), std::vector<std::int64_t>(layers + 1, width)); }
Tensor loss(const Mlp& net, Tensor x, Tensor y) { return mean(square(net(x) - y)); }
Tensor data() { return random_normal(key(1), {4, width}); }

constexpr std::int64_t layer_bytes = 4 * (width * width + width);
constexpr std::int64_t parameter_bytes = layers * layer_bytes;

template <class Optimizer>
PlannedGraph planned(const Optimizer& optimizer) {
  return compile(step(optimizer, loss), {.donate = {0}})
      .prepare(types_of(optimizer.init(net())), data(), data());
}

std::int64_t learned(const PeakSplit& split) {
  return split.of(PeakRole::parameters) + split.of(PeakRole::moments) + split.of(PeakRole::gradients);
}

// All that is not the network's values, at any time: the arena holds little else here.
TEST(Peaks, WithAdamWAreThreeTimesTheParametersAndOneLayersGradient) {
  const PlannedGraph plan = planned(AdamW{});
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_EQ(split.of(PeakRole::parameters), parameter_bytes);
  EXPECT_EQ(split.of(PeakRole::moments), 2 * parameter_bytes + 4);
  EXPECT_LE(learned(split), 3 * parameter_bytes + layer_bytes + 4);
  EXPECT_LE(split.most_gradients, layer_bytes);
  EXPECT_FALSE(split.all_needed);
  EXPECT_LE(plan.peak().count, 3 * parameter_bytes + layer_bytes + layer_bytes / 2);
}

TEST(Peaks, WithEightBitsAreLessThanSixteenTenthsOfTheParametersAndOneLayersGradient) {
  const PlannedGraph plan = planned(AdamW8bit{});
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_LE(learned(split) + split.of(PeakRole::temporaries), parameter_bytes * 16 / 10 + layer_bytes);
  EXPECT_LE(split.most_gradients, layer_bytes);
}

std::int64_t bytes_of(const auto& tree) {
  std::int64_t bytes = 0;
  for (const Tensor& t : tensors_of(tree)) bytes += t.type().bytes();
  return bytes;
}

// Parameters, moments (`state` times the parameters, beside scales and counts) and gradients at their most.
// `waiting` are bytes of gradients that cannot be used up yet, beside those of a layer.
void expect_one_layer(const PlannedGraph& plan, double state, const auto& model, std::int64_t layer,
                      std::int64_t waiting = 0) {
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_EQ(split.of(PeakRole::parameters), bytes_of(model));
  EXPECT_LE(split.most_gradients, layer + waiting);
  const std::int64_t learning =
      split.of(PeakRole::parameters) + split.of(PeakRole::moments) + split.most_gradients;
  EXPECT_LE(static_cast<double>(learning),
            state * static_cast<double>(bytes_of(model)) + static_cast<double>(layer + waiting) + 64);
}
template <class Model>
PlannedGraph planned_for(const auto& optimizer, const Model& model, const auto& of, const Tensor& x,
                         const Tensor& y, bool least = false) {
  CompileOptions options{.donate = {0}, .effort = Effort::quick};
  const auto types = types_of(optimizer.init(model));
  if (least) options.memory = compile(step(optimizer, of), options).smallest(types, x, y).memory;
  return compile(step(optimizer, of), options).prepare(types, x, y);
}
Tensor tokens_type() { return Tensor::of_type({DType::i32, {2, 24}}); }
template <class Model>
Tensor next_token_loss(const Model& model, Tensor tokens, Tensor next) {
  return model.loss(tokens, next);
}
template <class Model>
Tensor label_loss(const Model& model, Tensor images, Tensor labels) {
  return classification_loss(model(images), labels);
}

// A table that is embedding and head has its gradient when the last of it is known: the head's part waits for
// the embedding's, which is added onto it where it lies.
TEST(Peaks, OfAGptWithATiedTableHoldItsGradientOnceBesideThatOfALayer) {
  const Gpt gpt =
      Gpt::init(key(0), {.layers = 2, .width = 64, .heads = 2, .vocabulary = 1500, .context = 24});
  const std::int64_t table = gpt.token_table.type().bytes();
  ASSERT_LT(bytes_of(gpt.blocks[0]), table);
  const auto of = next_token_loss<Gpt>;
  const Tensor tokens = tokens_type();
  for (const bool least : {false, true}) {
    expect_one_layer(planned_for(AdamW{}, gpt, of, tokens, tokens, least), 3, gpt, bytes_of(gpt.blocks[0]),
                     table);
    expect_one_layer(planned_for(AdamW8bit{}, gpt, of, tokens, tokens, least), 1.6, gpt,
                     bytes_of(gpt.blocks[0]), table);
  }
}
TEST(Peaks, OfLanguageModelsWithTwoTablesHoldTheGradientOfOne) {
  const Llama llama = Llama::init(
      key(0), {.layers = 2, .width = 64, .heads = 2, .kv_heads = 2, .hidden = 128, .vocabulary = 1500});
  const std::int64_t table = llama.token_table.type().bytes();
  const auto of = next_token_loss<Llama>;
  expect_one_layer(planned_for(AdamW{}, llama, of, tokens_type(), tokens_type()), 3, llama, table);
  expect_one_layer(planned_for(AdamW8bit{}, llama, of, tokens_type(), tokens_type()), 1.6, llama, table);
}
TEST(Peaks, OfImageModelsHoldTheGradientOfALayer) {
  const Tensor images = Tensor::of_type({DType::f32, {2, 3, 32, 32}}),
               labels = Tensor::of_type({DType::i32, {2}});
  const Vit vit =
      Vit::init(key(0), {.layers = 3, .width = 64, .heads = 2, .patch = 8, .side = 32, .classes = 10});
  const ResNet resnet = ResNet::init(key(0), {.width = 16, .classes = 10});
  const auto vit_loss = label_loss<Vit>;
  const auto resnet_loss = label_loss<ResNet>;
  const std::int64_t layer = bytes_of(vit.blocks[0]), block = bytes_of(resnet.blocks.back());
  expect_one_layer(planned_for(AdamW{}, vit, vit_loss, images, labels), 3, vit, layer);
  expect_one_layer(planned_for(AdamW8bit{}, vit, vit_loss, images, labels), 1.6, vit, layer);
  expect_one_layer(planned_for(AdamW{}, resnet, resnet_loss, images, labels), 3, resnet, block);
  expect_one_layer(planned_for(AdamW8bit{}, resnet, resnet_loss, images, labels), 1.6, resnet, block);
}

TEST(Peaks, AGlobalNormAsksForAllGradientsAndTheSummarySaysSo) {
  const PlannedGraph plan = planned(clip_norm(1.0, AdamW{}));
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_TRUE(split.all_needed);
  EXPECT_GE(split.most_gradients, parameter_bytes * 9 / 10);
  EXPECT_NE(plan.summary().find("every update needs all of them"), std::string::npos);
  EXPECT_FALSE(
      peak_split(planned(clip_value(1.0, AdamW{})).graph, planned(clip_value(1.0, AdamW{})).plan).all_needed);
}

TEST(Peaks, TheirPartsAddUp) {
  for (const PlannedGraph& plan : {planned(Sgd{}), planned(Adafactor{}), planned(scale_loss(Lion{}))}) {
    const PeakSplit split = peak_split(plan.graph, plan.plan);
    std::int64_t sum = 0;
    for (const std::int64_t bytes : split.bytes) {
      EXPECT_GE(bytes, 0);
      sum += bytes;
    }
    EXPECT_EQ(sum, plan.peak().count);
    EXPECT_EQ(split.of(PeakRole::data), 2 * 4 * 4 * width);
  }
}

// What a gradient is taken of are parameters, whoever updates them; a function alone has arguments.
TEST(Peaks, OfFunctionsWithoutAnOptimizerHaveParametersWhereTheyHaveGradients) {
  const auto split_of = [](const auto& f) {
    const PlannedGraph plan = f.prepare(net(), data(), data());
    return peak_split(plan.graph, plan.plan);
  };
  const PeakSplit gradient = split_of(compile(value_and_grad(loss))), forward = split_of(compile(loss));
  EXPECT_EQ(gradient.of(PeakRole::parameters), parameter_bytes);
  EXPECT_EQ(gradient.of(PeakRole::data), 2 * 4 * 4 * width);
  EXPECT_EQ(forward.of(PeakRole::parameters), 0);
  EXPECT_EQ(forward.of(PeakRole::data), parameter_bytes + 2 * 4 * 4 * width);
}

// Every budget gives the same bits, whatever the optimizer.
template <class Optimizer>
void expect_same_bits(const Optimizer& optimizer) {
  const auto small = [] { return Mlp::init(key(0), {16, 64, 64, 8}); };
  const Tensor x = random_normal(key(2), {64, 16}), y = random_normal(key(3), {64, 8});
  const auto run = [&](const CompileOptions& options) {
    const auto train = compile(step(optimizer, loss), options);
    auto state = optimizer.init(small());
    for (int t = 0; t < 3; ++t) state = train(state, x, y).first;
    std::vector<std::byte> bits;
    for_each_tensor(state, [&](const std::string&, const Tensor& tensor) {
      bits.insert(bits.end(), tensor.bytes(), tensor.bytes() + tensor.type().bytes());
    });
    return bits;
  };
  const CompileOptions free{.donate = {0}, .effort = Effort::quick};
  const auto expected = run(free);
  const auto any = compile(step(optimizer, loss), free);
  const std::int64_t most = any.prepare(optimizer.init(small()), x, y).peak().count;
  const std::int64_t least = any.smallest(optimizer.init(small()), x, y).memory.count;
  for (const std::int64_t memory : {least, (least + most) / 2, most}) {
    CompileOptions options = free;
    options.memory = Bytes(memory);
    EXPECT_EQ(run(options), expected) << memory;
  }
}

TEST(Budgets, GiveEveryOptimizersBits) {
  expect_same_bits(Sgd{.lr = cosine({.from = 0.1, .to = 0, .steps = 5})});
  expect_same_bits(Momentum{.nesterov = true});
  expect_same_bits(RmsProp{.momentum = 0.9});
  expect_same_bits(Adam{});
  expect_same_bits(AdamW{.groups = {{.pattern = "*.bias", .lr = 0.1}}});
  expect_same_bits(AdamW8bit{});
  expect_same_bits(Lion{});
  expect_same_bits(Adafactor{});
  expect_same_bits(scale_loss(with_ema(0.9, clip_norm(0.1, AdamW{}))));
}

}  // namespace
}  // namespace tidemark::nn
