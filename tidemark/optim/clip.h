// Gradients made smaller before an optimizer sees them:
//
//   optim::clip_norm(1.0, optim::AdamW{.lr = 3e-4})     so that the norm of all of them together is at most 1
//   optim::clip_value(0.5, optim::Sgd{.lr = 0.1})       each number between -0.5 and 0.5
//
// The norm is known when the last gradient is: until then all of them are in memory, and the plan's summary
// says so. Clipping by value lets go of each gradient as it comes. Gradients of frozen parameters do not
// count.
#pragma once
#include "tidemark/optim/step.h"

namespace tidemark::optim {

// g · min(1, most / (norm + 1e-6)), norm² the sum of squares over all numbers of all gradients.
Tensors clipped_by_norm(const Tensors& gradients, double most);
Tensors clipped_by_value(const Tensors& gradients, double most);
void check_clip(double most, SourceLine where);

template <class Optimizer>
struct Clipped {
  static_assert(!SeesLoss<Optimizer>, "clip inside of it: scale_loss(clip_norm(1.0, AdamW{}))");
  Optimizer optimizer;
  Tensors (*clip)(const Tensors& gradients, double most);
  double most = 0;

  template <class Parameters>
  auto init(const Parameters& parameters) const {
    return optimizer.init(parameters);
  }
  template <class State, class Parameters>
  State update(const State& state, const Parameters& gradients,
               SourceLine where = std::source_location::current()) const {
    const std::vector<bool> frozen = frozen_of(groups_of(optimizer), state.parameters, where);
    const Tensors all = tensors_of(gradients), clipped = clip(trained_of(all, frozen), most);
    return optimizer.update(state, with_tensors(gradients, with_trained(all, clipped, frozen)), where);
  }
};

template <class Optimizer>
Clipped<Optimizer> clip_norm(double most, Optimizer optimizer,
                             SourceLine where = std::source_location::current()) {
  check_clip(most, where);
  return {std::move(optimizer), clipped_by_norm, most};
}
template <class Optimizer>
Clipped<Optimizer> clip_value(double most, Optimizer optimizer,
                              SourceLine where = std::source_location::current()) {
  check_clip(most, where);
  return {std::move(optimizer), clipped_by_value, most};
}

}  // namespace tidemark::optim
