#include "tidemark/optim/rmsprop.h"

#include "tidemark/trace/functions.h"

namespace tidemark::optim {

void RmsProp::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  require_share(decay, "decay", where);
  require_positive(eps, "eps", where);
  require_share(momentum, "momentum", where);
  const Tensor before = state.count_step();
  Tensors &parameters = state["parameters"], &variance = state["variance"], &velocity = state["velocity"];
  const auto chosen =
      choose({lr, weight_decay, decay_rank, groups}, state.names(), parameters, before, where);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen) continue;
    const Tensor w = widened(parameters[i]), g = widened(gradients[i]);
    const Tensor slope = chosen[i].with_decay(g, w);
    variance[i] = moving_mean(variance[i], square(slope), decay);
    const Tensor root = sqrt(variance[i]);
    Tensor direction = slope / (root + eps);
    if (momentum != 0) {
      velocity[i] = velocity[i] * momentum + direction;
      direction = velocity[i];
    }
    parameters[i] = cast(w - direction * chosen[i].rate_in(w.dtype()), parameters[i].dtype());
  }
}

}  // namespace tidemark::optim
