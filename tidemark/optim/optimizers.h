// Optimizers: plain data (the settings) and plain functions over trees of tensors (the state and its update).
//
//   const optim::AdamW adamw{.lr = 3e-4};
//   auto state = adamw.init(parameters);
//   auto train = compile(optim::step(adamw, loss), {.donate = {0}});
//   auto [next, value] = train(state, x, y);        // state = next: updated in place, counted once
//
// A state holds the parameters and what the optimizer remembers of them, each as a tree like the parameters.
// Moments of 16-bit parameters are f32, and the update is computed in f32 and rounded once, to the parameter.
#pragma once
#include "tidemark/autodiff/transforms.h"
#include "tidemark/trace/functions.h"

namespace tidemark::optim {

// Throws Error at `where` unless a tree that belongs to the parameters has as many tensors as they.
void check_sizes(std::size_t parameters, std::size_t others, std::string_view what, SourceLine where);

template <class Parameters>
struct SgdState {
  Parameters parameters;
  TM_FIELDS(SgdState, parameters)
};

template <class Parameters>
struct MomentumState {
  Parameters parameters, velocity;
  TM_FIELDS(MomentumState, parameters, velocity)
};

template <class Parameters>
struct AdamWState {
  Parameters parameters, mean, variance;
  Tensor steps;  // i32, updates made so far
  TM_FIELDS(AdamWState, parameters, mean, variance, steps)
};

// w ← w - lr g
struct Sgd {
  double lr = 0.01;

  template <class Parameters>
  SgdState<Parameters> init(const Parameters& parameters) const {
    return {parameters};
  }
  template <class Parameters>
  SgdState<Parameters> update(const SgdState<Parameters>& state, const Parameters& gradients,
                              SourceLine where = std::source_location::current()) const {
    check_sizes(tensors_of(state.parameters).size(), tensors_of(gradients).size(), "gradients", where);
    return {map_tree([&](const Tensor& w, const Tensor& g) { return updated(w, g); }, state.parameters,
                     gradients)};
  }

  Tensor updated(const Tensor& w, const Tensor& g) const;
};

// v ← beta v + g + weight_decay w;  w ← w - lr v, or with `nesterov` w - lr (g + weight_decay w + beta v)
struct Momentum {
  double lr = 0.01;
  double beta = 0.9;
  double weight_decay = 0;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  bool nesterov = false;

  template <class Parameters>
  MomentumState<Parameters> init(const Parameters& parameters) const;
  template <class Parameters>
  MomentumState<Parameters> update(const MomentumState<Parameters>& state, const Parameters& gradients,
                                   SourceLine where = std::source_location::current()) const;

  struct Pair {
    Tensor w, v;
  };
  Pair updated(const Pair& old, const Tensor& g) const;
};

// Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2; eps is added to √(v / (1 -
// beta2ᵗ))):
// m ← beta1 m + (1 - beta1) g;  v ← beta2 v + (1 - beta2) g²;  w ← w (1 - lr weight_decay) - lr m̂ / (√v̂ +
//                                                              eps)
struct AdamW {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay

  template <class Parameters>
  AdamWState<Parameters> init(const Parameters& parameters) const;
  template <class Parameters>
  AdamWState<Parameters> update(const AdamWState<Parameters>& state, const Parameters& gradients,
                                SourceLine where = std::source_location::current()) const;

  // The bias corrections of one step, folded into two numbers: w ← … - rate m / (√v + eps).
  struct Corrected {
    Tensor rate, eps;
  };
  Corrected corrected(const Tensor& steps) const;
  struct Triple {
    Tensor w, m, v;
  };
  Triple updated(const Triple& old, const Tensor& g, const Corrected& corrected) const;
};

// A function (state, arguments…) → {new state, what the loss returned}. The loss takes the parameters first
// and returns a scalar, or a tuple that begins with one.
template <class Optimizer, class Loss>
auto step(Optimizer optimizer, Loss loss, SourceLine where = std::source_location::current()) {
  return [optimizer = std::move(optimizer), gradient = value_and_grad(std::move(loss), where), where](
             const auto& state, const auto&... arguments) {
    auto [value, gradients] = gradient(state.parameters, arguments...);
    return std::pair(optimizer.update(state, gradients, where), std::move(value));
  };
}

// ---- from trees to their tensors

DType moment_dtype(DType parameter);          // f32 for the 16-bit formats, otherwise the same
Tensor zero_moment(const Tensor& parameter);  // zeros of its shape in its moment_dtype
template <class Parameters>
MomentumState<Parameters> Momentum::init(const Parameters& parameters) const {
  return {parameters, map_tree(zero_moment, parameters)};
}

template <class Parameters>
MomentumState<Parameters> Momentum::update(const MomentumState<Parameters>& state,
                                           const Parameters& gradients, SourceLine where) const {
  std::vector<Tensor> w = tensors_of(state.parameters), v = tensors_of(state.velocity);
  const std::vector<Tensor> g = tensors_of(gradients);
  check_sizes(w.size(), g.size(), "gradients", where);
  check_sizes(w.size(), v.size(), "velocities", where);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Pair next = updated({w[i], v[i]}, g[i]);
    w[i] = next.w;
    v[i] = next.v;
  }
  return {with_tensors(state.parameters, w), with_tensors(state.velocity, v)};
}

template <class Parameters>
AdamWState<Parameters> AdamW::init(const Parameters& parameters) const {
  return {parameters, map_tree(zero_moment, parameters), map_tree(zero_moment, parameters),
          zeros({}, DType::i32)};
}

template <class Parameters>
AdamWState<Parameters> AdamW::update(const AdamWState<Parameters>& state, const Parameters& gradients,
                                     SourceLine where) const {
  std::vector<Tensor> w = tensors_of(state.parameters), m = tensors_of(state.mean),
                      v = tensors_of(state.variance);
  const std::vector<Tensor> g = tensors_of(gradients);
  check_sizes(w.size(), g.size(), "gradients", where);
  check_sizes(w.size(), m.size(), "means", where);
  check_sizes(w.size(), v.size(), "variances", where);
  const Tensor steps = state.steps + 1;
  const Corrected rates = corrected(steps);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Triple next = updated({w[i], m[i], v[i]}, g[i], rates);
    w[i] = next.w;
    m[i] = next.m;
    v[i] = next.v;
  }
  return {with_tensors(state.parameters, w), with_tensors(state.mean, m), with_tensors(state.variance, v),
          steps};
}

}  // namespace tidemark::optim
