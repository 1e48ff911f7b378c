#include "tidemark/nn/models.h"
#include "tidemark/nn/zoo.h"

namespace tidemark::nn {
namespace {

Tensor float_data(const ZooSizes& sizes, const Shape& shape) { return Tensor::of_type({sizes.dtype, shape}); }
Tensor labels(const Shape& shape) { return Tensor::of_type({DType::i32, shape}); }

Tensor images(const ZooSizes& sizes) {
  return float_data(sizes, {sizes.batch, 3, sizes.context, sizes.context});
}

// Models that turn something into logits, trained on labels.
template <class Init>
LossGraph classifier(const ZooSizes& sizes, const Init& init, const Tensor& x, const Tensor& y) {
  using Model = decltype(init());
  return loss_graph(
      sizes.dtype, init,
      [](const Model& model, Tensor in, Tensor label) { return classification_loss(model(in), label); }, x,
      y);
}
template <class Init>
LossGraph image_classifier(const ZooSizes& sizes, const Init& init) {
  return classifier(sizes, init, images(sizes), labels({sizes.batch}));
}
template <class Init>
LossGraph language_model(const ZooSizes& sizes, const Init& init) {
  const Tensor tokens = labels({sizes.batch, sizes.context});
  return classifier(sizes, init, tokens, tokens);
}

LossGraph mlp(const ZooSizes& sizes) {
  const auto init = [] { return Mlp::init(key(0), {784, 1024, 1024, 10}); };
  return classifier(sizes, init, float_data(sizes, {sizes.batch, 784}), labels({sizes.batch}));
}

LossGraph transformer(const ZooSizes& sizes) {
  const Tensor x = float_data(sizes, {sizes.batch, sizes.context, 512});
  return loss_graph(
      sizes.dtype, [] { return TransformerBlock::init(key(0), 512); },
      [](const TransformerBlock& block, Tensor in, Tensor out) { return squared_error(block(in, 8), out); },
      x, x);
}

LossGraph residual(const ZooSizes& sizes) {
  const Tensor x = float_data(sizes, {sizes.batch, 64, sizes.context, sizes.context});
  return loss_graph(
      sizes.dtype, [] { return ResidualBlock::init(key(0), 64); },
      [](const ResidualBlock& block, Tensor in, Tensor out) { return squared_error(block(in), out); }, x, x);
}

LossGraph convnet(const ZooSizes& sizes) {
  return image_classifier(sizes, [] { return ConvNet::init(key(0), 8, 64, 10); });
}

LossGraph gpt(const ZooSizes& sizes, const GptConfig& config) {
  return language_model(sizes, [&] { return Gpt::init(key(0), config); });
}
LossGraph small_gpt(const ZooSizes& sizes) {
  return gpt(sizes, {.layers = 6, .width = 384, .heads = 6, .vocabulary = 8192, .context = 256});
}
LossGraph gpt2_124m(const ZooSizes& sizes) { return gpt(sizes, {}); }
LossGraph gpt2_350m(const ZooSizes& sizes) { return gpt(sizes, {.layers = 24, .width = 1024, .heads = 16}); }
LossGraph gpt2_774m(const ZooSizes& sizes) { return gpt(sizes, {.layers = 36, .width = 1280, .heads = 20}); }
LossGraph gpt2_1_5b(const ZooSizes& sizes) { return gpt(sizes, {.layers = 48, .width = 1600, .heads = 25}); }

constexpr ZooContext tokens(std::int64_t standard, std::int64_t most = 1 << 20) {
  return {.unit = "tokens", .standard = standard, .most = most};
}
constexpr ZooContext pixels(std::int64_t standard, std::int64_t least, std::int64_t multiple_of = 1) {
  return {
      .unit = "pixels", .standard = standard, .least = least, .most = 1 << 14, .multiple_of = multiple_of};
}
constexpr auto adamw = OptimizerKind::adamw;

constexpr ZooModel models[] = {
    {.name = "mlp",
     .about = "3 linear layers 784-1024-1024-10, relu, cross entropy",
     .batch = 256,
     .loss = mlp},
    {.name = "transformer",
     .about = "one block: width 512, 8 heads, squared error",
     .batch = 8,
     .context = tokens(128),
     .loss = transformer},
    {.name = "residual",
     .about = "one residual block: 64 channels, batch norm, squared error",
     .batch = 16,
     .context = pixels(32, 1),
     .loss = residual},
    {.name = "gpt",
     .about = "6 blocks of width 384, 6 heads, vocabulary 8192, tied output",
     .batch = 8,
     .context = tokens(256, 256),
     .loss = small_gpt},
    {.name = "convnet",
     .about = "8 residual blocks of 64 channels, 10 classes",
     .batch = 32,
     .context = pixels(32, 1),
     .loss = convnet},
    {.name = "gpt2",
     .about = "GPT-2 of 124 million parameters: 12 blocks of width 768",
     .batch = 16,
     .context = tokens(1024, 1024),
     .optimizer = adamw,
     .loss = gpt2_124m},
    {.name = "gpt2-124m",
     .about = "the same",
     .batch = 16,
     .context = tokens(1024, 1024),
     .optimizer = adamw,
     .loss = gpt2_124m},
    {.name = "gpt2-350m",
     .about = "GPT-2 medium: 24 blocks of width 1024",
     .batch = 8,
     .context = tokens(1024, 1024),
     .optimizer = adamw,
     .loss = gpt2_350m},
    {.name = "gpt2-774m",
     .about = "GPT-2 large: 36 blocks of width 1280",
     .batch = 4,
     .context = tokens(1024, 1024),
     .optimizer = adamw,
     .loss = gpt2_774m},
    {.name = "gpt2-1.5b",
     .about = "GPT-2 XL: 48 blocks of width 1600",
     .batch = 2,
     .context = tokens(1024, 1024),
     .optimizer = adamw,
     .loss = gpt2_1_5b},
};

}  // namespace

std::span<const ZooModel> zoo() { return models; }

}  // namespace tidemark::nn
