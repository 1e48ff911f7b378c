#include <algorithm>
#include <vector>

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
// The same with a key that chooses what dropout drops.
template <class Init>
LossGraph image_classifier_with_dropout(const ZooSizes& sizes, const Init& init) {
  using Model = decltype(init());
  const auto loss = [](const Model& model, Tensor in, Tensor label, Tensor dropout) {
    return classification_loss(model(in, dropout), label);
  };
  return loss_graph(sizes.dtype, init, loss, images(sizes), labels({sizes.batch}),
                    result_types([] { return key(0); }));
}
// Models that say their loss themselves, without logits.
template <class Init>
LossGraph language_model(const ZooSizes& sizes, const Init& init) {
  using Model = decltype(init());
  const Tensor tokens = labels({sizes.batch, sizes.context});
  return loss_graph(
      sizes.dtype, init, [](const Model& model, Tensor in, Tensor next) { return model.loss(in, next); },
      tokens, tokens);
}

LossGraph mlp(const ZooSizes& sizes) {
  std::vector<std::int64_t> widths(static_cast<std::size_t>(sizes.layers) + 1, sizes.width);
  widths.front() = 784;
  widths.back() = 10;
  const auto init = [&] { return Mlp::init(key(0), widths); };
  return classifier(sizes, init, float_data(sizes, {sizes.batch, 784}), labels({sizes.batch}));
}

LossGraph transformer(const ZooSizes& sizes) {
  const Tensor x = float_data(sizes, {sizes.batch, sizes.context, sizes.width});
  const std::int64_t heads = sizes.width / 64;
  return loss_graph(
      sizes.dtype, [&] { return TransformerBlock::init(key(0), sizes.width); },
      [heads](const TransformerBlock& block, Tensor in, Tensor out) {
        return squared_error(block(in, heads), out);
      },
      x, x);
}

LossGraph residual(const ZooSizes& sizes) {
  const Tensor x = float_data(sizes, {sizes.batch, sizes.width, sizes.context, sizes.context});
  return loss_graph(
      sizes.dtype, [&] { return ResidualBlock::init(key(0), sizes.width); },
      [](const ResidualBlock& block, Tensor in, Tensor out) { return squared_error(block(in), out); }, x, x);
}

LossGraph convnet(const ZooSizes& sizes) {
  return image_classifier(sizes, [&] { return ConvNet::init(key(0), sizes.layers, sizes.width, 10); });
}

// Heads of 64. A context beyond the model's own lengthens its table of positions.
LossGraph gpt(const ZooSizes& sizes, GptConfig config) {
  config.layers = sizes.layers;
  config.width = sizes.width;
  config.heads = sizes.width / 64;
  config.context = std::max(config.context, sizes.context);
  return language_model(sizes, [&] { return Gpt::init(key(0), config); });
}
LossGraph small_gpt(const ZooSizes& sizes) { return gpt(sizes, {.vocabulary = 8192, .context = 256}); }
LossGraph revgpt(const ZooSizes& sizes) {
  return gpt(sizes, {.vocabulary = 2048, .context = 256, .reversible = true});
}
LossGraph gpt2(const ZooSizes& sizes) { return gpt(sizes, {}); }

// Heads of 128, hidden layers of 43/16 of the width.
LossGraph llama_7b(const ZooSizes& sizes) {
  const std::int64_t heads = sizes.width / 128, hidden = sizes.width / 16 * 43;
  const LlamaConfig config{
      .layers = sizes.layers, .width = sizes.width, .heads = heads, .kv_heads = heads, .hidden = hidden};
  return language_model(sizes, [&] { return Llama::init(key(0), config); });
}

LossGraph mixture(const ZooSizes& sizes, const MoeConfig& config) {
  return language_model(sizes, [&] { return Moe::init(key(0), config); });
}
// Heads of 64, in threes, so that hidden layers are 8/3 of the width.
LossGraph moe(const ZooSizes& sizes) {
  const std::int64_t heads = sizes.width / 64;
  return mixture(sizes, {.layers = sizes.layers,
                         .width = sizes.width,
                         .heads = heads,
                         .kv_heads = heads,
                         .hidden = sizes.width / 3 * 8});
}
// Four heads of 128 share their keys and values.
LossGraph mixtral_8x7b(const ZooSizes& sizes) {
  const std::int64_t heads = sizes.width / 128;
  return mixture(sizes, {.layers = sizes.layers,
                         .width = sizes.width,
                         .heads = heads,
                         .kv_heads = heads / 4,
                         .hidden = sizes.width / 2 * 7});
}

LossGraph lstm(const ZooSizes& sizes) {
  const Tensor tokens = labels({sizes.context, sizes.batch});
  const LstmConfig config{.layers = sizes.layers, .width = sizes.width};
  return classifier(
      sizes, [&] { return Lstm::init(key(0), config); }, tokens, tokens);
}

LossGraph resnet(const ZooSizes& sizes, ResNetConfig config) {
  config.width = sizes.width;
  return image_classifier(sizes, [&] { return ResNet::init(key(0), config); });
}
LossGraph resnet18(const ZooSizes& sizes) { return resnet(sizes, {}); }
LossGraph resnet50(const ZooSizes& sizes) {
  return resnet(sizes, {.depths = {3, 4, 6, 3}, .bottleneck = true});
}
LossGraph resnet152(const ZooSizes& sizes) {
  return resnet(sizes, {.depths = {3, 8, 36, 3}, .bottleneck = true});
}

LossGraph vgg(const ZooSizes& sizes, VggConfig config) {
  config.side = sizes.context;
  config.width = sizes.width;
  return image_classifier_with_dropout(sizes, [&] { return Vgg::init(key(0), config); });
}
LossGraph vgg16(const ZooSizes& sizes) { return vgg(sizes, {}); }
LossGraph vgg19(const ZooSizes& sizes) { return vgg(sizes, {.depths = {2, 2, 4, 4, 4}}); }

LossGraph mobilenet(const ZooSizes& sizes) {
  return image_classifier_with_dropout(sizes, [] { return MobileNet::init(key(0), {}); });
}

LossGraph unet(const ZooSizes& sizes) {
  return classifier(
      sizes, [&] { return UNet::init(key(0), {.width = sizes.width}); }, images(sizes),
      labels({sizes.batch, sizes.context, sizes.context}));
}

LossGraph vit(const ZooSizes& sizes) {
  const VitConfig config{
      .layers = sizes.layers, .width = sizes.width, .heads = sizes.width / 64, .side = sizes.context};
  return image_classifier(sizes, [&] { return Vit::init(key(0), config); });
}

constexpr ZooSize tokens(std::int64_t standard) { return {.unit = "tokens", .standard = standard}; }
constexpr ZooSize pixels(std::int64_t standard, std::int64_t least, std::int64_t multiple_of = 1) {
  return {
      .unit = "pixels", .standard = standard, .least = least, .most = 1 << 14, .multiple_of = multiple_of};
}
// Every step is some 43 nodes for each layer: with that limit graphs stay below 360,000.
constexpr ZooSize steps(std::int64_t standard) {
  return {.unit = "steps", .standard = standard, .most = 2048};
}
// A block is up to some 300 nodes.
constexpr ZooSize layers(std::int64_t standard, std::int64_t most = 512, std::int64_t least = 1) {
  return {.unit = "layers", .standard = standard, .least = least, .most = most};
}
constexpr std::int64_t widest = 1 << 16;
constexpr ZooSize width(std::int64_t standard, std::int64_t multiple_of = 1) {
  return {.unit = "channels",
          .standard = standard,
          .least = multiple_of,
          .most = widest,
          .multiple_of = multiple_of};
}
constexpr auto momentum = OptimizerKind::momentum, adamw = OptimizerKind::adamw;

constexpr ZooModel models[] = {
    {.name = "mlp",
     .about = "3 linear layers 784-1024-1024-10, relu, cross entropy",
     .batch = 256,
     .layers = layers(3, 512, 2),
     .width = width(1024),
     .loss = mlp},
    {.name = "transformer",
     .about = "one block: width 512, 8 heads, squared error",
     .batch = 8,
     .context = tokens(128),
     .width = width(512, 64),
     .loss = transformer},
    {.name = "residual",
     .about = "one residual block: 64 channels, batch norm, squared error",
     .batch = 16,
     .context = pixels(32, 1),
     .width = width(64, 8),
     .loss = residual},
    {.name = "gpt",
     .about = "6 blocks of width 384, 6 heads, vocabulary 8192, tied output",
     .batch = 8,
     .context = tokens(256),
     .layers = layers(6),
     .width = width(384, 64),
     .loss = small_gpt},
    {.name = "revgpt",
     .about = "64 reversible blocks of width 256, 4 heads, vocabulary 2048",
     .batch = 4,
     .context = tokens(128),
     .layers = layers(64),
     .width = width(256, 64),
     .loss = revgpt},
    {.name = "convnet",
     .about = "8 residual blocks of 64 channels, 10 classes",
     .batch = 32,
     .context = pixels(32, 1),
     .layers = layers(8),
     .width = width(64, 8),
     .loss = convnet},
    {.name = "gpt2",
     .about = "GPT-2 of 124 million parameters: 12 blocks of width 768",
     .batch = 16,
     .context = tokens(1024),
     .layers = layers(12),
     .width = width(768, 64),
     .optimizer = adamw,
     .loss = gpt2},
    {.name = "gpt2-124m",
     .about = "the same",
     .batch = 16,
     .context = tokens(1024),
     .layers = layers(12),
     .width = width(768, 64),
     .optimizer = adamw,
     .loss = gpt2},
    {.name = "gpt2-350m",
     .about = "GPT-2 medium: 24 blocks of width 1024",
     .batch = 8,
     .context = tokens(1024),
     .layers = layers(24),
     .width = width(1024, 64),
     .optimizer = adamw,
     .loss = gpt2},
    {.name = "gpt2-774m",
     .about = "GPT-2 large: 36 blocks of width 1280",
     .batch = 4,
     .context = tokens(1024),
     .layers = layers(36),
     .width = width(1280, 64),
     .optimizer = adamw,
     .loss = gpt2},
    {.name = "gpt2-1.5b",
     .about = "GPT-2 XL: 48 blocks of width 1600",
     .batch = 2,
     .context = tokens(1024),
     .layers = layers(48),
     .width = width(1600, 64),
     .optimizer = adamw,
     .loss = gpt2},
    {.name = "llama-7b",
     .about = "Llama of 7 billion parameters: 32 blocks of width 4096, rotary, SwiGLU",
     .batch = 1,
     .context = tokens(2048),
     .layers = layers(32),
     .width = width(4096, 128),
     .dtype = DType::bf16,
     .optimizer = adamw,
     .loss = llama_7b},
    {.name = "resnet18",
     .about = "ResNet-18",
     .batch = 64,
     .context = pixels(224, 32),
     .width = width(64, 8),
     .optimizer = momentum,
     .loss = resnet18},
    {.name = "resnet50",
     .about = "ResNet-50",
     .batch = 32,
     .context = pixels(224, 32),
     .width = width(64, 8),
     .optimizer = momentum,
     .loss = resnet50},
    {.name = "resnet152",
     .about = "ResNet-152",
     .batch = 32,
     .context = pixels(224, 32),
     .width = width(64, 8),
     .optimizer = momentum,
     .loss = resnet152},
    {.name = "vgg16",
     .about = "VGG-16 with dropout",
     .batch = 32,
     .context = pixels(224, 32, 32),
     .width = width(64, 8),
     .optimizer = momentum,
     .loss = vgg16},
    {.name = "vgg19",
     .about = "VGG-19 with dropout",
     .batch = 32,
     .context = pixels(224, 32, 32),
     .width = width(64, 8),
     .optimizer = momentum,
     .loss = vgg19},
    {.name = "unet",
     .about = "U-Net: 64 channels, 4 levels, 2 classes per pixel",
     .batch = 8,
     .context = pixels(256, 16, 16),
     .width = width(64, 8),
     .optimizer = momentum,
     .loss = unet},
    {.name = "mobilenet",
     .about = "MobileNetV2",
     .batch = 64,
     .context = pixels(224, 32),
     .optimizer = momentum,
     .loss = mobilenet},
    {.name = "vit",
     .about = "ViT-B/16",
     .batch = 32,
     .context = pixels(224, 16, 16),
     .layers = layers(12),
     .width = width(768, 64),
     .optimizer = adamw,
     .loss = vit},
    {.name = "lstm",
     .about = "2 LSTM layers of 650 units, vocabulary 10000, unrolled",
     .batch = 32,
     .context = steps(256),
     .layers = layers(2, 4),
     .width = width(650),
     .loss = lstm},
    {.name = "moe",
     .about = "12 blocks of width 768 with 8 experts each, of which a token visits 2",
     .batch = 8,
     .context = tokens(1024),
     .layers = layers(12),
     .width = width(768, 192),
     .optimizer = adamw,
     .loss = moe},
    {.name = "mixtral-8x7b",
     .about = "Mixtral: 32 blocks of width 4096 with 8 experts each, of which a token visits 2",
     .batch = 1,
     .context = tokens(2048),
     .layers = layers(32),
     .width = width(4096, 512),
     .dtype = DType::bf16,
     .optimizer = adamw,
     .loss = mixtral_8x7b},
};

}  // namespace

std::span<const ZooModel> zoo() { return models; }

}  // namespace tidemark::nn
