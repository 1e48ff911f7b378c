#include "tidemark/nn/activations.h"

#include <cmath>
#include <numbers>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

// eˣ - 1 of the negative part alone: it is 0 where x is positive, and infinite nowhere. At 0 itself the slope
// of x counts, as from above.
Tensor celu(const Operand& x, double alpha) {
  const CallSite site(x.where());
  const Tensor& t = x.tensor();
  const Tensor above = x >= 0, below = select(above, zeros_like(t), t);
  const Tensor bent = expm1(below / alpha) * alpha;
  return select(above, t, bent);
}
Tensor elu(const Operand& x, double alpha) {
  const CallSite site(x.where());
  const Tensor& t = x.tensor();
  const Tensor above = x >= 0, below = select(above, zeros_like(t), t);
  const Tensor bent = expm1(below) * alpha;
  return select(above, t, bent);
}
Tensor selu(const Operand& x) {
  const CallSite site(x.where());
  constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  return elu(x, alpha) * scale;
}
Tensor mish(const Operand& x) {
  const CallSite site(x.where());
  return x.tensor() * tanh(softplus(x));
}
Tensor relu6(const Operand& x) {
  const CallSite site(x.where());
  return clamp(x, 0, 6);
}
Tensor hardtanh(const Operand& x, double low, double high) {
  const CallSite site(x.where());
  return clamp(x, low, high);
}
Tensor hardsigmoid(const Operand& x) {
  const CallSite site(x.where());
  return clamp(x + 3, 0, 6) / 6;
}
Tensor hardswish(const Operand& x) {
  const CallSite site(x.where());
  return x.tensor() * hardsigmoid(x);
}
Tensor logsigmoid(const Operand& x) {
  const CallSite site(x.where());
  return -softplus(-x);
}
Tensor softsign(const Operand& x) {
  const CallSite site(x.where());
  return x.tensor() / (abs(x) + 1);
}
Tensor tanhshrink(const Operand& x) {
  const CallSite site(x.where());
  return x.tensor() - tanh(x);
}
Tensor softshrink(const Operand& x, double lambda) {
  const CallSite site(x.where());
  return x.tensor() - clamp(x, -lambda, lambda);
}
Tensor hardshrink(const Operand& x, double lambda) {
  const CallSite site(x.where());
  const Tensor& t = x.tensor();
  const Tensor small = abs(x) <= lambda;
  return select(small, zeros_like(t), t);
}
Tensor gelu_tanh(const Operand& x) {
  const CallSite site(x.where());
  const Tensor& t = x.tensor();
  const Tensor cubic = t + t * square(t) * 0.044715;
  const Tensor share = tanh(cubic * std::sqrt(2 / std::numbers::pi)) + 1;
  return t * share * 0.5;
}
Tensor glu(const Operand& x, int axis) {
  const CallSite site(x.where());
  const std::vector<Tensor> half = split_evenly(x, axis, 2);
  return half[0] * sigmoid(half[1]);
}
Tensor prelu(const Operand& x, const Operand& slope) {
  const CallSite site(x.where());
  const Tensor& t = x.tensor();
  Tensor own = slope.tensor();
  if (own.count() > 1 && t.rank() > 2) {  // along the channels
    Dims shape{own.count()};
    for (int i = 2; i < t.rank(); ++i) shape.push_back(1);
    own = reshape(own, Shape(shape));
  }
  const Tensor above = x > 0, bent = t * own;
  return select(above, t, bent);
}

Tensor activate(const Operand& x, Activation activation) {
  const CallSite site(x.where());
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::silu:
      return silu(x);
    case Activation::tanh:
      return tanh(x);
  }
  TM_CHECK(false, "an unknown activation");
}

}  // namespace tidemark::nn
