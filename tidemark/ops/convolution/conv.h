// Convolution of 1, 2 or 3 spatial dimensions, and its two gradients. All three are bilinear and closed under
// differentiation: the derivative of each is written with the other two.
//
//   conv              x (N, C, S…)  w (O, C/groups, K…)  ->  y (N, O, P…),  P = (S + low + high - dilation
//   (K-1) - 1) / stride + 1
//   conv_input_grad   y (N, O, P…)  w (O, C/groups, K…)  ->  x (N, C, S…)   S given by `size`
//   conv_weight_grad  x (N, C, S…)  y (N, O, P…)         ->  w (O, C/groups, K…)  K given by `size`
//
// It is a correlation, as usual in learning: y[p] = Σ_k w[k] x[p stride + k dilation - low], zeros outside of
// x.
#pragma once
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct ConvAttrs {
  Dims stride = {}, low = {}, high = {},
       dilation = {};  // one entry per spatial dimension; low and high: padding, ≥ 0
  std::int64_t groups = 1;
  TM_FIELDS(ConvAttrs, stride, low, high, dilation, groups)
};

struct ConvGradAttrs {
  Dims stride = {}, low = {}, high = {}, dilation = {};
  std::int64_t groups = 1;
  Dims size = {};  // of the spatial dimensions that the operands leave open
  TM_FIELDS(ConvGradAttrs, stride, low, high, dilation, groups, size)
};

// Empty lists in `attrs` mean stride 1, dilation 1, no padding.
Var conv(const Var& x, const Var& w, ConvAttrs attrs = {});
Var conv_input_grad(const Var& y, const Var& w, const Dims& input_size, const ConvAttrs& attrs);
Var conv_weight_grad(const Var& x, const Var& y, const Dims& kernel_size, const ConvAttrs& attrs);

}  // namespace tidemark
