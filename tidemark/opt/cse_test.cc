#include "tidemark/opt/cse.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/ir/compare.h"

namespace tidemark {
namespace {

TEST(Cse, MergesEqualNodesAndThenTheirReaders) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2], f32[2]) {
    %a = exp(%x) : f32[2]  @ "a.cc":1
    %b = exp(%x) : f32[2]  @ "a.cc":2
    %c = sin(%a) : f32[2]
    %d = sin(%b) : f32[2]
    return %c, %d
  })");
  EXPECT_EQ(print(cse(graph)), normal(R"(graph(%x: f32[2]) -> (f32[2], f32[2]) {
    %a = exp(%x) : f32[2]  @ "a.cc":1
    %c = sin(%a) : f32[2]
    return %c, %c
  })"));
}

TEST(Cse, TheKeptValueTakesAName) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2], f32[2]) {
    %1 = exp(%x) : f32[2]
    %h = exp(%x) : f32[2]
    return %1, %h
  })");
  const Graph merged = cse(graph);
  EXPECT_EQ(merged[merged.outputs()[0]].name, "h");
  EXPECT_EQ(merged.outputs()[0], merged.outputs()[1]);
}

TEST(Cse, KeepsNodesThatDiffer) {
  for (const char* text : {
           "graph(%x: f32[2], %y: f32[2]) -> () { %a = exp(%x) : f32[2] %b = exp(%y) : f32[2] return }",
           "graph(%x: f32[2], %y: f32[2]) -> () { %a = sub(%x, %y) : f32[2] %b = sub(%y, %x) : f32[2] return "
           "}",
           "graph(%x: f32[2]) -> () { %a = blend(%x) {scale = 0.0} : f32[2] %b = blend(%x) {scale = -0.0} : "
           "f32[2] return }",
           "graph(%x: f32[2]) -> () { %a = unrepeatable(%x) : f32[2] %b = unrepeatable(%x) : f32[2] return }",
           "graph(%x: f32[2]) -> () { emit(%x) emit(%x) return }",
           "graph(%x: f32[2]) -> () { %a = share(%x) : f32[2] %b = share(%x) : f32[2] return }",
           "graph(%x: f32[2]) -> () { %a = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) { emit(%i) return %i }] "
           ": "
           "f32[] %b = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) { emit(%i) return %i }] : f32[] return }",
           "graph(%x: f32[2]) -> () { %a = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) { return %i }] : f32[] "
           "%b = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) { %j = exp(%i) : f32[] return %j }] : f32[] "
           "return }",
       }) {
    const Graph graph = graph_from(text);
    EXPECT_TRUE(same_graph(cse(graph), graph)) << text;
  }
}

// Pure nodes do not see the world.
TEST(Cse, MergesAcrossAnEffect) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2], f32[2]) {
    %a = exp(%x) : f32[2]
    emit(%a)
    %b = exp(%x) : f32[2]
    return %a, %b
  })");
  EXPECT_EQ(cse(graph).nodes().size(), 2u);
}

TEST(Cse, MergesEqualRegionsWhateverTheirNames) {
  const Graph graph = graph_from(R"(graph(%x: f32[]) -> (f32[], f32[]) {
    %a = toy_loop(%x) [graph @f(%i: f32[]) -> (f32[]) { %j = exp(%i) : f32[] return %j }] : f32[]
    %b = toy_loop(%x) [graph @g(%k: f32[]) -> (f32[]) { %l = exp(%k) : f32[] return %l }] : f32[]
    return %a, %b
  })");
  EXPECT_EQ(cse(graph).nodes().size(), 1u);
}

TEST(Cse, MergesAllResultsOfANode) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2], bool[2]) {
    %a, %b = two(%x) : f32[2], bool[2]
    %c, %d = two(%x) : f32[2], bool[2]
    return %c, %d
  })");
  const Graph merged = cse(graph);
  EXPECT_EQ(merged.nodes().size(), 1u);
  EXPECT_EQ(merged.outputs(), merged.nodes()[0].results);
}

}  // namespace
}  // namespace tidemark
