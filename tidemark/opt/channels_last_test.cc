#include "tidemark/opt/channels_last.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/dce.h"

namespace tidemark {
namespace {

using namespace testing;

int count(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op->name == op;
  return found;
}
Graph rewritten(const Graph& graph) { return dce(channels_last(graph, known_ops(find_op))); }

const std::string window = "{stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1]}";

TEST(ChannelsLast, LeavesTransposesAtTheEnds) {
  const Graph graph = graph_from(
      "graph(%x: bf16[2, 8, 5, 4], %w: bf16[8, 8, 3, 3]) -> (bf16[2, 8, 5, 4]) {\n"
      "%a = conv(%x, %w) " +
      window +
      " : bf16[2, 8, 5, 4]\n"
      "%b = relu(%a) : bf16[2, 8, 5, 4]\n"
      "%c = conv(%b, %w) " +
      window +
      " : bf16[2, 8, 5, 4]\n"
      "%d = add(%c, %a) : bf16[2, 8, 5, 4]\n return %d\n}");
  const Graph after = rewritten(graph);
  EXPECT_EQ(count(after, "conv_last"), 2);
  EXPECT_EQ(count(after, "conv"), 0);
  EXPECT_EQ(count(after, "transpose"), 3);  // of x, of w, of the result
}

TEST(ChannelsLast, GivesThinImagesMoreChannels) {
  const std::string types = "graph(%x: bf16[2, 3, 5, 4], %w: bf16[6, 3, 3, 3], %g: bf16[2, 6, 5, 4])";
  const Graph forward = rewritten(graph_from(types + " -> (bf16[2, 6, 5, 4]) {\n%a = conv(%x, %w) " + window +
                                             " : bf16[2, 6, 5, 4]\n return %a\n}"));
  EXPECT_EQ(count(forward, "pad"), 2);
  EXPECT_EQ(count(forward, "slice"), 0);
  const Graph weights = rewritten(graph_from(
      types +
      " -> (bf16[6, 3, 3, 3]) {\n%a = conv_weight_grad(%x, %g) {stride=[1, 1], low=[1, 1], high=[1, 1], "
      "dilation=[1, 1], size=[3, 3]} : bf16[6, 3, 3, 3]\n return %a\n}"));
  EXPECT_EQ(count(weights, "pad"), 1);
  EXPECT_EQ(count(weights, "slice"), 1);
}

// With odd and even sizes, taps and padding: by cells of points, forward and for the weights.
TEST(ChannelsLast, StepsOfTwoOverThinImagesBecomeStepsOverCells) {
  const auto check = [](const Shape& x, const Shape& w, const Shape& y, const std::string& padding) {
    const std::string attrs = "stride=[2, 2], dilation=[1, 1], " + padding;
    const auto text = [](const Shape& s) { return fmt::format("[{}, {}, {}, {}]", s[0], s[1], s[2], s[3]); };
    const Graph graph = graph_from(
        fmt::format("graph(%x: bf16{0}, %w: bf16{1}, %g: bf16{2}) -> (bf16{2}, bf16{1}) {{\n"
                    "%y = conv(%x, %w) {{{3}}} : bf16{2}\n"
                    "%d = conv_weight_grad(%x, %g) {{{3}, size=[{4}, {5}]}} : bf16{1}\n return %y, %d\n}}",
                    text(x), text(w), text(y), attrs, w[2], w[3]));
    const Graph after = rewritten(graph);
    EXPECT_EQ(count(after, "conv_last") + count(after, "conv_last_weight_grad"), 2);
    for (const Node& node : after.nodes()) {
      if (node.op->name.starts_with("conv_last")) {
        EXPECT_EQ(after.type(node.operands[0]).shape.back(), 16);
      }
    }
    std::vector<Literal> inputs;
    for (const Shape& shape : {x, w, y})
      inputs.push_back(random_literal(DType::bf16, shape, inputs.size() + 1, -1, 1));
    ThreadPool pool(1);
    const Graph runnable = expand(after, [](const Node& node) { return !runs_on_cpu(*node.op); });
    const std::vector<Literal> expected = interpret(graph, inputs, pool),
                               got = interpret(runnable, inputs, pool);
    for (std::size_t r = 0; r < got.size(); ++r) {
      const std::vector<double> a = values_of(got[r]), b = values_of(expected[r]);
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 0.01 * (1 + std::fabs(b[i]))) << "result " << r << ", element " << i;
    }
  };
  check({2, 3, 12, 10}, {6, 3, 7, 7}, {2, 6, 6, 5}, "low=[3, 3], high=[3, 3]");
  check({1, 1, 9, 8}, {2, 1, 3, 4}, {1, 2, 5, 4}, "low=[1, 1], high=[1, 1]");
  check({1, 4, 8, 11}, {3, 4, 5, 3}, {1, 3, 2, 5}, "low=[0, 0], high=[0, 0]");
}

TEST(ChannelsLast, LeavesWideConvolutionsAndLinesAlone) {
  const Graph wide = graph_from(
      "graph(%x: f32[2, 3, 5, 4], %w: f32[3, 3, 3, 3]) -> (f32[2, 3, 5, 4]) {\n"
      "%a = conv(%x, %w) " +
      window + " : f32[2, 3, 5, 4]\n return %a\n}");
  EXPECT_TRUE(same_graph(rewritten(wide), wide));
}

// An update reads gradients once and parameters, moments and itself many times: those stay as they lie.
TEST(ChannelsLast, LeavesUpdatesOfParametersInTheirOrder) {
  const Graph graph = graph_from(
      "graph(%x: bf16[2, 3, 5, 4], %g: bf16[2, 3, 5, 4], %m: f32[3, 3, 3, 3]) -> (f32[3, 3, 3, 3]) {\n"
      "%a = conv_weight_grad(%x, %g) {stride=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], size=[3, 3]} "
      ": bf16[3, 3, 3, 3]\n"
      "%b = cast(%a) {dtype=f32} : f32[3, 3, 3, 3]\n"
      "%c = add(%m, %b) : f32[3, 3, 3, 3]\n return %c\n}");
  const Graph after = rewritten(graph);
  ASSERT_EQ(count(after, "add"), 1);
  EXPECT_EQ(after.nodes().back().op->name, "add");  // behind the transpose of the gradient
}

}  // namespace
}  // namespace tidemark
