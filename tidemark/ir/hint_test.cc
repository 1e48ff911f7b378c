#include "tidemark/ir/hint.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/toy_ops.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ir/verify.h"

namespace tidemark {
namespace {

constexpr std::string_view text = R"(graph(%x: f32[2] donated differentiated) -> (f32[2]) {
  %h = blend(%x) : f32[2] #0  @ "net.cc":3
  %2 = blend(%h) {scale = 2.0} : f32[2] #1
  %3, %4 = two(%2) : f32[2], bool[2] #1
  emit(%4) #0
  %5 = blend(%3) : f32[2] backward
  return %5
  checkpoint #0 "block" (%3) memory 4096  @ "net.cc":9
  checkpoint #1 in #0 (%3)
  keep %h  @ "net.cc":4
  recompute %2
  keep _  @ "net.cc":7
  offload %3  @ "net.cc":8
}
)";

Graph example() { return parse(text, toy::lookup, "hints.ir"); }

TEST(Hint, SurvivesTheTextForm) {
  const Graph graph = example();
  EXPECT_EQ(print(graph), text);
  verify(graph);
  ASSERT_EQ(graph.checkpoints().size(), 2u);
  EXPECT_EQ(graph.checkpoints()[0].memory, Bytes(4096));
  EXPECT_EQ(graph.checkpoints()[1].parent, CheckpointId(0));
  EXPECT_EQ(graph.nodes()[1].checkpoint, CheckpointId(1));
  EXPECT_FALSE(graph.nodes()[4].checkpoint.valid());
  ASSERT_EQ(graph.hints().size(), 4u);
  EXPECT_EQ(graph[graph.hints()[0].value].name, "h");
  EXPECT_FALSE(graph.hints()[2].value.valid());
  EXPECT_EQ(graph.hints()[3].kind, HintKind::offload);
}

TEST(Hint, WhatReverseModeWroteSurvivesTheTextForm) {
  const Graph graph = example();
  EXPECT_TRUE(graph.inputs()[0].differentiated);
  EXPECT_TRUE(graph.nodes()[4].backward);
  EXPECT_FALSE(graph.nodes()[3].backward);
  for (const std::string_view part : {" differentiated", " backward"}) {
    std::string other(text);
    other.erase(other.find(part), part.size());
    const Graph changed = parse(other, toy::lookup, "hints.ir");
    EXPECT_FALSE(same_graph(graph, changed)) << part;
    EXPECT_TRUE(same_graph(graph, changed, {.lines = false})) << part;
  }
}

TEST(Hint, CountsWhenGraphsAreCompared) {
  const Graph graph = example();
  EXPECT_TRUE(same_graph(graph, example()));
  for (const std::string_view part :
       {" memory 4096", "  @ \"net.cc\":4", "  recompute %2\n", " #0  @ \"net.cc\":3"}) {
    std::string other(text);
    other.replace(other.find(part), part.size(), part.ends_with("\n") ? "" : " ");
    const Graph changed = parse(other, toy::lookup, "hints.ir");
    EXPECT_FALSE(same_graph(graph, changed)) << part;
    EXPECT_TRUE(same_graph(graph, changed, {.lines = false, .hints = false})) << part;
  }
}

TEST(Hint, MalformedTextIsRefused) {
  const auto refused = [](std::string_view from, std::string_view to) {
    std::string other(text);
    other.replace(other.find(from), from.size(), to);
    EXPECT_THROW(parse(other, toy::lookup, "hints.ir"), Error) << to;
  };
  refused("#1 in #0", "#2 in #0");
  refused("#1 in #0", "#1 in #1");
  refused("f32[2] #1", "f32[2] #2");
  refused("memory 4096", "memory -1");
  refused("(%3) memory", "(%9) memory");
  refused("keep %h", "keep %z");
  refused("recompute %2", "recompute");
}

TEST(Hint, TheVerifierSeesWhatIsOutOfRange) {
  Graph graph = example();
  graph[NodeId(0)].checkpoint = CheckpointId(2);
  EXPECT_THROW(verify(graph), Error);
  graph = example();
  graph[CheckpointId(0)].parent = CheckpointId(1);
  EXPECT_THROW(verify(graph), Error);
  graph = example();
  graph[CheckpointId(0)].results.push_back(ValueId(99));
  EXPECT_THROW(verify(graph), Error);
  graph = example();
  graph.add_hint({.kind = HintKind::keep, .value = ValueId(99)});
  EXPECT_THROW(verify(graph), Error);
}

TEST(Hint, AnInlinedGraphBringsItsHintsIntoTheCurrentCheckpoint) {
  const Graph source = example();
  Graph target;
  Builder builder(target);
  const Var x = builder.input({DType::f32, {2}});
  const CheckpointId outer = target.add_checkpoint({.name = "outer"});
  builder.set_checkpoint(outer);
  for (int copy = 0; copy < 2; ++copy) inline_graph(builder, source, std::vector{x});
  verify(target);
  ASSERT_EQ(target.checkpoints().size(), 5u);
  EXPECT_EQ(target.checkpoints()[3].parent, outer);
  EXPECT_EQ(target.checkpoints()[4].parent, CheckpointId(3));
  EXPECT_EQ(target.nodes()[4].checkpoint, outer);
  EXPECT_EQ(target.nodes()[6].checkpoint, CheckpointId(4));
  EXPECT_EQ(target.checkpoints()[3].results, (std::vector{target.nodes()[7].results[0]}));
  EXPECT_EQ(target.hints().size(), 8u);
  EXPECT_EQ(target.hints()[4].value, target.nodes()[5].results[0]);
  EXPECT_TRUE(target.encloses(outer, CheckpointId(4)));
  EXPECT_TRUE(target.encloses({}, CheckpointId(4)));
  EXPECT_FALSE(target.encloses(CheckpointId(1), CheckpointId(4)));
}

}  // namespace
}  // namespace tidemark
