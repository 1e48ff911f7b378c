// Training steps as graphs: loss, gradients and the update of every parameter and its moments, all donated.
// For tests and benchmarks of the planner; the shapes are the caller's.
#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tidemark/autodiff/reverse.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark::models {

// Collects parameters while the loss is being built, then appends gradients and updates.
class TrainingStep {
 public:
  explicit TrainingStep(Graph& graph) : graph_(graph), build_(graph) {}

  Builder& build() { return build_; }
  Var parameter(const Shape& shape, const std::string& name) {
    parameters_.emplace_back(build_, graph_.add_input({DType::f32, shape}, name, true));
    return parameters_.back();
  }
  Var data(const Shape& shape, const std::string& name) { return build_.input({DType::f32, shape}, name); }

  // Adam, written as a user would: all gradients first, all updates after.
  void finish(const Var& loss, bool adam) {
    const std::vector<Var> outputs{loss}, seeds{constant(build_, DType::f32, 1)};
    const std::vector<Var> gradients = pull_back(build_, outputs, seeds, parameters_);
    std::vector<Var> first, second;
    for (std::size_t i = 0; adam && i < parameters_.size(); ++i) {
      first.emplace_back(build_, graph_.add_input(parameters_[i].type(), "m", true));
      second.emplace_back(build_, graph_.add_input(parameters_[i].type(), "v", true));
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Var& g = gradients[i];
      if (!adam) {
        graph_.add_output((parameters_[i] - g * 0.01).id());
        continue;
      }
      const Var kept_m = first[i] * 0.9, m = kept_m + g * 0.1;
      const Var kept_v = second[i] * 0.99, v = kept_v + square(g) * 0.01;
      const Var step = m * 0.001;
      graph_.add_output((parameters_[i] - step / (sqrt(v) + 1e-8)).id());
      graph_.add_output(m.id());
      graph_.add_output(v.id());
    }
    graph_.add_output(loss.id());
  }

 private:
  Graph& graph_;
  Builder build_;
  std::vector<Var> parameters_;
};

inline Graph mlp(int layers, std::int64_t batch, std::int64_t width, bool adam = false) {
  Graph graph;
  TrainingStep step(graph);
  Var h = step.data({batch, width}, "x");
  for (int l = 0; l < layers; ++l) {
    const Var w = step.parameter({width, width}, "w" + std::to_string(l));
    const Var b = step.parameter({width}, "b" + std::to_string(l));
    h = tanh(matmul(h, w) + b);
  }
  step.finish(reduce_mean(square(h - step.data({batch, width}, "y")), all_axes(2)), adam);
  return graph;
}

inline Var normalised(const Var& x) {  // over the last dimension
  const Dims axis{x.shape().rank() - 1};
  const Var centred = x - reduce_mean(x, axis, true);
  return centred * rsqrt(reduce_mean(square(centred), axis, true) + 1e-5);
}

// Pre-norm attention and feed-forward blocks on (B, T, C).
inline Graph transformer(int blocks, std::int64_t batch, std::int64_t tokens, std::int64_t width,
                         std::int64_t heads, bool adam = true) {
  Graph graph;
  TrainingStep step(graph);
  const std::int64_t depth = width / heads;
  Var x = step.data({batch, tokens, width}, "x");
  for (int k = 0; k < blocks; ++k) {
    const std::string at = "blocks." + std::to_string(k);
    const Var in = normalised(x);
    const Var qkv = matmul(in, step.parameter({width, 3 * width}, at + ".qkv"));  // (B, T, 3C)
    std::vector<Var> parts;
    for (const Var& part : split(qkv, 2, {width, width, width})) {
      parts.push_back(transpose(reshape(part, {batch, tokens, heads, depth}), {0, 2, 1, 3}));  // (B, H, T, D)
    }
    const Var scores =
        matmul(parts[0], swap_last_two(parts[1])) * (1 / std::sqrt(static_cast<double>(depth)));
    const Var shifted = exp(scores - reduce_max(scores, {3}, true));
    const Var weights = shifted / reduce_sum(shifted, {3}, true);  // (B, H, T, T)
    const Var mixed = reshape(transpose(matmul(weights, parts[2]), {0, 2, 1, 3}), {batch, tokens, width});
    x = x + matmul(mixed, step.parameter({width, width}, at + ".out"));
    const Var between = normalised(x);
    const Var up = matmul(between, step.parameter({width, 4 * width}, at + ".up"));
    const Var h = gelu(up + step.parameter({4 * width}, at + ".bias"));
    x = x + matmul(h, step.parameter({4 * width, width}, at + ".down"));
  }
  step.finish(reduce_mean(square(x - step.data({batch, tokens, width}, "y")), all_axes(3)), adam);
  return graph;
}

// Residual blocks of two 3x3 convolutions on (N, C, H, W).
inline Graph residual(int blocks, std::int64_t batch, std::int64_t channels, std::int64_t size,
                      bool adam = false) {
  Graph graph;
  TrainingStep step(graph);
  const Shape shape{batch, channels, size, size};
  const ConvAttrs same{.stride = {1, 1}, .low = {1, 1}, .high = {1, 1}, .dilation = {1, 1}};
  Var x = step.data(shape, "x");
  for (int k = 0; k < blocks; ++k) {
    const std::string at = "blocks." + std::to_string(k);
    const Var h = relu(conv(x, step.parameter({channels, channels, 3, 3}, at + ".conv1"), same));
    x = relu(x + conv(h, step.parameter({channels, channels, 3, 3}, at + ".conv2"), same));
  }
  step.finish(reduce_mean(square(x - step.data(shape, "y")), all_axes(4)), adam);
  return graph;
}

}  // namespace tidemark::models
