#include "tidemark/optim/sgd.h"

#include "tidemark/trace/functions.h"

namespace tidemark::optim {

void Sgd::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  Tensors& parameters = state["parameters"];
  const Tensor before = state.count_step();
  const auto chosen =
      choose({lr, weight_decay, decay_rank, groups}, state.names(), parameters, before, where);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen) continue;
    const Tensor w = widened(parameters[i]), g = widened(gradients[i]);
    const Tensor slope = chosen[i].with_decay(g, w);
    parameters[i] = cast(w - slope * chosen[i].rate_in(w.dtype()), parameters[i].dtype());
  }
}

void Momentum::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  require_share(beta, "beta", where);
  const Tensor before = state.count_step();
  Tensors &parameters = state["parameters"], &velocity = state["velocity"];
  const auto chosen =
      choose({lr, weight_decay, decay_rank, groups}, state.names(), parameters, before, where);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen) continue;
    const Tensor w = widened(parameters[i]), g = widened(gradients[i]);
    const Tensor slope = chosen[i].with_decay(g, w);
    const Tensor v = velocity[i] * beta + slope;
    const Tensor direction = nesterov ? slope + v * beta : v;
    parameters[i] = cast(w - direction * chosen[i].rate_in(w.dtype()), parameters[i].dtype());
    velocity[i] = v;
  }
}

}  // namespace tidemark::optim
