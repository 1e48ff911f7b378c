// Where all that a pass reads is of the backward pass, so is all that it writes.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/graph_text.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/cse.h"
#include "tidemark/opt/product_rows.h"
#include "tidemark/opt/simplify.h"
#include "tidemark/opt/windows.h"

namespace tidemark {
namespace {

struct Case {
  const char* pass;
  std::function<Graph(const Graph&)> run;
  const char* text;
};

const Case cases[] = {
    {"simplify", [](const Graph& graph) { return simplify(graph, known_ops(find_op)); },
     R"(graph(%x: f32[4]) -> (f32[3, 4]) {
    %a = broadcast(%x) {shape = [3, 4]} : f32[3, 4]
    %b = exp(%a) : f32[3, 4]
    return %b
  })"},
    {"windows", [](const Graph& graph) { return read_windows(graph, known_ops(find_op)); },
     R"(graph(%x: f32[4]) -> (f32[4], f32[4]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %p = pad(%x, %zero) {low = [2], high = [2], interior = [0]} : f32[8]
    %a = slice(%p) {start = [1], limit = [5], step = [1]} : f32[4]
    %b = slice(%p) {start = [3], limit = [7], step = [1]} : f32[4]
    return %a, %b
  })"},
    {"product rows", [](const Graph& graph) { return add_rows_in_products(graph, known_ops(find_op)); },
     R"(graph(%a: f32[5, 3], %b: f32[3, 4], %s: f32[4]) -> (f32[5, 4]) {
    %p = contract(%a, %b) {lhs_contract = [1], rhs_contract = [0]} : f32[5, 4]
    %y = add(%p, %s) : f32[5, 4]
    return %y
  })"},
    {"cse", [](const Graph& graph) { return cse(graph); },
     R"(graph(%x: f32[4]) -> (f32[4]) {
    %a = exp(%x) : f32[4]
    %b = exp(%x) : f32[4]
    %c = add(%a, %b) : f32[4]
    return %c
  })"},
};

TEST(Marks, NewNodesAreOfThePassOfThoseTheyStandFor) {
  for (const Case& c : cases) {
    Graph graph = graph_from(c.text);
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) graph[NodeId(n)].backward = true;
    graph.inputs()[0].differentiated = true;
    const Graph after = c.run(graph);
    EXPECT_NE(print(after), print(graph)) << c.pass << " changes nothing";
    EXPECT_TRUE(after.inputs()[0].differentiated) << c.pass;
    for (const Node& node : after.nodes()) EXPECT_TRUE(node.backward) << c.pass << " " << node.op->name;
  }
}

}  // namespace
}  // namespace tidemark
