#include "tidemark/ops/custom/opaque.h"
#include "tests/support/test_target.h"

#include "tests/support/op_rules.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

Graph block(const OpaqueAttrs& attrs) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {4, 8}});
  for (const Var& y : opaque(builder, {&x, 1}, attrs)) graph.add_output(y.id());
  return graph;
}

TEST(Opaque, HasTheDeclaredSizesAndCosts) {
  const Graph graph =
      block({.name = "conv1", .flops = 1e9, .bytes = 1e6, .scratch = 512, .sizes = {1024, 64}});
  const NodeCall call(graph, graph.nodes()[0]);
  EXPECT_EQ(call.out[0].bytes(), 1024);
  EXPECT_EQ(call.out[1].bytes(), 64);
  EXPECT_EQ(test_target().cost(call).flops, 1e9);
  EXPECT_EQ(test_target().cost(call).bytes, 1e6);
  EXPECT_EQ(test_target().scratch(call), 512);
}

TEST(Opaque, GradientIsAnotherOpaqueThatReadsWhatWasDeclared) {
  const Graph gradient =
      vjp_of_floats(block({.name = "conv1", .flops = 10, .sizes = {64}, .backward_reads_results = false}));
  const Node& node = gradient.nodes()[1];
  ASSERT_EQ(node.op, &op::opaque);
  EXPECT_EQ(node.operands.size(), 2u);  // the seed and x
  EXPECT_EQ(unpack<OpaqueAttrs>(node.attrs).name, "conv1.backward");
  EXPECT_EQ(unpack<OpaqueAttrs>(node.attrs).flops, 20);
  EXPECT_EQ(gradient.type(gradient.outputs().back()), (Type{DType::f32, {4, 8}}));
}

TEST(Opaque, CannotRun) {
  EXPECT_EQ(code_of([] {
              run(block({.name = "a", .sizes = {64}}), {random_literal(DType::f32, {4, 8})});
            }),
            ErrorCode::no_kernel);
}

TEST(Opaque, SizesMustFitTheDtype) {
  EXPECT_EQ(code_of([] { block({.name = "a", .sizes = {63}}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] { block({.name = "a", .flops = -1, .sizes = {64}}); }), ErrorCode::bad_attribute);
}

}  // namespace
}  // namespace tidemark
