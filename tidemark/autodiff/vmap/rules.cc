#include "tidemark/autodiff/vmap/rules.h"

#include <map>

#include "tidemark/autodiff/vmap/map_graph.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

const std::map<const Op*, VmapRule>& vmap_rows() {
  namespace rule = vmap_rule_of;
  static const std::map<const Op*, VmapRule> rows = {
      {&op::stop_gradient, rule::leading},
      {&op::residual, rule::leading},
      {&op::undone, rule::leading},
      {&op::to_grid, rule::leading},
      {&op::couple, rule::leading},
      {&op::uncouple, rule::leading},

      {&op::broadcast, rule::broadcast},
      {&op::reshape, rule::reshape},
      {&op::transpose, rule::transpose},
      {&op::slice, rule::slice},
      {&op::pad, rule::pad},
      {&op::concat, rule::along_axis},
      {&op::split, rule::along_axis},
      {&op::flip, rule::flip},
      {&op::tril, rule::leading},
      {&op::triu, rule::leading},
      {&op::update_slice, rule::update_slice},

      {&op::take, rule::take},
      {&op::take_add, rule::take_add},
      {&op::gather, rule::along_axis},
      {&op::scatter_add, rule::along_axis},
      {&op::one_hot, rule::leading},
      {&op::sort, rule::along_axis},
      {&op::top_k, rule::along_axis},

      {&op::reduce_sum, rule::reduction},
      {&op::reduce_mean, rule::reduction},
      {&op::reduce_max, rule::reduction},
      {&op::reduce_min, rule::reduction},
      {&op::reduce_prod, rule::reduction},
      {&op::reduce_logsumexp, rule::reduction},
      {&op::reduce_var, rule::reduction},
      {&op::argmax, rule::along_axis},
      {&op::argmin, rule::along_axis},
      {&op::cumsum, rule::along_axis},

      {&op::contract, rule::contract},
      {&op::conv, rule::conv},
      {&op::conv_input_grad, rule::conv},
      {&op::conv_weight_grad, rule::conv_weight_grad},
      {&op::max_pool, rule::batches},
      {&op::avg_pool, rule::batches},
      {&op::avg_pool_grad, rule::batches},
      {&op::cholesky, rule::leading},
      {&op::triangular_solve, rule::leading},
      {&op::solve, rule::leading},
      {&op::qr, rule::leading},
      {&op::svd, rule::leading},
      {&op::eigh, rule::leading},
      {&op::det, rule::leading},
      {&op::cofactors, rule::leading},
      {&op::slogdet, rule::leading},

      {&op::fft, rule::along_axis},
      {&op::rfft, rule::along_axis},
      {&op::irfft, rule::along_axis},

      {&op::softmax, rule::along_axis},
      {&op::softmax_grad, rule::along_axis},
      {&op::log_softmax, rule::along_axis},
      {&op::log_softmax_grad, rule::along_axis},
      {&op::layer_norm, rule::trailing_norm},
      {&op::layer_norm_grad, rule::trailing_norm},
      {&op::rms_norm, rule::trailing_norm},
      {&op::rms_norm_grad, rule::trailing_norm},
      {&op::group_norm, rule::group_norm},
      {&op::group_norm_grad, rule::group_norm},
      {&op::batch_norm, rule::batch_norm},
      {&op::batch_norm_grad, rule::batch_norm},
      {&op::batch_norm_params, rule::batch_norm},
      {&op::cross_entropy, rule::leading},
      {&op::cross_entropy_grad, rule::leading},
      {&op::linear_cross_entropy, one_by_one},  // what it is written in has the logits of all examples
      {&op::attention, rule::attention},
      {&op::attention_grad, rule::attention},
      {&op::attention_delta, rule::batches},

      {&op::loop, rule::loop},
      {&op::loop_reverse, rule::loop_reverse},
      {&op::while_loop, rule::while_loop},
      {&op::cond, rule::cond},
      {&op::custom_vjp_call, rule::custom_vjp_call},
  };
  return rows;
}

}  // namespace

VmapRule vmap_rule(const Op& op) {
  const auto row = vmap_rows().find(&op);
  if (row != vmap_rows().end()) return row->second;
  return op.kind == OpKind::elementwise && !op.custom ? vmap_rule_of::elementwise : nullptr;
}

}  // namespace tidemark
