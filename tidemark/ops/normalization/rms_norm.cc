#include "tidemark/ops/normalization/rms_norm.h"

#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using Family =
    NormFamily<LayerNormAttrs, rms_norm_form, op::rms_norm_grad, op::rms_norm_params, trailing_cases, false>;

}  // namespace

NormForm rms_norm_form(const Call& call) { return trailing_form(call, false); }

const Op op::rms_norm = Family::forward("rms_norm");
const Op op::rms_norm_grad = Family::gradient("rms_norm_grad");
const Op op::rms_norm_params = Family::parameters("rms_norm_params");

Var rms_norm(const Var& x, const Var& gain, double eps) {
  const Var operands[] = {x, gain};
  return x.builder().call(op::rms_norm, operands, pack(LayerNormAttrs{gain.shape().rank(), eps})).front();
}

}  // namespace tidemark
