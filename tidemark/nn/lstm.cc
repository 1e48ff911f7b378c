#include "tidemark/nn/lstm.h"

#include <cmath>

namespace tidemark::nn {

LstmLayer LstmLayer::init(const Tensor& key, std::int64_t in, std::int64_t width) {
  const std::vector<Tensor> keys = split_key(key, 2);
  const double deviation = 1 / std::sqrt(static_cast<double>(in + width));
  // A forget gate that starts open lets gradients pass (Jozefowicz et al. 2015).
  return {random_normal(keys[0], {in, 4 * width}, 0, deviation),
          random_normal(keys[1], {width, 4 * width}, 0, deviation),
          concat({zeros({width}), ones({width}), zeros({2 * width})}, 0)};
}
Tensor LstmLayer::operator()(const Tensor& x) const {
  const std::int64_t steps = x.size(0), batch = x.size(1), width = hidden.size(0);
  // What the inputs add to the gates, for all steps at once; only the recurrent product is sequential.
  const std::vector<Tensor> from_input = split_evenly(matmul(x, input) + bias, 0, static_cast<int>(steps));
  Tensor h = zeros({batch, width}, x.dtype()), cell = h;
  std::vector<Tensor> outputs;
  for (const Tensor& step : from_input) {
    const Tensor given = reshape(step, {batch, 4 * width});
    const std::vector<Tensor> gate = split_evenly(given + matmul(h, hidden), -1, 4);
    const Tensor kept = sigmoid(gate[1]) * cell, entrance = sigmoid(gate[0]);
    cell = kept + entrance * tanh(gate[2]);
    const Tensor exit = sigmoid(gate[3]);
    h = exit * tanh(cell);
    outputs.push_back(h);
  }
  return stack(outputs);
}

Lstm Lstm::init(const Tensor& key, const LstmConfig& config) {
  const std::vector<Tensor> keys = split_key(key, 3);
  Lstm lstm;
  lstm.token_table = random_normal(keys[0], {config.vocabulary, config.width}, 0, 0.1);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    lstm.layers.push_back(LstmLayer::init(fold_in(keys[1], i), config.width, config.width));
  }
  lstm.head = Linear::init(keys[2], config.width, config.vocabulary);
  return lstm;
}
Tensor Lstm::operator()(const Tensor& tokens) const {
  Tensor h = embedding(token_table, tokens);  // (T, B, width)
  for (const LstmLayer& layer : layers) h = layer(h);
  return head(h);
}

}  // namespace tidemark::nn
