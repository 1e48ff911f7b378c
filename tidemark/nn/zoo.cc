#include "tidemark/nn/zoo.h"

#include "tidemark/autodiff/transforms.h"
#include "tidemark/nn/models.h"

namespace tidemark::nn {
namespace {

Tensor f32_of(const Shape& shape) { return Tensor::of_type({DType::f32, shape}); }
Tensor labels_of(const Shape& shape) { return Tensor::of_type({DType::i32, shape}); }

// The graph of (parameters, inputs…) → (new parameters, loss) with the parameters donated.
template <class Init, class Loss, class... Inputs>
Graph step_graph(const Init& init, const Loss& loss, const Inputs&... inputs) {
  const auto parameters = result_types(init);
  const auto step = [&](const auto& p, const auto&... x) {
    const auto [value, gradients] = value_and_grad(loss)(p, x...);
    return std::pair(map_tree([](const Tensor& w, const Tensor& g) { return w - g * 0.01; }, p, gradients),
                     value);
  };
  auto call = trace_call(step, std::tuple(parameters, inputs...), {});
  for (std::size_t i = 0; i < call.argument_ends[0]; ++i) call.graph.inputs()[i].donated = true;
  return std::move(call.graph);
}

Graph mlp(std::int64_t batch) {
  const auto loss = [](const Mlp& model, Tensor x, Tensor y) { return classification_loss(model(x), y); };
  return step_graph(
      [] {
        return Mlp::init(key(0), {784, 1024, 1024, 10});
      },
      loss, f32_of({batch, 784}), labels_of({batch}));
}

Graph transformer(std::int64_t batch) {
  const auto loss = [](const TransformerBlock& block, Tensor x, Tensor y) {
    return mean(square(block(x, 8) - y));
  };
  return step_graph([] { return TransformerBlock::init(key(0), 512); }, loss, f32_of({batch, 128, 512}),
                    f32_of({batch, 128, 512}));
}

Graph residual(std::int64_t batch) {
  const auto loss = [](const ResidualBlock& block, Tensor x, Tensor y) { return mean(square(block(x) - y)); };
  return step_graph([] { return ResidualBlock::init(key(0), 64); }, loss, f32_of({batch, 64, 32, 32}),
                    f32_of({batch, 64, 32, 32}));
}

Graph gpt(std::int64_t batch) {
  const auto loss = [](const Gpt& model, Tensor tokens, Tensor next) {
    return classification_loss(model(tokens, 6), next);
  };
  return step_graph([] { return Gpt::init(key(0), 6, 384, 8192, 256); }, loss, labels_of({batch, 256}),
                    labels_of({batch, 256}));
}

Graph convnet(std::int64_t batch) {
  const auto loss = [](const ConvNet& net, Tensor x, Tensor y) { return classification_loss(net(x), y); };
  return step_graph([] { return ConvNet::init(key(0), 8, 64, 10); }, loss, f32_of({batch, 3, 32, 32}),
                    labels_of({batch}));
}

constexpr ZooModel models[] = {
    {"mlp", "3 linear layers 784-1024-1024-10, relu, cross entropy", 256, mlp},
    {"transformer", "one block: width 512, 8 heads, context 128, squared error", 8, transformer},
    {"residual", "one residual block: 64 channels, 32 x 32, batch norm, squared error", 16, residual},
    {"gpt", "6 blocks of width 384, 6 heads, context 256, vocabulary 8192, tied output", 8, gpt},
    {"convnet", "8 residual blocks of 64 channels on 32 x 32 images, 10 classes", 32, convnet},
};

}  // namespace

std::span<const ZooModel> zoo() { return models; }

const ZooModel* find_in_zoo(std::string_view name) {
  for (const ZooModel& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace tidemark::nn
