// Optimisation moves, merges and removes nodes; hints and checkpoints follow, and what loses its value says
// so.
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/opt/cse.h"
#include "tidemark/opt/dce.h"
#include "tidemark/opt/narrow.h"
#include "tidemark/opt/optimize.h"
#include "tidemark/opt/simplify.h"

namespace tidemark {
namespace {

Graph simplified(std::string_view text) { return simplify(graph_from(text), known_ops(find_op)); }

TEST(OptHints, FollowTheValueThatReplacesTheirs) {
  const Graph graph = simplified(R"(graph(%x: f32[2]) -> (f32[2]) {
    %y = exp(%x) : f32[2]
    %z = neg(%y) : f32[2]
    %w = neg(%z) : f32[2]
    return %w
    keep %w
  })");
  EXPECT_EQ(graph[graph.hints()[0].value].name, "y");
}

TEST(OptHints, OfRemovedValuesAreLostVisibly) {
  const Graph graph = dce(graph_from(R"(graph(%x: f32[2]) -> (f32[2]) {
    %y = exp(%x) : f32[2] #0
    %z = sin(%x) : f32[2] #0
    return %z
    checkpoint #0 (%y, %z)
    keep %y
  })"));
  ASSERT_EQ(graph.hints().size(), 1u);
  EXPECT_FALSE(graph.hints()[0].value.valid());
  EXPECT_EQ(graph.checkpoints()[0].results.size(), 1u);
}

TEST(OptHints, SiblingCheckpointsShareNothingThatTheyCompute) {
  const Graph graph = cse(graph_from(R"(graph(%x: f32[2]) -> (f32[2], f32[2], f32[2], f32[2]) {
    %a = exp(%x) : f32[2] #0
    %b = exp(%x) : f32[2] #1
    %c = exp(%x) : f32[2] #2
    %d = exp(%x) : f32[2]
    return %a, %b, %c, %d
    checkpoint #0 (%a)
    checkpoint #1 (%b)
    checkpoint #2 in #1 (%c)
  })"));
  ASSERT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(graph.outputs()[1], graph.outputs()[2]) << "a checkpoint and the one inside it do";
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[3]) << "and one and its surroundings";
}

TEST(OptHints, ConstantsAreSharedByAll) {
  const Graph graph = cse(graph_from(R"(graph(%x: f32[]) -> (f32[], f32[]) {
    %1 = constant() {value = f32[] 2.0} : f32[] #0
    %2 = constant() {value = f32[] 2.0} : f32[] #1
    %3 = mul(%x, %1) : f32[] #0
    %4 = div(%x, %2) : f32[] #1
    return %3, %4
    checkpoint #0 (%3)
    checkpoint #1 (%4)
  })"));
  ASSERT_EQ(graph.nodes().size(), 3u);
  EXPECT_FALSE(graph.nodes()[0].checkpoint.valid());
}

TEST(OptHints, StayThroughAllPasses) {
  const Graph source = graph_from(R"(graph(%x: f32[64]) -> (f32[64]) {
    %1 = constant() {value = f32[] 1.0} : f32[]
    %2 = broadcast(%1) {shape = [64]} : f32[64] #0
    %h = mul(%x, %2) : f32[64] #0
    %y = exp(%h) : f32[64] #0
    %z = sin(%y) : f32[64]
    return %z
    checkpoint #0 "b" (%y) memory 5
    recompute %y
    keep %h
  })");
  const Graph graph = optimize(source, {.ops = known_ops(find_op)});
  ASSERT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(graph.nodes()[0].checkpoint, CheckpointId(0));
  EXPECT_EQ(graph.checkpoints()[0].name, "b");
  EXPECT_EQ(graph.hints()[0].value, graph.nodes()[0].results[0]);
  EXPECT_TRUE(graph.is_input(graph.hints()[1].value));
}

}  // namespace
}  // namespace tidemark
