// Reverse mode marks what it writes, and every pass keeps the marks: where names say independently what is a
// gradient and a parameter, both agree.
#include <gtest/gtest.h>

#include "tests/support/tiny_models.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/report/phases.h"

namespace tidemark {
namespace {

void check(const Graph& graph, std::string_view name) {
  const std::vector<bool> gradients = gradients_of(graph);
  for (std::size_t v = 0; v < gradients.size(); ++v) {
    if (graph[ValueId(v)].name.starts_with("gradients.") && !graph.is_input(ValueId(v)))
      EXPECT_TRUE(gradients[v]) << name << " %" << v << " " << graph[ValueId(v)].name;
  }
  for (const Input& input : graph.inputs()) {
    const bool named = graph[input.value].name.starts_with("parameters.");
    EXPECT_EQ(input.differentiated, named) << name << " " << graph[input.value].name;
  }
  const std::vector<Phase> phases = phases_of(graph);
  EXPECT_GT(std::ranges::count(phases, Phase::forward), 0) << name;
  EXPECT_GT(std::ranges::count(phases, Phase::backward), 0) << name;
}

TEST(Phases, MarksOfTheZooAgreeWithItsNames) {
  for (const nn::ZooModel& model : nn::zoo()) {
    if (model.layers.standard > 16) continue;
    const nn::ZooOptions options{.batch = 2};
    check(prepare_graph(model.training_step(options)), model.name);
  }
}

// Of a step without an optimizer all that is not forward is backward: no pass takes a node out of its pass.
TEST(Phases, GradientsAloneHaveNoUpdate) {
  for (const char* name : {"mlp", "gpt", "convnet", "resnet18", "unet", "mobilenet"}) {
    const Graph step =
        nn::find_in_zoo(name)->training_step({.batch = 2, .optimizer = nn::OptimizerKind::none});
    const std::vector<Phase> phases = phases_of(prepare_graph(step));
    EXPECT_EQ(std::ranges::count(phases, Phase::update), 0) << name;
    EXPECT_GT(std::ranges::count(phases, Phase::backward), 0) << name;
  }
}

}  // namespace
}  // namespace tidemark
