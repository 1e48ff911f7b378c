// Lion: the sign of a mean of gradients (Chen et al. 2023). One moment, so half of Adam's state; rates a
// third to a tenth of Adam's, decays as much larger.
//
//   w ← w (1 - lr weight_decay) - lr sign(beta1 m + (1 - beta1) g);  m ← beta2 m + (1 - beta2) g
#pragma once
#include "tidemark/optim/groups.h"

namespace tidemark::optim {

template <class Parameters>
struct LionState {
  Parameters parameters, mean;
  Tensor steps;  // i32, updates made so far
  TM_FIELDS(LionState, parameters, mean, steps)
};

struct Lion {
  Schedule lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  int decay_rank = 2;  // tensors of fewer dimensions (biases, gains) do not decay
  Groups groups = {};

  template <class Parameters>
  LionState<Parameters> init(const Parameters& parameters) const {
    return {parameters, zero_moments(parameters), no_steps()};
  }
  template <class Parameters>
  LionState<Parameters> update(const LionState<Parameters>& state, const Parameters& gradients,
                               SourceLine where = std::source_location::current()) const {
    return advanced(*this, state, gradients, where);
  }
  void advance(StateLists& state, const Tensors& gradients, SourceLine where) const;
};

}  // namespace tidemark::optim
