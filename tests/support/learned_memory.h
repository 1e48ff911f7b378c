// What training holds of what is learned: parameters and moments throughout, and of the gradients no more at
// once than those of a layer.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/infeasible.h"
#include "tidemark/plan/report/peak_split.h"

namespace tidemark {

enum class Budget { none, least };

// The bytes of the largest layer: parameters whose paths begin alike up to the first number
// (`blocks.3.up.weight`) or, without one, in their first part (`head.bias`). A model without numbers is one
// layer.
inline std::int64_t largest_layer(const Graph& step) {
  std::map<std::string, std::int64_t> layers;
  std::int64_t all = 0, largest = 0;
  bool numbered = false;
  for (const Input& input : step.inputs()) {
    constexpr std::string_view role = "parameters.";
    std::string name = step[input.value].name;
    if (!name.starts_with(role)) continue;
    name = name.substr(role.size());
    const std::size_t digit = name.find_first_of("0123456789");
    const bool number = digit != std::string::npos && digit > 0 && name[digit - 1] == '.';
    numbered |= number;
    std::int64_t& bytes = layers[name.substr(0, name.find('.', number ? digit : 0))];
    bytes += step.type(input.value).bytes();
    largest = std::max(largest, bytes);
    all += step.type(input.value).bytes();
  }
  return numbered ? largest : all;
}

// A table whose gradient is complete only at the end of the backward pass, however it is ordered: it is the
// head too (`gpt`), or every step of a recurrence adds to it (`lstm`).
inline std::int64_t bytes_that_wait(const nn::ZooModel& model, const Graph& step) {
  const bool waits = model.name.find("gpt") != std::string_view::npos || model.name == "lstm";
  for (const Input& input : step.inputs()) {
    if (waits && step[input.value].name == "parameters.token_table") return step.type(input.value).bytes();
  }
  return 0;
}

inline void expect_one_layers_gradient(std::string_view name, nn::OptimizerKind optimizer, Budget budget,
                                       double effort = 0.1) {
  const nn::ZooModel& model = *nn::find_in_zoo(name);
  const Graph graph = prepare_graph(model.training_step({.optimizer = optimizer}));
  PlanOptions options{.effort = effort};
  if (budget == Budget::least) options.memory = 1;
  const Result<Plan, Infeasible> planned = try_plan(graph, cpu_target(), options);
  const Plan& plan = planned ? planned.value() : planned.error().smallest;
  const PeakSplit split = peak_split(graph, plan);
  const std::int64_t parameters = split.of(PeakRole::parameters), moments = split.of(PeakRole::moments);
  const std::int64_t layer = largest_layer(graph) + bytes_that_wait(model, graph);
  const std::string what = std::string(name) + ", " +
                           std::string(nn::optimizer_names[static_cast<std::size_t>(optimizer)]) +
                           (budget == Budget::least ? ", the least memory" : "");
  EXPECT_FALSE(split.all_needed) << what;
  EXPECT_LE(split.most_gradients, layer) << what;
  // Of parameters in f32 moments are at most twice (8 bits: 0.6 times) as large.
  const bool eight_bits = optimizer == nn::OptimizerKind::adamw8bit;
  const double state = (eight_bits ? 1.6 : 3.0) * static_cast<double>(parameters);
  const std::int64_t counts = 64;
  if (model.dtype == DType::f32) {
    EXPECT_LE(static_cast<double>(parameters + moments), state + counts) << what;
    EXPECT_LE(static_cast<double>(split.most_learned()), state + static_cast<double>(layer) + counts) << what;
  }
  // All of the state is updated where it lies, but for the number of steps.
  for (std::size_t i = 0; i < graph.inputs().size() && graph.inputs()[i].donated; ++i) {
    if (graph.type(graph.inputs()[i].value).count() <= 1) continue;
    EXPECT_EQ(plan.buffers[plan.outputs[i].buffer.index].binding, Binding::argument)
        << what << ": " << graph[graph.inputs()[i].value].name << " has a copy";
  }
}

}  // namespace tidemark
