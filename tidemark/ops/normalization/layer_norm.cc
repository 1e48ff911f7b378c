#include "tidemark/ops/normalization/layer_norm.h"

#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using Family =
    NormFamily<LayerNormAttrs, layer_norm_form, op::layer_norm_grad, op::layer_norm_params, trailing_cases>;

}  // namespace

NormForm layer_norm_form(const Call& call) { return trailing_form(call, true); }

const Op op::layer_norm = Family::forward("layer_norm");
const Op op::layer_norm_grad = Family::gradient("layer_norm_grad");
const Op op::layer_norm_params = Family::parameters("layer_norm_params");

Var layer_norm(const Var& x, const Var& gain, const Var& bias, double eps) {
  const Var operands[] = {x, gain, bias};
  return x.builder().call(op::layer_norm, operands, pack(LayerNormAttrs{gain.shape().rank(), eps})).front();
}

}  // namespace tidemark
