#include "tidemark/opt/split_norms.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/cse.h"
#include "tidemark/opt/dce.h"
#include "tidemark/opt/simplify.h"

namespace tidemark {
namespace {

using namespace testing;

const Node* find(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes()) {
    if (node.op->name == op) return &node;
  }
  return nullptr;
}
int count(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op->name == op;
  return found;
}
Graph split(const Graph& graph) {
  const KnownOps ops = known_ops(find_op);
  return dce(cse(simplify(split_norms(graph, ops), ops)));
}
void expect_same_values(const Graph& before, const Graph& after) {
  std::vector<Literal> inputs;
  for (const Input& input : before.inputs()) {
    const Type& type = before.type(input.value);
    inputs.push_back(random_literal(type.dtype, type.shape, inputs.size() + 1, -1, 1));
  }
  ThreadPool pool(1);
  const Graph runnable = expand(after, [](const Node& node) { return !runs_on_cpu(*node.op); });
  const std::vector<Literal> expected = interpret(before, inputs, pool),
                             got = interpret(runnable, inputs, pool);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    const std::vector<double> a = values_of(got[r]), b = values_of(expected[r]);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9) << "result " << r;
  }
}

// A norm of an image with channels last, ReLU, and its gradient for h.
Graph block(const std::string& body, const std::string& results, const std::string& returned) {
  return graph_from("graph(%x: f64[2, 3, 5, 4], %gain: f64[4], %bias: f64[4], %h: f64[2, 3, 5, 4]) -> (" +
                    results +
                    ") {\n"
                    "%flat = reshape(%x) {shape=[30, 4]} : f64[30, 4]\n"
                    "%y, %mean, %variance = batch_norm(%flat, %gain, %bias) : f64[30, 4], f64[4], f64[4]\n"
                    "%wide = reshape(%y) {shape=[2, 3, 5, 4]} : f64[2, 3, 5, 4]\n"
                    "%r = relu(%wide) : f64[2, 3, 5, 4]\n" +
                    body + " return " + returned + "\n}");
}
const std::string gradients =
    "%zero = constant() {value=f64[] 0.0} : f64[]\n"
    "%above = greater(%r, %zero) : bool[2, 3, 5, 4]\n"
    "%s = select(%above, %h, %zero) : f64[2, 3, 5, 4]\n"
    "%g = reshape(%s) {shape=[30, 4]} : f64[30, 4]\n"
    "%dgain, %dbias = batch_norm_params(%flat, %mean, %variance, %g) : f64[4], f64[4]\n"
    "%dx = batch_norm_grad(%flat, %mean, %variance, %gain, %g) : f64[30, 4]\n";
const std::string image = "f64[2, 3, 5, 4]", row = "f64[4]";

TEST(SplitNorms, IsMadeInTheShapeOfImages) {
  const Graph graph = block("", image + ", " + row + ", " + row, "%r, %mean, %variance");
  const Graph after = split(graph);
  EXPECT_EQ(after.nodes().size(), 3u);  // statistics, the norm, ReLU: no reshape is left
  EXPECT_TRUE(find(after, "column_statistics") && find(after, "normalize_columns"));
  expect_same_values(graph, after);
}

TEST(SplitNorms, GradientsKnowTheMaskFromWhatWasNormalised) {
  const Graph graph =
      block(gradients, image + ", " + row + ", " + row + ", f64[30, 4]", "%r, %dgain, %dbias, %dx");
  const Graph after = split(graph);
  EXPECT_EQ(count(after, "column_slopes"), 1);  // of both gradients
  EXPECT_EQ(count(after, "greater") + count(after, "select"), 0);
  ASSERT_TRUE(find(after, "normalize_columns_grad"));
  EXPECT_EQ(find(after, "normalize_columns_grad")->operands.size(), 7u);
  expect_same_values(graph, after);
}

TEST(SplitNorms, AMaskedGradientThatOthersReadIsMade) {
  const Graph graph = block(gradients, row + ", f64[30, 4], " + image, "%dgain, %dx, %s");
  const Graph after = split(graph);
  EXPECT_EQ(count(after, "select"), 1);
  EXPECT_EQ(find(after, "normalize_columns_grad")->operands.size(), 6u);
  EXPECT_EQ(find(after, "column_slopes")->operands.size(), 4u);
  expect_same_values(graph, after);
}

TEST(SplitNorms, AGradientNeedsNoNormBesideIt) {
  const Graph graph = graph_from(
      "graph(%x: f64[6, 4], %mean: f64[4], %spread: f64[4], %gain: f64[4], %g: f64[6, 4]) -> (f64[6, 4]) {\n"
      "%variance = square(%spread) : f64[4]\n"
      "%dx = batch_norm_grad(%x, %mean, %variance, %gain, %g) : f64[6, 4]\n return %dx\n}");
  const Graph after = split(graph);
  EXPECT_TRUE(find(after, "rsqrt") && find(after, "normalize_columns_grad"));
  expect_same_values(graph, after);
}

TEST(SplitNorms, ChannelsThatAreNoColumnsStay) {
  const Graph graph = graph_from(
      "graph(%x: f64[2, 4, 5], %gain: f64[4], %bias: f64[4]) -> (f64[2, 4, 5]) {\n"
      "%y, %mean, %variance = batch_norm(%x, %gain, %bias) : f64[2, 4, 5], f64[4], f64[4]\n return %y\n}");
  EXPECT_FALSE(has_column_norms(graph, known_ops(find_op)));
  EXPECT_TRUE(same_graph(split(graph), graph));
}

}  // namespace
}  // namespace tidemark
