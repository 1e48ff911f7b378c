#include "tidemark/opt/accumulate.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

int products(const Graph& graph, std::size_t operands) {
  int count = 0;
  for (const Node& node : graph.nodes())
    count += node.op->name == "contract" && node.operands.size() == operands;
  return count;
}

Graph product_graph(const std::string& body, const std::string& k = "3") {
  return graph_from("graph(%a: f32[2, " + k + "], %b: f32[" + k + ", 4], %s: f32[2, 4]) -> (f32[2, 4]) {\n" +
                    body + "\n}");
}
const std::string product = "contract(%a, %b) {lhs_contract=[1], rhs_contract=[0]} : f32[2, 4]\n";

Graph accumulated(const Graph& graph) { return accumulate(graph, known_ops(find_op)); }

TEST(Accumulate, AddsAProductToASumThatIsThere) {
  for (const std::string_view sum : {"add(%t, %p)", "add(%p, %t)"}) {
    const Graph graph = product_graph("%t = exp(%s) : f32[2, 4]\n %p = " + product +
                                      "%y = " + std::string(sum) + " : f32[2, 4]\n return %y");
    const Graph after = accumulated(graph);
    EXPECT_EQ(products(after, 3), 1);
    EXPECT_EQ(after.nodes().size(), 2u);
  }
}

TEST(Accumulate, TakesTheLaterOfTwoProducts) {
  const Graph graph =
      product_graph("%p = " + product + "%q = " + product + "%y = add(%q, %p) : f32[2, 4]\n return %y");
  const Graph after = accumulated(graph);
  EXPECT_EQ(products(after, 2), 1);
  EXPECT_EQ(products(after, 3), 1);
}

// A table that is embedding and head: the rows' gradients are added onto the head's.
TEST(Accumulate, AddsSumsOfRowsToASumThatIsThere) {
  const std::string rows = "%r = take_add(%u, %i) {axis=0, axis_size=4} : f32[4, 2]\n";
  const auto table_graph = [&](const std::string& body) {
    return graph_from("graph(%a: f32[4, 3], %b: f32[3, 2], %u: f32[5, 2], %i: i64[5]) -> (f32[4, 2]) {\n" +
                      body + "\n}");
  };
  const std::string head = "%p = contract(%a, %b) {lhs_contract=[1], rhs_contract=[0]} : f32[4, 2]\n";
  const std::string sum = "%y = add(%p, %r) : f32[4, 2]\n return %y";
  const Graph graph = table_graph(head + rows + sum), after = accumulated(graph);
  ASSERT_EQ(after.nodes().size(), 2u);
  EXPECT_EQ(after.nodes()[1].op->name, "take_add");
  EXPECT_EQ(after.nodes()[1].operands.size(), 3u);
  // The later of the two is the one that is added.
  EXPECT_EQ(accumulated(table_graph(rows + head + sum)).nodes()[1].op->name, "contract");

  ThreadPool pool(2);
  const Literal inputs[] = {random_literal(DType::f32, {4, 3}, 1), random_literal(DType::f32, {3, 2}, 2),
                            random_literal(DType::f32, {5, 2}, 3),
                            literal_of(DType::i64, {5}, {3, 0, 3, 1, 3})};
  EXPECT_EQ(interpret(graph, inputs, pool), interpret(after, inputs, pool));
}

TEST(Accumulate, LeavesWhatIsReadTwiceOrMadeTooLateOrTheCallers) {
  for (const std::string& body :
       {"%t = exp(%s) : f32[2, 4]\n %p = " + product +
            "%y = add(%t, %p) : f32[2, 4]\n %z = mul(%y, %p) : f32[2, 4]\n return %z",
        "%p = " + product + "%t = exp(%s) : f32[2, 4]\n %y = add(%t, %p) : f32[2, 4]\n return %y",
        "%p = " + product + "%y = add(%p, %p) : f32[2, 4]\n return %y",
        "%p = " + product + "%y = add(%s, %p) : f32[2, 4]\n return %y"}) {
    const Graph graph = product_graph(body);
    EXPECT_TRUE(same_graph(accumulated(graph), graph)) << body;
  }
}

TEST(Accumulate, KeepsEveryBitAlsoOfDeepProducts) {
  ThreadPool pool(2);
  for (const std::int64_t k : {3, 600, 1500}) {
    const Graph graph = product_graph(
        "%t = exp(%s) : f32[2, 4]\n %p = " + product + "%y = add(%t, %p) : f32[2, 4]\n return %y",
        std::to_string(k));
    const Graph after = accumulated(graph);
    ASSERT_EQ(products(after, 3), 1);
    const Literal inputs[] = {random_literal(DType::f32, {2, k}, 1), random_literal(DType::f32, {k, 4}, 2),
                              random_literal(DType::f32, {2, 4}, 3)};
    EXPECT_EQ(interpret(graph, inputs, pool), interpret(after, inputs, pool));
  }
}

}  // namespace
}  // namespace tidemark
