// Gradient descent, and with momentum.
#pragma once
#include "tidemark/optim/groups.h"

namespace tidemark::optim {

template <class Parameters>
struct SgdState {
  Parameters parameters;
  Tensor steps;  // i32, updates made so far
  TM_FIELDS(SgdState, parameters, steps)
};

template <class Parameters>
struct MomentumState {
  Parameters parameters, velocity;
  Tensor steps;
  TM_FIELDS(MomentumState, parameters, velocity, steps)
};

// w ← w - lr (g + weight_decay w)
struct Sgd {
  Schedule lr = 0.01;
  double weight_decay = 0;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  Groups groups = {};

  template <class Parameters>
  SgdState<Parameters> init(const Parameters& parameters) const {
    return {parameters, no_steps()};
  }
  template <class Parameters>
  SgdState<Parameters> update(const SgdState<Parameters>& state, const Parameters& gradients,
                              SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;
};

// v ← beta v + g + weight_decay w;  w ← w - lr v, or with `nesterov` w - lr (g + weight_decay w + beta v)
struct Momentum {
  Schedule lr = 0.01;
  double beta = 0.9;
  double weight_decay = 0;
  int decay_rank = 2;
  bool nesterov = false;
  Groups groups = {};

  template <class Parameters>
  MomentumState<Parameters> init(const Parameters& parameters) const {
    return {parameters, zero_moments(parameters), no_steps()};
  }
  template <class Parameters>
  MomentumState<Parameters> update(const MomentumState<Parameters>& state, const Parameters& gradients,
                                   SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;
};

}  // namespace tidemark::optim
