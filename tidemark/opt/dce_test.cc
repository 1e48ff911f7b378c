#include "tidemark/opt/dce.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/ir/compare.h"

namespace tidemark {
namespace {

TEST(Dce, DropsWhatNoOutputNeeds) {
  const Graph graph = graph_from(R"(graph @g(%x: f32[2], %unused: f32[3] donated) -> (f32[2]) {
    %dead = exp(%x) : f32[2]
    %deader = sin(%dead) : f32[2]
    %y = cos(%x) : f32[2]  @ "a.cc":1
    return %y
  })");
  EXPECT_EQ(print(dce(graph)), normal(R"(graph @g(%x: f32[2], %unused: f32[3] donated) -> (f32[2]) {
    %y = cos(%x) : f32[2]  @ "a.cc":1
    return %y
  })"));
}

TEST(Dce, KeepsEffectsAndWhatTheyRead) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> () {
    %y = exp(%x) : f32[2]
    emit(%y)
    %z = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) { emit(%i) return %i }] : f32[2]
    %s = share(%x) : f32[2]
    return
  })");
  EXPECT_TRUE(same_graph(dce(graph), graph));
}

TEST(Dce, KeepsANodeIfOneOfItsResultsIsRead) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (bool[2]) {
    %a, %b = two(%x) : f32[2], bool[2]
    return %b
  })");
  EXPECT_TRUE(same_graph(dce(graph), graph));
}

TEST(Dce, DropsUnreadRandomnessAndCleansRegions) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2]) {
    %r = unrepeatable(%x) : f32[2]
    %z = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) { %dead = exp(%i) : f32[2] return %i }] : f32[2]
    return %z
  })");
  EXPECT_EQ(print(dce(graph)), normal(R"(graph(%x: f32[2]) -> (f32[2]) {
    %z = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) { return %i }] : f32[2]
    return %z
  })"));
}

}  // namespace
}  // namespace tidemark
