#include "tidemark/optim/lion.h"

#include "tidemark/trace/functions.h"

namespace tidemark::optim {

void Lion::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  require_share(beta1, "beta1", where);
  require_share(beta2, "beta2", where);
  const Tensor before = state.count_step();
  Tensors &parameters = state["parameters"], &mean = state["mean"];
  const auto chosen =
      choose({lr, weight_decay, decay_rank, groups}, state.names(), parameters, before, where);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen) continue;
    const Tensor w = widened(parameters[i]), g = widened(gradients[i]);
    const Tensor direction = sign(moving_mean(mean[i], g, beta1));
    const Tensor rest = chosen[i].decayed(w);
    parameters[i] = cast(rest - direction * chosen[i].rate_in(w.dtype()), parameters[i].dtype());
    mean[i] = moving_mean(mean[i], g, beta2);
  }
}

}  // namespace tidemark::optim
