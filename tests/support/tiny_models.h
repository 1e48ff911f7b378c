// Models small enough to run in a test, as graphs of one training step with the values of their inputs. The budget tests
// run them at many budgets; the models' own tests see that their losses fall.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tidemark/nn/models.h"
#include "tidemark/nn/training_step.h"
#include "tidemark/tidemark.h"

namespace tidemark::tiny {

struct TinyModel {
  std::string name;
  Graph step;             // (state…, data…) → (new state…, loss); the state is donated
  std::size_t state = 0;  // how many inputs are state
  // The inputs' values, the same at each call. Donation makes handles stale: take fresh ones for each series of steps.
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

inline std::vector<TinyModel> all() {
  std::vector<TinyModel> models;
  models.push_back(mlp());
  models.push_back(gpt());
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
