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
LossGraph revgpt(const ZooSizes& sizes) {
  return gpt(
      sizes,
      {.layers = 64, .width = 256, .heads = 4, .vocabulary = 2048, .context = 256, .reversible = true});
}
LossGraph gpt2_124m(const ZooSizes& sizes) { return gpt(sizes, {}); }
LossGraph gpt2_350m(const ZooSizes& sizes) { return gpt(sizes, {.layers = 24, .width = 1024, .heads = 16}); }
LossGraph gpt2_774m(const ZooSizes& sizes) { return gpt(sizes, {.layers = 36, .width = 1280, .heads = 20}); }
LossGraph gpt2_1_5b(const ZooSizes& sizes) { return gpt(sizes, {.layers = 48, .width = 1600, .heads = 25}); }

LossGraph llama_7b(const ZooSizes& sizes) {
  return language_model(sizes, [] { return Llama::init(key(0), {}); });
}

LossGraph mixture(const ZooSizes& sizes, const MoeConfig& config) {
  return language_model(sizes, [&] { return Moe::init(key(0), config); });
}
LossGraph moe(const ZooSizes& sizes) { return mixture(sizes, {}); }
LossGraph mixtral_8x7b(const ZooSizes& sizes) {
  return mixture(sizes, {.layers = 32, .width = 4096, .heads = 32, .kv_heads = 8, .hidden = 14336});
}

LossGraph lstm(const ZooSizes& sizes) {
  const Tensor tokens = labels({sizes.context, sizes.batch});
  return classifier(
      sizes, [] { return Lstm::init(key(0), {}); }, tokens, tokens);
}

LossGraph resnet(const ZooSizes& sizes, const ResNetConfig& config) {
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
  return image_classifier_with_dropout(sizes, [&] { return Vgg::init(key(0), config); });
}
LossGraph vgg16(const ZooSizes& sizes) { return vgg(sizes, {}); }
LossGraph vgg19(const ZooSizes& sizes) { return vgg(sizes, {.depths = {2, 2, 4, 4, 4}}); }

LossGraph mobilenet(const ZooSizes& sizes) {
  return image_classifier_with_dropout(sizes, [] { return MobileNet::init(key(0), {}); });
}

LossGraph unet(const ZooSizes& sizes) {
  return classifier(
      sizes, [] { return UNet::init(key(0), {}); }, images(sizes),
      labels({sizes.batch, sizes.context, sizes.context}));
}

LossGraph vit(const ZooSizes& sizes) {
  const VitConfig config{.side = sizes.context};
  return image_classifier(sizes, [&] { return Vit::init(key(0), config); });
}

constexpr ZooContext tokens(std::int64_t standard, std::int64_t most = 1 << 20) {
  return {.unit = "tokens", .standard = standard, .most = most};
}
constexpr ZooContext pixels(std::int64_t standard, std::int64_t least, std::int64_t multiple_of = 1) {
  return {
      .unit = "pixels", .standard = standard, .least = least, .most = 1 << 14, .multiple_of = multiple_of};
}
// Every step is some 86 nodes of its own: the limit keeps graphs below 180,000.
constexpr ZooContext steps(std::int64_t standard) {
  return {.unit = "steps", .standard = standard, .most = 2048};
}
constexpr auto momentum = OptimizerKind::momentum, adamw = OptimizerKind::adamw;

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
    {.name = "revgpt",
     .about = "64 reversible blocks of width 256, 4 heads, vocabulary 2048",
     .batch = 4,
     .context = tokens(128, 256),
     .loss = revgpt},
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
    {.name = "llama-7b",
     .about = "Llama of 7 billion parameters: 32 blocks of width 4096, rotary, SwiGLU",
     .batch = 1,
     .context = tokens(2048),
     .dtype = DType::bf16,
     .optimizer = adamw,
     .loss = llama_7b},
    {.name = "resnet18",
     .about = "ResNet-18",
     .batch = 64,
     .context = pixels(224, 32),
     .optimizer = momentum,
     .loss = resnet18},
    {.name = "resnet50",
     .about = "ResNet-50",
     .batch = 32,
     .context = pixels(224, 32),
     .optimizer = momentum,
     .loss = resnet50},
    {.name = "resnet152",
     .about = "ResNet-152",
     .batch = 32,
     .context = pixels(224, 32),
     .optimizer = momentum,
     .loss = resnet152},
    {.name = "vgg16",
     .about = "VGG-16 with dropout",
     .batch = 32,
     .context = pixels(224, 32, 32),
     .optimizer = momentum,
     .loss = vgg16},
    {.name = "vgg19",
     .about = "VGG-19 with dropout",
     .batch = 32,
     .context = pixels(224, 32, 32),
     .optimizer = momentum,
     .loss = vgg19},
    {.name = "unet",
     .about = "U-Net: 64 channels, 4 levels, 2 classes per pixel",
     .batch = 8,
     .context = pixels(256, 16, 16),
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
     .optimizer = adamw,
     .loss = vit},
    {.name = "lstm",
     .about = "2 LSTM layers of 650 units, vocabulary 10000, unrolled",
     .batch = 32,
     .context = steps(256),
     .loss = lstm},
    {.name = "moe",
     .about = "12 blocks of width 768 with 8 experts each, of which a token visits 2",
     .batch = 8,
     .context = tokens(1024),
     .optimizer = adamw,
     .loss = moe},
    {.name = "mixtral-8x7b",
     .about = "Mixtral: 32 blocks of width 4096 with 8 experts each, of which a token visits 2",
     .batch = 1,
     .context = tokens(2048),
     .dtype = DType::bf16,
     .optimizer = adamw,
     .loss = mixtral_8x7b},
};

}  // namespace

std::span<const ZooModel> zoo() { return models; }

}  // namespace tidemark::nn
