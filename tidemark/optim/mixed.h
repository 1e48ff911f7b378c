// Mixed precision: the loss in 16 bits, parameters and moments in 32.
//
//   optim::step(optim::AdamW{.lr = 3e-4}, optim::computed_in(DType::bf16, loss))
//   optim::step(optim::scale_loss(optim::AdamW{.lr = 3e-4}), optim::computed_in(DType::f16, loss))
//
// bf16 has the range of f32 and needs no more. Gradients in f16 fall below its smallest number, so the loss
// is multiplied by a scale and the gradients divided by it. An update whose gradients are not all finite is
// skipped: the state but for the scale stays what it was, to the bit, and the scale is halved. After so many
// updates in a row that were made it is doubled. All of it happens in the graph: nobody reads a value back.
#pragma once
#include "tidemark/optim/step.h"

namespace tidemark::optim {

Tensor narrowed(const Tensor& x, DType dtype);  // f32 and f64 in that dtype; all else as it is

class Narrowing final : public TreeVisitor {
 public:
  explicit Narrowing(DType dtype) : dtype_(dtype) {}
  void on_tensor(Tensor& tensor) override { tensor = narrowed(tensor, dtype_); }
  bool passes_over_kept() const override { return true; }

 private:
  DType dtype_;
};

// The loss with its arguments, parameters and data, in 16 bits where they are f32 or f64. Running statistics
// of batch norms, and other structs that keep their dtype (KeepsDtype), stay what they are: they are handed
// on from step to step. What the loss computes in f32 on purpose (a sum of many, a logarithm) it casts
// itself.
template <class Loss>
auto computed_in(DType dtype, Loss loss) {
  return [dtype, loss = std::move(loss)](const auto&... arguments) {
    const auto narrow = [&](auto tree) {
      Narrowing narrowing(dtype);
      walk_tree(tree, narrowing);
      return tree;
    };
    return loss(narrow(arguments)...);
  };
}

struct LossScale {
  double first = 32768;  // 2¹⁵: the largest power of two in f16
  double growth = 2;     // after `interval` updates in a row that were made
  double backoff = 0.5;  // after one that was not
  double least = 1;
  int interval = 2000;
};

template <class State>
struct ScaledState : State {
  Tensor scale;   // f32
  Tensor finite;  // i32, updates made since the scale last changed

  using tm_has_fields = ScaledState;
  template <class Self, class Visitor>
  static void tm_visit_fields(Self& self, Visitor&& visitor) {
    State::tm_visit_fields(self, visitor);
    visitor("scale", self.scale);
    visitor("finite", self.finite);
  }
};

Tensor first_scale(const LossScale& settings);
Tensor scaled(const Tensor& loss, const Tensor& scale);
Tensor all_finite(const Tensors& gradients);  // bool, rank 0
Tensors unscaled(const Tensors& gradients, const Tensor& scale);
Tensors chosen_of(const Tensor& condition, const Tensors& on_true, const Tensors& on_false);
struct NextScale {
  Tensor scale, finite;
};
NextScale next_scale(const LossScale& settings, const Tensor& scale, const Tensor& finite,
                     const Tensor& made);
void check_loss_scale(const LossScale& settings, SourceLine where);

template <class Optimizer>
struct ScaleLoss {
  static_assert(!SeesLoss<Optimizer>, "one scale is enough");
  using sees_loss = void;
  Optimizer optimizer;
  LossScale settings = {};

  template <class Parameters>
  auto init(const Parameters& parameters) const {
    using State = decltype(optimizer.init(parameters));
    return ScaledState<State>{optimizer.init(parameters), first_scale(settings), no_steps()};
  }

  // {what the loss returned, gradients of the loss times the scale}
  template <class Loss>
  auto value_and_gradients(Loss loss, SourceLine where) const {
    const auto with_scale = [loss = std::move(loss)](const auto& parameters, const Tensor& scale,
                                                     const auto&... arguments) {
      auto result = loss(parameters, arguments...);
      const Tensors list = tensors_of(result);
      return std::pair(list.empty() ? Tensor() : scaled(list[0], scale), std::move(result));
    };
    return [with_scale, groups = groups_of(optimizer), where](const auto& state, const auto&... arguments) {
      auto [values, gradients] =
          trained_gradients(with_scale, groups, where, state.parameters, state.scale, arguments...);
      return std::pair(std::move(values.second), std::move(gradients));
    };
  }

  // `gradients`: of the loss times the state's scale.
  template <class State, class Parameters>
  ScaledState<State> update(const ScaledState<State>& state, const Parameters& gradients,
                            SourceLine where = std::source_location::current()) const {
    const std::vector<bool> frozen = frozen_of(groups_of(optimizer), state.parameters, where);
    const Tensors all = tensors_of(gradients), trained = trained_of(all, frozen);
    const Tensor made = all_finite(trained);
    const Tensors list = with_trained(all, unscaled(trained, state.scale), frozen);
    const State& before = state;
    const State after = optimizer.update(before, with_tensors(gradients, list), where);
    const NextScale next = next_scale(settings, state.scale, state.finite, made);
    return {with_tensors(before, chosen_of(made, tensors_of(after), tensors_of(before))), next.scale,
            next.finite};
  }
};

template <class Optimizer>
ScaleLoss<Optimizer> scale_loss(Optimizer optimizer, LossScale settings = {},
                                SourceLine where = std::source_location::current()) {
  check_loss_scale(settings, where);
  return {std::move(optimizer), settings};
}

}  // namespace tidemark::optim
