#include "tidemark/opt/product_rows.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

Graph layer(const std::string& bias, const std::string& body) {
  return graph_from("graph(%a: f32[2, 5, 3], %b: f32[3, 4], %s: " + bias + ") -> (f32[2, 5, 4]) {\n%p = " +
                    "contract(%a, %b) {lhs_contract=[2], rhs_contract=[0]} : f32[2, 5, 4]\n" + body + "\n}");
}
Graph with_rows(const Graph& graph) { return add_rows_in_products(graph, known_ops(find_op)); }

const Node* product_with_row(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "contract" && node.operands.size() == 3) return &node;
  }
  return nullptr;
}

TEST(ProductRows, ABiasBecomesPartOfItsProduct) {
  for (const std::string bias : {"f32[4]", "f32[1, 4]", "f32[1, 1, 4]"}) {
    for (const std::string sum : {"add(%p, %s)", "add(%s, %p)"}) {
      const Graph graph = layer(bias, "%y = " + sum + " : f32[2, 5, 4]\n return %y"),
                  after = with_rows(graph);
      ASSERT_TRUE(product_with_row(after)) << bias;
      EXPECT_EQ(after.nodes().size(), 2u);  // and the broadcast, which is a view
      const std::vector<Literal> inputs = {
          random_literal(DType::f32, {2, 5, 3}, 1), random_literal(DType::f32, {3, 4}, 2),
          random_literal(DType::f32, graph.type(graph.inputs()[2].value).shape, 3)};
      ThreadPool pool(1);
      EXPECT_EQ(bit_difference(interpret(graph, inputs, pool)[0], interpret(after, inputs, pool)[0]), "");
    }
  }
}

TEST(ProductRows, ARowThatIsBroadcastAlreadyIsFound) {
  const Graph graph = layer("f32[4]",
                            "%r = broadcast(%s) {shape=[2, 5, 4]} : f32[2, 5, 4]\n"
                            "%y = add(%p, %r) : f32[2, 5, 4]\n return %y");
  EXPECT_TRUE(product_with_row(with_rows(graph)));
}

TEST(ProductRows, AWholeInputIsAddedOnTheWay) {
  for (const std::string sum : {"add(%p, %s)", "add(%s, %p)"}) {
    const Graph graph = layer("f32[2, 5, 4]", "%y = " + sum + " : f32[2, 5, 4]\n return %y"),
                after = with_rows(graph);
    ASSERT_TRUE(product_with_row(after));
    EXPECT_EQ(after.nodes().size(), 1u);
    const std::vector<Literal> inputs = {random_literal(DType::f32, {2, 5, 3}, 1),
                                         random_literal(DType::f32, {3, 4}, 2),
                                         random_literal(DType::f32, {2, 5, 4}, 3)};
    ThreadPool pool(1);
    EXPECT_EQ(bit_difference(interpret(graph, inputs, pool)[0], interpret(after, inputs, pool)[0]), "");
  }
}

TEST(ProductRows, WhatIsNoRowOrIsReadElsewhereStays) {
  for (const Graph& graph : {
           layer("f32[5, 4]", "%y = add(%p, %s) : f32[2, 5, 4]\n return %y"),
           layer("f32[1]", "%y = add(%p, %s) : f32[2, 5, 4]\n return %y"),
           layer("f32[]", "%y = add(%p, %s) : f32[2, 5, 4]\n return %y"),
           layer("f32[4]", "%q = add(%p, %s) : f32[2, 5, 4]\n %y = mul(%q, %p) : f32[2, 5, 4]\n return %y"),
           layer("f32[4]", "%y = mul(%p, %s) : f32[2, 5, 4]\n return %y"),
           layer("f32[2, 5, 4]", "%q = neg(%s) : f32[2, 5, 4]\n %y = add(%p, %q) : f32[2, 5, 4]\n return %y"),
       }) {
    EXPECT_FALSE(product_with_row(with_rows(graph)));
  }
}

}  // namespace
}  // namespace tidemark
