#include "tidemark/ops/rms_norm.h"

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
std::vector<Sample> samples() { return forward_samples(cases(), false); }
std::vector<Sample> samples_grad() { return grad_samples(cases(), false); }
std::vector<Sample> samples_params() { return params_samples(cases(), false); }

using Family = NormFamily<LayerNormAttrs, rms_norm_form, op::rms_norm_grad, op::rms_norm_params>;

}  // namespace

NormForm rms_norm_form(const Call& call) {
  const auto attrs = call.attrs_as<LayerNormAttrs>();
  NormForm form = trailing_form(call, attrs.dims, attrs.eps);
  form.centered = false;
  return form;
}

const Op op::rms_norm = Family::forward("rms_norm", 2, samples);
const Op op::rms_norm_grad = Family::gradient("rms_norm_grad", samples_grad);
const Op op::rms_norm_params = Family::parameters("rms_norm_params", 1, samples_params);

Var rms_norm(const Var& x, const Var& gain, double eps) {
  const Var operands[] = {x, gain};
  return x.builder().call(op::rms_norm, operands, pack(LayerNormAttrs{gain.shape().rank(), eps})).front();
}

}  // namespace tidemark
