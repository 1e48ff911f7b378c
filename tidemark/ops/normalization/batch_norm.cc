#include "tidemark/ops/normalization/batch_norm.h"

#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

const std::vector<NormSample>& cases() {
  static const std::vector<NormSample> list = {
      {.x = {DType::f64, {4, 3, 5}}, .statistics = {3}, .affine = {3}, .attrs = pack(BatchNormAttrs{})},
      {.x = {DType::f64, {2, 3, 2, 9}},
       .statistics = {3},
       .affine = {3},
       .attrs = pack(BatchNormAttrs{.eps = 0.1})},
      {.x = {DType::f64, {7, 4}}, .statistics = {4}, .affine = {4}, .attrs = pack(BatchNormAttrs{})}};
  return list;
}

using Family = NormFamily<BatchNormAttrs, batch_norm_form, op::batch_norm_grad, op::batch_norm_params, cases>;

}  // namespace

NormForm batch_norm_form(const Call& call) {
  NormForm form = channel_form(call, call.attrs_as<BatchNormAttrs>().eps);
  form.across_batch = true;
  form.variance = true;
  form.statistics = {form.g};
  return form;
}

const Op op::batch_norm = Family::forward("batch_norm");
const Op op::batch_norm_grad = Family::gradient("batch_norm_grad");
const Op op::batch_norm_params = Family::parameters("batch_norm_params");

BatchNorm batch_norm(const Var& x, const Var& gain, const Var& bias, double eps) {
  const Var operands[] = {x, gain, bias};
  const std::vector<Var> results = x.builder().call(op::batch_norm, operands, pack(BatchNormAttrs{eps}));
  return {.y = results[0], .mean = results[1], .variance = results[2]};
}

}  // namespace tidemark
