#include "tidemark/ops/normalization/group_norm.h"

#include "tidemark/base/error.h"
#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

const std::vector<NormSample>& cases() {
  static const std::vector<NormSample> list = {{.x = {DType::f64, {2, 6, 5}},
                                                .statistics = {2, 3},
                                                .affine = {6},
                                                .attrs = pack(GroupNormAttrs{.groups = 3})},
                                               {.x = {DType::f64, {2, 4, 3, 3}},
                                                .statistics = {2, 1},
                                                .affine = {4},
                                                .attrs = pack(GroupNormAttrs{.groups = 1})},
                                               {.x = {DType::f64, {3, 6}},
                                                .statistics = {3, 2},
                                                .affine = {6},
                                                .attrs = pack(GroupNormAttrs{.groups = 2})}};
  return list;
}

using Family = NormFamily<GroupNormAttrs, group_norm_form, op::group_norm_grad, op::group_norm_params, cases>;

}  // namespace

NormForm group_norm_form(const Call& call) {
  const auto attrs = call.attrs_as<GroupNormAttrs>();
  NormForm form = channel_form(call, attrs.eps);
  if (attrs.groups < 1 || form.g % attrs.groups != 0) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{}: {} groups of {} channels", call.op->name, attrs.groups, form.g),
          .expected = "a number of groups that divides the channels",
          .where = call.where});
  }
  form.k = form.g / attrs.groups;
  form.g = attrs.groups;
  form.statistics = {form.n, form.g};
  return form;
}

const Op op::group_norm = Family::forward("group_norm");
const Op op::group_norm_grad = Family::gradient("group_norm_grad");
const Op op::group_norm_params = Family::parameters("group_norm_params");

Var group_norm(const Var& x, const Var& gain, const Var& bias, std::int64_t groups, double eps) {
  const Var operands[] = {x, gain, bias};
  return x.builder().call(op::group_norm, operands, pack(GroupNormAttrs{groups, eps})).front();
}

}  // namespace tidemark
