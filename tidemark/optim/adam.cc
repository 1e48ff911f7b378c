#include "tidemark/optim/adam.h"

#include <cmath>

#include "tidemark/trace/functions.h"

namespace tidemark::optim {
namespace {

// `decoupled`: the decay is no part of the gradient.
template <class Settings>
void advance_adam(const Settings& o, bool decoupled, StateLists& state, const Tensors& gradients,
                  SourceLine where) {
  require_adam(o.beta1, o.beta2, o.eps, where);
  if (o.moments) require_float(*o.moments, "moments", where);
  const Tensor before = state.count_step();
  Tensors &parameters = state["parameters"], &mean = state["mean"], &variance = state["variance"];
  const auto chosen =
      choose({o.lr, o.weight_decay, o.decay_rank, o.groups}, state.names(), parameters, before, where);
  const BiasCorrection correction(o.beta1, o.beta2, o.eps, before);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen) continue;
    const Tensor w = widened(parameters[i]), g = widened(gradients[i]);
    const Tensor slope = decoupled ? g : chosen[i].with_decay(g, w);
    const Tensor m = moving_mean(cast(mean[i], w.dtype()), slope, o.beta1);
    const Tensor v = moving_mean(cast(variance[i], w.dtype()), square(slope), o.beta2);
    mean[i] = cast(m, mean[i].dtype());
    variance[i] = cast(v, variance[i].dtype());
    const Tensor rest = decoupled ? chosen[i].decayed(w) : w;
    const Tensor change = correction.change(m, v, chosen[i]);
    parameters[i] = cast(rest - change, parameters[i].dtype());
  }
}

}  // namespace

void require_adam(double beta1, double beta2, double eps, SourceLine where) {
  require_share(beta1, "beta1", where);
  require_share(beta2, "beta2", where);
  require_positive(eps, "eps", where);
}

// With c = 1 - betaᵗ:  (m / c1) / (√(v / c2) + eps) = (√c2 / c1) m / (√v + eps √c2). expm1 keeps c exact for
// the first steps, where betaᵗ is close to 1.
BiasCorrection::BiasCorrection(double beta1, double beta2, double epsilon, const Tensor& before) {
  const Tensor t = cast(before + 1, DType::f64);
  const Tensor c1 = -expm1(t * std::log(beta1)), root = sqrt(-expm1(t * std::log(beta2)));
  rate = root / c1;
  eps = root * epsilon;
}

Tensor BiasCorrection::change(const Tensor& m, const Tensor& v, const Chosen& chosen) const {
  const DType dtype = m.dtype();
  const Tensor root = sqrt(v), direction = m / (root + cast(eps, dtype));
  return direction * cast(rate * chosen.rate, dtype);
}

void Adam::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  advance_adam(*this, false, state, gradients, where);
}
void AdamW::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  advance_adam(*this, true, state, gradients, where);
}

}  // namespace tidemark::optim
