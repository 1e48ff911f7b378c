// A moving average of the parameters, beside any optimizer: often better to evaluate with than the parameters
// themselves.
//
//   const auto optimizer = optim::with_ema(0.999, optim::AdamW{.lr = 3e-4});
//   …
//   evaluate(state.average);            // after each update  average ← decay average + (1 - decay) w
#pragma once
#include "tidemark/optim/step.h"

namespace tidemark::optim {

// The state of the optimizer, and the average. Begins as the parameters; f32 where they have 16 bits.
template <class State>
struct EmaState : State {
  decltype(State::parameters) average;

  using tm_has_fields = EmaState;
  template <class Self, class Visitor>
  static void tm_visit_fields(Self& self, Visitor&& visitor) {
    State::tm_visit_fields(self, visitor);
    visitor("average", self.average);
  }
};

Tensors averaged(const Tensors& averages, const Tensors& parameters, double decay);
Tensor separate_copy(const Tensor& parameter);  // in memory of its own: both are donated
void check_decay(double decay, SourceLine where);

template <class Optimizer>
struct WithEma {
  static_assert(!SeesLoss<Optimizer>, "average inside of it: scale_loss(with_ema(0.999, AdamW{}))");
  Optimizer optimizer;
  double decay = 0.999;

  template <class Parameters>
  auto init(const Parameters& parameters) const {
    using State = decltype(optimizer.init(parameters));
    return EmaState<State>{optimizer.init(parameters), map_tree(separate_copy, parameters)};
  }
  template <class State, class Parameters>
  EmaState<State> update(const EmaState<State>& state, const Parameters& gradients,
                         SourceLine where = std::source_location::current()) const {
    State next = optimizer.update(static_cast<const State&>(state), gradients, where);
    const Tensors parameters = tensors_of(next.parameters);
    return {std::move(next),
            with_tensors(state.average, averaged(tensors_of(state.average), parameters, decay))};
  }
};

template <class Optimizer>
WithEma<Optimizer> with_ema(double decay, Optimizer optimizer,
                            SourceLine where = std::source_location::current()) {
  check_decay(decay, where);
  return {std::move(optimizer), decay};
}

}  // namespace tidemark::optim
