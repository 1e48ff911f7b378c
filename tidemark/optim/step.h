// A training step out of an optimizer and a loss.
#pragma once
#include "tidemark/autodiff/transforms.h"
#include "tidemark/optim/groups.h"

namespace tidemark::optim {

// Gives gradients the names of their parameters, "gradients.blocks.0.w1", for summaries.
class NameGradients final : public TreeVisitor {
 public:
  NameGradients() : TreeVisitor("gradients") {}
  void on_tensor(Tensor& tensor) override;
};

// An optimizer that computes value and gradients itself: it has a say in what the loss is. All others see
// gradients alone.
template <class Optimizer>
concept SeesLoss = requires {
  typename Optimizer::sees_loss;
};

// Zeros for what is frozen, which has no gradient of its own.
Tensors with_frozen_zeros(const Tensors& parameters, std::span<const Tensor> trained,
                          const std::vector<bool>& frozen);

// {what the loss returned, its gradients with respect to the parameters}: only of those that are trained.
template <class Loss, class Parameters, class... Arguments>
auto trained_gradients(const Loss& loss, const Groups& groups, SourceLine where, const Parameters& parameters,
                       const Arguments&... arguments) {
  if constexpr (!detail::TraceableLoss<Loss, Parameters, Arguments...>) {
    detail::explain_no_loss<Loss, Parameters, Arguments...>();
  }
  StateLists lists = parameter_lists(parameters);
  const Tensors& list = lists["parameters"];
  const std::vector<bool> frozen = frozen_among(groups, lists.names(), where);
  check_trained(frozen, lists.names(), list, where);
  const auto call = trace_call(loss, std::tuple<Parameters, Arguments...>(parameters, arguments...), where);
  std::vector<bool> wrt(call.inputs.size(), false);
  for (std::size_t i = 0; i < frozen.size(); ++i) wrt[i] = !frozen[i];
  const Tensors all_outputs = detail::apply_gradient(*call.graph, call.inputs, wrt, where);
  const std::span<const Tensor> outputs(all_outputs);
  const std::size_t values = call.outputs;
  return std::pair(with_tensors(call.result, outputs.first(values)),
                   with_tensors(parameters, with_frozen_zeros(list, outputs.subspan(values), frozen)));
}

template <class Optimizer, class Loss>
auto value_and_gradients(const Optimizer& optimizer, Loss loss, SourceLine where) {
  if constexpr (SeesLoss<Optimizer>) {
    return optimizer.value_and_gradients(std::move(loss), where);
  } else {
    return [loss = std::move(loss), groups = groups_of(optimizer), where](const auto& state,
                                                                          const auto&... arguments) {
      return trained_gradients(loss, groups, where, state.parameters, arguments...);
    };
  }
}

// A function (state, arguments…) → {new state, what the loss returned}. The loss takes the parameters first
// and returns a scalar, or a tuple that begins with one.
template <class Optimizer, class Loss>
auto step(Optimizer optimizer, Loss loss, SourceLine where = std::source_location::current()) {
  auto gradient = value_and_gradients(optimizer, std::move(loss), where);
  return [optimizer = std::move(optimizer), gradient = std::move(gradient), where](const auto& state,
                                                                                   const auto&... arguments) {
    auto [value, gradients] = gradient(state, arguments...);
    NameGradients naming;
    walk_tree(gradients, naming);
    return std::pair(optimizer.update(state, gradients, where), std::move(value));
  };
}

}  // namespace tidemark::optim
