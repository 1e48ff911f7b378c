#include "tidemark/ops/layer_norm.h"

#include "tidemark/ops/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

const std::vector<NormSample>& cases() {
  static const std::vector<NormSample> list = {
      {.x = {DType::f64, {3, 5}}, .statistics = {3, 1}, .affine = {5}, .attrs = pack(LayerNormAttrs{})},
      {.x = {DType::f64, {2, 3, 4}},
       .statistics = {2, 1, 1},
       .affine = {3, 4},
       .attrs = pack(LayerNormAttrs{.dims = 2})},
      {.x = {DType::f64, {2, 19}},
       .statistics = {2, 1},
       .affine = {19},
       .attrs = pack(LayerNormAttrs{.eps = 0.1})}};
  return list;
}
std::vector<Sample> samples() { return forward_samples(cases(), true); }
std::vector<Sample> samples_grad() { return grad_samples(cases(), true); }
std::vector<Sample> samples_params() { return params_samples(cases(), true); }

using Family = NormFamily<LayerNormAttrs, layer_norm_form, op::layer_norm_grad, op::layer_norm_params>;

}  // namespace

NormForm layer_norm_form(const Call& call) {
  const auto attrs = call.attrs_as<LayerNormAttrs>();
  NormForm form = trailing_form(call, attrs.dims, attrs.eps);
  form.centered = true;
  return form;
}

const Op op::layer_norm = Family::forward("layer_norm", 3, samples);
const Op op::layer_norm_grad = Family::gradient("layer_norm_grad", samples_grad);
const Op op::layer_norm_params = Family::parameters("layer_norm_params", 2, samples_params);

Var layer_norm(const Var& x, const Var& gain, const Var& bias, double eps) {
  const Var operands[] = {x, gain, bias};
  return x.builder().call(op::layer_norm, operands, pack(LayerNormAttrs{gain.shape().rank(), eps})).front();
}

}  // namespace tidemark
