#include "tidemark/nn/training_step.h"

#include "tidemark/autodiff/reverse.h"
#include "tidemark/ir/graph.h"
#include "tidemark/optim/optimizers.h"
#include "tidemark/trace/trace.h"

namespace tidemark::nn {
namespace {

using Tensors = std::vector<Tensor>;

Tensors input_types(const Graph& graph, std::size_t begin, std::size_t end) {
  Tensors list;
  for (std::size_t i = begin; i < end; ++i) {
    list.push_back(Tensor::of_type(graph.type(graph.inputs()[i].value)));
  }
  return list;
}

std::string without_argument(const std::string& name) {  // "arg0.blocks.1.gain" → "blocks.1.gain"
  const std::size_t dot = name.find('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

// A step is traced over lists of tensors; its inputs get back the paths they have in the model.
void name_inputs(Graph& step, std::size_t state, const LossGraph& loss) {
  const auto loss_name = [&](std::size_t i) -> const std::string& {
    return loss.graph[loss.graph.inputs()[i].value].name;
  };
  for (std::size_t i = 0; i < step.inputs().size(); ++i) {
    std::string& name = step[step.inputs()[i].value].name;
    if (i >= state) {
      name = loss_name(i - state + loss.parameters);
      continue;
    }
    name = without_argument(name);  // "parameters.7", "mean.7", "steps"
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos) {
      const std::size_t parameter = std::stoul(name.substr(dot + 1));
      name = name.substr(0, dot + 1) + without_argument(loss_name(parameter));
    }
  }
}

void name_gradients(Graph& step, const LossGraph& loss) {
  constexpr std::string_view role = "gradients.";
  for (std::size_t v = 0; v < step.values().size(); ++v) {
    std::string& name = step[ValueId(v)].name;
    if (!name.starts_with(role)) continue;
    const std::size_t parameter = std::stoul(name.substr(role.size()));
    name = std::string(role) + without_argument(loss.graph[loss.graph.inputs()[parameter].value].name);
  }
}

Graph gradients_of(const LossGraph& loss) {
  auto flags = std::make_unique<bool[]>(loss.graph.inputs().size());
  std::fill_n(flags.get(), loss.parameters, true);
  Graph graph = gradient_graph(loss.graph, {flags.get(), loss.graph.inputs().size()});
  for (std::size_t i = 0; i < loss.parameters; ++i) {
    std::string& name = graph[graph.inputs()[i].value].name;
    name = "parameters." + without_argument(name);
  }
  return graph;
}

template <class Optimizer>
Graph updating_step(const LossGraph& loss, const Optimizer& optimizer) {
  const auto value = [&](const Tensors& parameters, const Tensors& data) {
    Tensors inputs = parameters;
    inputs.insert(inputs.end(), data.begin(), data.end());
    return apply(loss.graph, inputs, {}).front();
  };
  const auto state = result_types([&](const Tensors& p) { return optimizer.init(p); },
                                  input_types(loss.graph, 0, loss.parameters));
  const Tensors data = input_types(loss.graph, loss.parameters, loss.graph.inputs().size());
  auto call = trace_call(optim::step(optimizer, value), std::tuple(state, data), {});
  for (std::size_t i = 0; i < call.argument_ends[0]; ++i) call.graph->inputs()[i].donated = true;
  name_inputs(*call.graph, call.argument_ends[0], loss);
  name_gradients(*call.graph, loss);
  return std::move(*call.graph);
}

}  // namespace

std::optional<OptimizerKind> optimizer_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(optimizer_names); ++i) {
    if (optimizer_names[i] == name) return static_cast<OptimizerKind>(i);
  }
  return {};
}

Graph training_step(const LossGraph& loss, OptimizerKind optimizer, std::optional<DType> moments) {
  switch (optimizer) {
    case OptimizerKind::none:
      return gradients_of(loss);
    case OptimizerKind::sgd:
      return updating_step(loss, optim::Sgd{});
    case OptimizerKind::momentum:
      return updating_step(loss, optim::Momentum{.weight_decay = 1e-4});
    case OptimizerKind::nesterov:
      return updating_step(loss, optim::Momentum{.weight_decay = 1e-4, .nesterov = true});
    case OptimizerKind::rmsprop:
      return updating_step(loss, optim::RmsProp{.momentum = 0.9});
    case OptimizerKind::adam:
      return updating_step(loss, optim::Adam{});
    case OptimizerKind::adamw:
      return updating_step(loss, optim::AdamW{.moments = moments});
    case OptimizerKind::adamw8bit:
      return updating_step(loss, optim::AdamW8bit{});
    case OptimizerKind::adafactor:
      return updating_step(loss, optim::Adafactor{});
    case OptimizerKind::lion:
      return updating_step(loss, optim::Lion{});
  }
  TM_CHECK(false, "an unknown optimizer");
}

}  // namespace tidemark::nn
