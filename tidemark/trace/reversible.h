// Blocks whose inputs can be computed back from their outputs, so that nothing of them need wait for the
// backward pass: memory does not grow with their number. Where there is room, the planner keeps what it can.
//
//   auto block = reversible(f, g);
//   std::tie(x1, x2) = block(x1, x2);      // y1 = x1 + f(x2), y2 = x2 + g(y1)
//
//   auto flow = affine_coupling(f);        // y1 = x1, y2 = x2·exp(s) + t with (s, t) = f(x1)
//
// Sums of `reversible` are exact: halves and what f and g make are rounded to multiples of range / 2^24
// (f64: 2^53), so that what is computed back has the same bits, and gradients are the same at every budget.
// A sum beyond the range is an error of the call (docs/reversible.md).
#pragma once
#include <utility>

#include "tidemark/ops/reversible/couple.h"
#include "tidemark/ops/reversible/invertible.h"
#include "tidemark/ops/reversible/within.h"
#include "tidemark/trace/functions.h"

namespace tidemark {

struct ReversibleOptions {
  double range = default_grid_range;  // a power of two: what halves stay within
};

namespace detail {
Tensor on_grid(const Operand& x, double range);
Tensor coupled(const Operand& x, const Operand& t, double range);
Tensor scaled_and_shifted(const Operand& x, const Operand& scale, const Operand& shift, double gain);
double gain_of(double limit, SourceLine where);  // of a coupling whose log scale has this limit
}  // namespace detail

template <class F, class G>
auto reversible(F f, G g, ReversibleOptions options = {},
                SourceLine where = std::source_location::current()) {
  return [f = std::move(f), g = std::move(g), options, where](const Tensor& x1, const Tensor& x2) {
    const Tensor first = detail::on_grid({x1, where}, options.range);
    const Tensor second = detail::on_grid({x2, where}, options.range);
    const Tensor y1 = detail::coupled({first, where}, {f(second), where}, options.range);
    const Tensor y2 = detail::coupled({second, where}, {g(y1), where}, options.range);
    return std::pair(y1, y2);
  };
}

// An affine coupling (Dinh et al., "Density estimation using Real NVP", 2017), whose input can be computed
// back up to rounding: where `CompileOptions::lossy` allows that, nothing of a few of them in a row need
// wait. f gives two tensors of the shape of x2. The logarithm of the scale is limit·tanh(s / limit).
struct AffineOptions {
  double limit = 1;  // of that logarithm, above 0. An error may grow by exp(limit) when a coupling is undone.
};
struct AffineHalves {
  Tensor first, second, log_scale;  // the sum of log_scale is the logarithm of the determinant
};
template <class F>
class AffineCoupling {
 public:
  AffineCoupling(F f, AffineOptions options, SourceLine where)
      : f_(std::move(f)), limit_(options.limit), gain_(detail::gain_of(limit_, where)), where_(where) {}

  AffineHalves operator()(const Tensor& x1, const Tensor& x2) const {
    const auto [log_scale, shift] = parts(x1);
    const Tensor scale = exp(log_scale);
    const Tensor y2 = detail::scaled_and_shifted({x2, where_}, {scale, where_}, {shift, where_}, gain_);
    return {x1, y2, log_scale};
  }
  // The halves that give these.
  AffineHalves inverse(const Tensor& y1, const Tensor& y2) const {
    const auto [log_scale, shift] = parts(y1);
    return {y1, (y2 - shift) * exp(-log_scale), -log_scale};
  }

 private:
  std::pair<Tensor, Tensor> parts(const Tensor& half) const {
    const auto [s, t] = f_(half);
    return {limit_ * tanh(s / limit_), t};
  }

  F f_;
  double limit_, gain_;
  SourceLine where_;
};
template <class F>
auto affine_coupling(F f, AffineOptions options = {}, SourceLine where = std::source_location::current()) {
  return AffineCoupling<F>(std::move(f), options, where);
}

// x·q along the last dimension, for an orthogonal q, which the caller vouches for.
Tensor orthogonal_product(const Operand& x, const Operand& q);
// x·a for a triangle (the rest of a is not read). `gain`: the norm of the inverse of a, or more.
Tensor triangular_product(const Operand& x, const Operand& a, double gain, bool lower = true);

// x·scale + shift, which broadcast to the shape of x (with one number per feature: the actnorm of Kingma and
// Dhariwal, "Glow", 2018). `gain`: the largest 1 / |scale|, or more; 1 at least.
Tensor scale_and_shift(const Operand& x, const Operand& scale, const Operand& shift, double gain);

// A normalisation over all dimensions but the last, as flows have between couplings (Dinh et al., 2017),
// whose input can be computed back from its output and one mean and deviation per feature.
struct BatchNormFlowOptions {
  double gain = 1;  // the largest deviation / |scale|, or more; 1 at least
  double epsilon = 1e-5;
};
struct NormalizedFlow {
  Tensor result, log_scale;  // per feature; the sum of log_scale is the logarithm of an example's determinant
};
NormalizedFlow batch_norm_flow(const Operand& x, const Operand& scale, const Operand& shift,
                               BatchNormFlowOptions options = {});

// Functions that can be undone where the operand stays within a range: −range to range, and for log
// e^−range to e^range. Your word counts: nothing is clamped. The wider the range, the more an error grows
// when they are undone (docs/reversible.md).
struct Within {
  double range = 1;
};
Tensor exp(const Operand& x, Within within);
Tensor log(const Operand& x, Within within);
Tensor tanh(const Operand& x, Within within);
Tensor sigmoid(const Operand& x, Within within);
Tensor softplus(const Operand& x, Within within);
Tensor sinh(const Operand& x, Within within);
Tensor asinh(const Operand& x, Within within);

}  // namespace tidemark
