#include "tidemark/opt/channels_last.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
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
