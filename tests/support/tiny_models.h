// Models small enough to run in a test, as graphs of one training step with the values of their inputs. The
// budget tests run them at many budgets; the models' own tests see that their losses fall.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tidemark/engine/program.h"
#include "tidemark/ir/graph.h"
#include "tidemark/nn/models.h"
#include "tidemark/nn/training_step.h"
#include "tidemark/tidemark.h"

namespace tidemark::tiny {

struct TinyModel {
  std::string name;
  Graph step;             // (state…, data…) → (new state…, loss); the state is donated
  std::size_t state = 0;  // how many inputs are state
  // The inputs' values, the same at each call. Donation makes handles stale: take fresh ones for each series
  // of steps.
  std::function<std::vector<Tensor>()> inputs;
};

template <class Init, class Loss, class... Data>
TinyModel make(std::string name, nn::OptimizerKind optimizer, const Init& init, const Loss& loss,
               const Data&... data) {
  TinyModel model;
  model.name = std::move(name);
  const nn::LossGraph graph = nn::loss_graph(DType::f32, init, loss, data...);
  model.step = nn::training_step(graph, optimizer);
  model.step.name = model.name;
  model.state = model.step.outputs().size() - 1;
  std::vector<Type> moments;
  for (std::size_t i = graph.parameters; i < model.state; ++i) {
    moments.push_back(model.step.type(model.step.inputs()[i].value));
  }
  model.inputs = [init, moments, batch = std::vector<Tensor>{data...}] {
    std::vector<Tensor> values = tensors_of(init());
    for (const Type& type : moments) values.push_back(zeros(type.shape, type.dtype));
    values.insert(values.end(), batch.begin(), batch.end());
    return values;
  };
  return model;
}

inline Tensor random_labels(std::int64_t seed, const Shape& shape, std::int64_t classes) {
  return cast(floor(random_uniform(key(seed), shape, 0, static_cast<double>(classes))), DType::i32);
}
inline Tensor random_images(std::int64_t batch, std::int64_t size) {
  return random_normal(key(7), {batch, 3, size, size});
}

// A model from inputs to logits, trained on labels.
template <class Init>
TinyModel classifier(std::string name, nn::OptimizerKind optimizer, const Init& init, const Tensor& x,
                     const Tensor& labels) {
  using Model = decltype(init());
  return make(
      std::move(name), optimizer, init,
      [](const Model& model, Tensor in, Tensor out) { return nn::classification_loss(model(in), out); }, x,
      labels);
}

inline TinyModel mlp(std::int64_t batch = 32, std::int64_t width = 64) {
  const auto init = [width] { return nn::Mlp::init(key(0), {16, width, width, width, 10}); };
  return classifier("mlp", nn::OptimizerKind::sgd, init, random_normal(key(7), {batch, 16}),
                    random_labels(8, {batch}, 10));
}

inline TinyModel gpt(std::int64_t layers = 2, std::int64_t batch = 2, std::int64_t context = 16,
                     std::int64_t width = 32) {
  const nn::GptConfig config{
      .layers = layers, .width = width, .heads = 4, .vocabulary = 64, .context = context};
  const auto init = [config] { return nn::Gpt::init(key(0), config); };
  return classifier("gpt", nn::OptimizerKind::adamw, init, random_labels(7, {batch, context}, 64),
                    random_labels(8, {batch, context}, 64));
}

inline TinyModel llama(std::int64_t layers = 2, std::int64_t batch = 2, std::int64_t context = 16) {
  const nn::LlamaConfig config{
      .layers = layers, .width = 32, .heads = 4, .kv_heads = 2, .hidden = 48, .vocabulary = 64};
  const auto init = [config] { return nn::Llama::init(key(0), config); };
  return make(
      "llama", nn::OptimizerKind::adamw, init,
      [](const nn::Llama& model, Tensor in, Tensor next) { return model.loss(in, next); },
      random_labels(7, {batch, context}, 64), random_labels(8, {batch, context}, 64));
}

inline TinyModel moe(std::int64_t layers = 2, std::int64_t batch = 2, std::int64_t context = 16) {
  const nn::MoeConfig config{.layers = layers,
                             .width = 32,
                             .heads = 4,
                             .kv_heads = 4,
                             .hidden = 48,
                             .vocabulary = 64,
                             .experts = 4,
                             .top = 2};
  return make(
      "moe", nn::OptimizerKind::adamw, [config] { return nn::Moe::init(key(0), config); },
      [](const nn::Moe& model, Tensor in, Tensor next) { return model.loss(in, next); },
      random_labels(7, {batch, context}, 64), random_labels(8, {batch, context}, 64));
}

inline TinyModel lstm(std::int64_t steps = 16, std::int64_t batch = 4, std::int64_t width = 32) {
  const nn::LstmConfig config{.layers = 2, .width = width, .vocabulary = 64};
  const auto init = [config] { return nn::Lstm::init(key(0), config); };
  return classifier("lstm", nn::OptimizerKind::momentum, init, random_labels(7, {steps, batch}, 64),
                    random_labels(8, {steps, batch}, 64));
}

inline TinyModel resnet18(std::int64_t batch = 4, std::int64_t side = 32, std::int64_t width = 8) {
  const nn::ResNetConfig config{.width = width, .classes = 10, .small_images = true};
  const auto init = [config] { return nn::ResNet::init(key(0), config); };
  return classifier("resnet18", nn::OptimizerKind::momentum, init, random_images(batch, side),
                    random_labels(8, {batch}, 10));
}

inline TinyModel vit(std::int64_t layers = 2, std::int64_t batch = 4, std::int64_t side = 16) {
  const nn::VitConfig config{
      .layers = layers, .width = 32, .heads = 4, .patch = 4, .side = side, .classes = 10};
  const auto init = [config] { return nn::Vit::init(key(0), config); };
  return classifier("vit", nn::OptimizerKind::adamw, init, random_images(batch, side),
                    random_labels(8, {batch}, 10));
}

inline TinyModel unet(std::int64_t batch = 2, std::int64_t side = 32, std::int64_t width = 4) {
  const nn::UNetConfig config{.channels = 3, .classes = 2, .width = width, .levels = 4};
  const auto init = [config] { return nn::UNet::init(key(0), config); };
  return classifier("unet", nn::OptimizerKind::momentum, init, random_images(batch, side),
                    random_labels(8, {batch, side, side}, 2));
}

// Models whose dropout takes a key.
template <class Init>
TinyModel classifier_with_dropout(std::string name, const Init& init, const Tensor& x, const Tensor& labels) {
  using Model = decltype(init());
  const auto loss = [](const Model& model, Tensor in, Tensor out, Tensor dropout) {
    return nn::classification_loss(model(in, dropout), out);
  };
  return make(std::move(name), nn::OptimizerKind::momentum, init, loss, x, labels, key(9));
}

inline TinyModel vgg(std::int64_t batch = 4, std::int64_t side = 16) {
  const nn::VggConfig config{
      .depths = {1, 1, 2}, .width = 8, .hidden = 32, .classes = 10, .side = side, .dropout = 0.2};
  const auto init = [config] { return nn::Vgg::init(key(0), config); };
  return classifier_with_dropout("vgg", init, random_images(batch, side), random_labels(8, {batch}, 10));
}

inline TinyModel mobilenet(std::int64_t batch = 4, std::int64_t side = 32) {
  const nn::MobileNetConfig config{.stem = 8,
                                   .last = 64,
                                   .classes = 10,
                                   .stages = {{1, 8, 1, 1}, {6, 12, 2, 2}, {6, 16, 2, 2}},
                                   .dropout = 0.2};
  const auto init = [config] { return nn::MobileNet::init(key(0), config); };
  return classifier_with_dropout("mobilenet", init, random_images(batch, side),
                                 random_labels(8, {batch}, 10));
}

inline std::vector<TinyModel> all() {
  std::vector<TinyModel> models;
  for (const auto& make_model : std::initializer_list<TinyModel (*)()>{
           [] { return mlp(); }, [] { return gpt(); }, [] { return llama(); }, [] { return moe(); },
           [] { return lstm(); }, [] { return resnet18(); }, [] { return vgg(); }, [] { return unet(); },
           [] { return mobilenet(); }, [] { return vit(); }}) {
    models.push_back(make_model());
  }
  return models;
}

// The losses of `steps` steps with each step's state fed into the next.
inline std::vector<double> losses(Program& program, const TinyModel& model, int steps) {
  std::vector<Tensor> inputs = model.inputs();
  std::vector<double> values;
  for (int i = 0; i < steps; ++i) {
    const std::vector<Tensor> outputs = program.run(inputs, {});
    values.push_back(outputs.back().item());
    std::copy_n(outputs.begin(), model.state, inputs.begin());
  }
  return values;
}

}  // namespace tidemark::tiny
