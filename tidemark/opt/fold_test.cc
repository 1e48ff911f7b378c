#include "tidemark/opt/fold.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/opt/dce.h"

namespace tidemark {
namespace {

std::vector<Literal> evaluate(const Op& op, std::span<const Literal> operands, const Attrs& attrs) {
  ThreadPool pool(1);
  return interpret(op, operands, attrs, pool);
}
Graph folded(const Graph& graph) { return dce(fold(graph, known_ops(find_op), evaluate)); }

TEST(Fold, ComputesWhatDoesNotDependOnInputs) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2]) {
    %a = constant() {value = f32[] 2.0} : f32[]
    %b = constant() {value = f32[] 3.0} : f32[]
    %c = mul(%a, %b) : f32[]  @ "a.cc":7
    %d = add(%x, %c) : f32[2]
    return %d
  })");
  EXPECT_EQ(print(folded(graph)), normal(R"(graph(%x: f32[2]) -> (f32[2]) {
    %c = constant() {value = f32[] 6.0} : f32[]  @ "a.cc":7
    %d = add(%x, %c) : f32[2]
    return %d
  })"));
}

TEST(Fold, FoldsThroughChainsAndSeveralResults) {
  const Graph graph = graph_from(R"(graph() -> (i32[1], i32[1]) {
    %a = constant() {value = i32[2] [5, 7]} : i32[2]
    %b = neg(%a) : i32[2]
    %c, %d = split(%b) {sizes = [1, 1]} : i32[1], i32[1]
    return %d, %c
  })");
  EXPECT_EQ(print(folded(graph)), normal(R"(graph() -> (i32[1], i32[1]) {
    %c = constant() {value = i32[1] -5} : i32[1]
    %d = constant() {value = i32[1] -7} : i32[1]
    return %d, %c
  })"));
}

TEST(Fold, NeverWritesOutABroadcastOrACount) {
  for (const char* text : {
           "graph() -> (f32[64]) { %a = constant() {value = f32[] 1.0} : f32[] "
           "%b = broadcast(%a) {shape = [64]} : f32[64] return %b }",
           "graph() -> (i64[64]) { %a = iota() {shape = [64]} : i64[64] return %a }",
       }) {
    const Graph graph = graph_from(text);
    EXPECT_TRUE(same_graph(folded(graph), graph)) << text;
  }
}

TEST(Fold, DoesNotCopyAConstantThatOthersRead) {
  const Graph shared = graph_from(R"(graph() -> (f32[8], f32[8]) {
    %a = constant() {value = f32[8] [1, 2, 3, 4, 5, 6, 7, 8]} : f32[8]
    %b = neg(%a) : f32[8]
    return %a, %b
  })");
  EXPECT_TRUE(same_graph(folded(shared), shared));
}

TEST(Fold, LeavesLargeResultsAlone) {
  const std::string data(2 * 8192, '0');
  const Graph graph = graph_from("graph() -> (f32[2048]) { %a = constant() {value = f32[2048] hex \"" + data +
                                 "\"} : f32[2048] %b = neg(%a) : f32[2048] return %b }");
  EXPECT_TRUE(same_graph(folded(graph), graph));
}

TEST(Fold, LeavesAloneWhatMayNotRunOrCannot) {
  for (const char* text : {
           "graph() -> (f32[]) { %a = constant() {value = f32[] 1.0} : f32[] %b = unrepeatable(%a) : f32[] "
           "return %b }",
           "graph() -> (f32[]) { %a = constant() {value = f32[] 1.0} : f32[] %b = share(%a) : f32[] "
           "return %b }",
           "graph() -> (f32[]) { %a = constant() {value = f32[] 1.0} : f32[] %b = blend(%a) : f32[] return "
           "%b }",
           "graph() -> (f32[]) { %a = constant() {value = f32[2] 1.0} : f32[2] %i = constant() {value = "
           "i64[] 9} : i64[] "
           "%b = take(%a, %i) : f32[] return %b }",
       }) {
    const Graph graph = graph_from(text);
    EXPECT_TRUE(same_graph(folded(graph), graph)) << text;
  }
}

TEST(Fold, FoldsInsideRegions) {
  const Graph graph = graph_from(R"(graph(%x: f32[]) -> (f32[]) {
    %y = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) {
      %a = constant() {value = f32[] 4.0} : f32[] %b = sqrt(%a) : f32[] return %b }] : f32[]
    return %y
  })");
  EXPECT_EQ(print(folded(graph)), normal(R"(graph(%x: f32[]) -> (f32[]) {
    %y = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) { %b = constant() {value = f32[] 2.0} : f32[] return %b }] : f32[]
    return %y
  })"));
}

}  // namespace
}  // namespace tidemark
