#include "tidemark/opt/narrow.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/verify.h"

namespace tidemark {
namespace {

// The ops in order, "exp sin …".
std::string order(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) text += (text.empty() ? "" : " ") + std::string(node.op->name);
  return text;
}
Graph narrowed(const std::string& text) {
  const Graph graph = narrow(graph_from(text));
  verify(graph);
  EXPECT_TRUE(same_graph(narrow(graph), graph)) << "not a fixed point:\n" << print(graph);
  return graph;
}

TEST(Narrow, AMaskMovesToTheProducerWithItsConstant) {
  const Graph graph = narrowed(R"(graph(%a: f32[64], %g: f32[64]) -> (f32[64]) {
    %x = exp(%a) : f32[64]
    %1 = relu(%x) : f32[64]
    %2 = sin(%1) : f32[64]
    %3 = cos(%2) : f32[64]
    %zero = constant() {value = f32[] 0.0} : f32[]
    %mask = greater(%x, %zero) : bool[64]  @ "a.cc":9
    %4 = select(%mask, %g, %3) : f32[64]
    return %4
  })");
  EXPECT_EQ(print(graph), normal(R"(graph(%a: f32[64], %g: f32[64]) -> (f32[64]) {
    %x = exp(%a) : f32[64]
    %zero = constant() {value = f32[] 0.0} : f32[]
    %mask = greater(%x, %zero) : bool[64]  @ "a.cc":9
    %1 = relu(%x) : f32[64]
    %2 = sin(%1) : f32[64]
    %3 = cos(%2) : f32[64]
    %4 = select(%mask, %g, %3) : f32[64]
    return %4
  })"));
}

TEST(Narrow, StaysWhenTheOperandLivesOnAnyway) {
  for (const char* text : {
           // read again later
           "graph(%a: f32[64]) -> (f32[64]) { %x = exp(%a) : f32[64] %1 = sin(%x) : f32[64] %2 = cos(%1) : "
           "f32[64] "
           "%m = greater(%x, %2) : bool[64] %3 = select(%m, %2, %x) : f32[64] return %3 }",
           // an output
           "graph(%a: f32[64]) -> (f32[64], bf16[64]) { %x = exp(%a) : f32[64] %1 = sin(%a) : f32[64] "
           "%2 = cos(%1) : f32[64] %m = cast(%x) {dtype = bf16} : bf16[64] return %x, %m }",
           // an input that is not donated
           "graph(%x: f32[64]) -> (f32[64], bf16[64]) { %1 = sin(%x) : f32[64] %2 = cos(%1) : f32[64] "
           "%m = cast(%x) {dtype = bf16} : bf16[64] return %2, %m }",
           // not narrow enough
           "graph(%a: bf16[64]) -> (f32[64], bf16[64]) { %x = exp(%a) : bf16[64] %1 = cast(%a) : f32[64] "
           "%2 = cos(%1) : f32[64] %m = neg(%x) : bf16[64] return %2, %m }",
       }) {
    const Graph graph = graph_from(text);
    EXPECT_TRUE(same_graph(narrow(graph), graph)) << print(narrow(graph));
  }
}

TEST(Narrow, DonatedInputsCountAsMemory) {
  EXPECT_EQ(order(narrowed("graph(%x: f32[64] donated) -> (f32[64], bf16[64]) { %1 = sin(%x) : f32[64] "
                           "%2 = cos(%1) : f32[64] %m = cast(%x) {dtype = bf16} : bf16[64] return %2, %m }")),
            "cast sin cos");
}

TEST(Narrow, AGroupMovesTogether) {
  EXPECT_EQ(order(narrowed(R"(graph(%a: f64[64]) -> (f64[64], bf16[64], bool[64]) {
    %x = exp(%a) : f64[64]
    %1 = sin(%a) : f64[64]
    %2 = cos(%1) : f64[64]
    %m = cast(%x) {dtype = bf16} : bf16[64]
    %n = greater(%x, %x) : bool[64]
    return %2, %m, %n
  })")),
            "exp cast greater sin cos");
}

TEST(Narrow, DoesNotPayMoreThanItSaves) {
  // %x dies one step earlier, at the price of a cast that lives for five.
  const Graph graph = graph_from(R"(graph(%a: f32[64]) -> (f32[64], bf16[64]) {
    %x = exp(%a) : f32[64]
    %1 = sin(%a) : f32[64]
    %2 = sin(%1) : f32[64]
    %3 = sin(%2) : f32[64]
    %4 = sin(%3) : f32[64]
    %5 = add(%4, %x) : f32[64]
    %m = cast(%x) {dtype = bf16} : bf16[64]
    return %5, %m
  })");
  EXPECT_TRUE(same_graph(narrow(graph), graph)) << print(narrow(graph));
}

TEST(Narrow, ChainsOfNarrowingsKeepTheirOrder) {
  EXPECT_EQ(order(narrowed(R"(graph(%a: f64[64], %t: f64[64]) -> (f64[64], bool[64]) {
    %x = exp(%a) : f64[64]
    %1 = sin(%a) : f64[64]
    %2 = cos(%1) : f64[64]
    %z = cast(%2) : f32[64]
    %s = neg(%z) : f32[64]
    %3 = cos(%2) : f64[64]
    %4 = cos(%3) : f64[64]
    %m = cast(%x) : f32[64]
    %n = greater(%m, %s) : bool[64]
    return %4, %n
  })")),
            "exp cast sin cos cast neg greater cos cos");
}

TEST(Narrow, ReductionsMoveTooButViewsDoNot) {
  EXPECT_EQ(order(narrowed(R"(graph(%a: f32[64]) -> (f32[64], f32[]) {
    %x = exp(%a) : f32[64]
    %1 = sin(%a) : f32[64]
    %2 = cos(%1) : f32[64]
    %s = reduce_sum(%x) {axes = [0]} : f32[]
    return %2, %s
  })")),
            "exp reduce_sum sin cos");
  EXPECT_EQ(order(narrowed(R"(graph(%a: f32[64]) -> (f32[64], f32[2]) {
    %x = exp(%a) : f32[64]
    %1 = sin(%a) : f32[64]
    %2 = cos(%1) : f32[64]
    %s = slice(%x) {start = [0], limit = [2], step = [1]} : f32[2]
    return %2, %s
  })")),
            "exp sin cos slice");
}

}  // namespace
}  // namespace tidemark
