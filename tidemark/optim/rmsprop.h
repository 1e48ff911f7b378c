// RMSprop: gradients over the root of a mean of their squares (Tieleman & Hinton 2012).
//
//   v ← decay v + (1 - decay) g², with g + weight_decay w in place of g;  d = g / (√v + eps)
//   w ← w - lr d;  with momentum  b ← momentum b + d;  w ← w - lr b
#pragma once
#include "tidemark/optim/groups.h"

namespace tidemark::optim {

template <class Parameters>
struct RmsPropState {
  Parameters parameters, variance;
  Parameters velocity;  // of no elements without momentum
  Tensor steps;         // i32, updates made so far
  TM_FIELDS(RmsPropState, parameters, variance, velocity, steps)
};

struct RmsProp {
  Schedule lr = 0.01;
  double decay = 0.99;
  double eps = 1e-8;
  double momentum = 0;
  double weight_decay = 0;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  Groups groups = {};

  template <class Parameters>
  RmsPropState<Parameters> init(const Parameters& parameters) const {
    return {parameters, zero_moments(parameters),
            map_tree(momentum == 0 ? no_moment : zero_moment, parameters), no_steps()};
  }
  template <class Parameters>
  RmsPropState<Parameters> update(const RmsPropState<Parameters>& state, const Parameters& gradients,
                                  SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;
};

}  // namespace tidemark::optim
