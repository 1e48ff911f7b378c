// From a model's loss to the graph of one training step, from types alone: nothing is allocated.
//
//   loss            (parameters…, data…) → loss
//   training step   (parameters…, moments…, data…) → (new parameters…, new moments…, loss)
//
// The parameters and moments are donated: output i takes the memory of input i.
#pragma once
#include <optional>
#include <string_view>

#include "tidemark/ir/graph.h"
#include "tidemark/trace/traced_call.h"

namespace tidemark::nn {

enum class OptimizerKind : std::uint8_t {
  none,  // no update: the step returns (loss, gradients…) and donates nothing
  sgd,
  momentum,
  nesterov,
  rmsprop,
  adam,
  adamw,
  adamw8bit,
  adafactor,
  lion,
};
inline constexpr std::string_view optimizer_names[] = {"none", "sgd",   "momentum",  "nesterov",  "rmsprop",
                                                       "adam", "adamw", "adamw8bit", "adafactor", "lion"};
std::optional<OptimizerKind> optimizer_named(std::string_view name);

struct LossGraph {
  Graph graph;
  std::size_t parameters = 0;  // the first inputs
};

// The types of a tree with its floating-point tensors in another dtype.
template <class Tree>
Tree types_in(DType dtype, const Tree& tree) {
  return map_tree(
      [&](const Tensor& t) {
        return Tensor::of_type({is_float(t.dtype()) ? dtype : t.dtype(), t.shape()});
      },
      tree);
}

// `init` makes the parameters, which are then of `dtype`; `loss(parameters, data…)` returns a scalar.
template <class Init, class Loss, class... Data>
LossGraph loss_graph(DType dtype, const Init& init, const Loss& loss, const Data&... data) {
  auto call = trace_call(loss, std::tuple(types_in(dtype, result_types(init)), data...), {});
  return {std::move(*call.graph), call.argument_ends[0]};
}

// `moments`: what AdamW keeps its moments in; none: as it does by itself.
Graph training_step(const LossGraph& loss, OptimizerKind optimizer, std::optional<DType> moments = {});

}  // namespace tidemark::nn
