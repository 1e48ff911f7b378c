// A training step out of an optimizer and a loss.
#pragma once
#include "tidemark/autodiff/transforms.h"
#include "tidemark/optim/state.h"

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

template <class Optimizer, class Loss>
auto value_and_gradients(const Optimizer& optimizer, Loss loss, SourceLine where) {
  if constexpr (SeesLoss<Optimizer>) {
    return optimizer.value_and_gradients(std::move(loss), where);
  } else {
    return [gradient = value_and_grad(std::move(loss), where)](const auto& state, const auto&... arguments) {
      return gradient(state.parameters, arguments...);
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
