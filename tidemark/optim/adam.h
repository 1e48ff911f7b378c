// Adam and AdamW: a mean of gradients over the root of a mean of their squares (Kingma & Ba 2015; Loshchilov
// & Hutter 2019).
//
//   m ← beta1 m + (1 - beta1) g;  v ← beta2 v + (1 - beta2) g²
//   m̂ = m / (1 - beta1ᵗ);  v̂ = v / (1 - beta2ᵗ)
//   Adam:   w ← w - lr m̂ / (√v̂ + eps), with g + weight_decay w in place of g
//   AdamW:  w ← w (1 - lr weight_decay) - lr m̂ / (√v̂ + eps)
#pragma once
#include <optional>

#include "tidemark/optim/groups.h"
#include "tidemark/trace/functions.h"

namespace tidemark::optim {

// Moments in 16 bits take half of the memory, and lose what is small next to them: with beta2 = 0.999 a step
// changes v by a thousandth, below half of bf16's distance of neighbours, so that v mostly grows.
template <class Tree>
Tree moments_in(std::optional<DType> dtype, const Tree& tree) {
  if (!dtype) return tree;
  return map_tree([&](const Tensor& t) { return is_float(t.dtype()) ? cast(t, *dtype) : t; }, tree);
}

template <class Parameters>
struct AdamState {
  Parameters parameters, mean, variance;
  Tensor steps;  // i32, updates made so far
  TM_FIELDS(AdamState, parameters, mean, variance, steps)
};

struct Adam {
  Schedule lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  Groups groups = {};
  std::optional<DType> moments = {};  // what moments are kept in; none: f32, or what parameters are, if wider

  template <class Parameters>
  AdamState<Parameters> init(const Parameters& parameters) const {
    const auto zeros = [&] { return moments_in(moments, zero_moments(parameters)); };
    return {parameters, zeros(), zeros(), no_steps()};
  }
  template <class Parameters>
  AdamState<Parameters> update(const AdamState<Parameters>& state, const Parameters& gradients,
                               SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;
};

struct AdamW {
  Schedule lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  int decay_rank = 2;
  Groups groups = {};
  std::optional<DType> moments = {};  // what moments are kept in; none: f32, or what parameters are, if wider

  template <class Parameters>
  AdamState<Parameters> init(const Parameters& parameters) const {
    const auto zeros = [&] { return moments_in(moments, zero_moments(parameters)); };
    return {parameters, zeros(), zeros(), no_steps()};
  }
  template <class Parameters>
  AdamState<Parameters> update(const AdamState<Parameters>& state, const Parameters& gradients,
                               SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;
};

// ---- what both are made of, and AdamW of 8 bits

void require_adam(double beta1, double beta2, double eps, SourceLine where);  // throws Error

// One step's bias corrections as two numbers, f64 of rank 0:
//   lr m̂ / (√v̂ + eps) = (lr · rate) m / (√v + eps)
struct BiasCorrection {
  BiasCorrection(double beta1, double beta2, double eps, const Tensor& before);
  Tensor rate, eps;

  Tensor change(const Tensor& m, const Tensor& v, const Chosen& chosen) const;
};

}  // namespace tidemark::optim
