#include "tidemark/autodiff/residuals.h"

#include <gtest/gtest.h>

#include "tidemark/engine/program.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

Graph traced_gradient(bool lossy, const std::function<Tensor(Tensor)>& f, const Shape& shape) {
  const MarkedReads marked(lossy ? StandIns::lossy : StandIns::none);
  return *trace_call(grad(f), std::tuple(Tensor::of_type({DType::f32, shape})), {}).graph;
}
int count_ops(const Graph& graph, std::string_view name) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    count += node.op->name == name;
    for (const Graph& region : node.regions) count += count_ops(region, name);
  }
  return count;
}

Tensor smooth_sum(const Tensor& x) { return sum(tanh(x * 2) * sin(x)); }

TEST(Residuals, NothingIsMarkedUnlessItIsAllowed) {
  EXPECT_EQ(count_ops(traced_gradient(false, smooth_sum, {64}), "residual"), 0);
  EXPECT_GT(count_ops(traced_gradient(true, smooth_sum, {64}), "residual"), 0);
  EXPECT_EQ(count_ops(traced_gradient(false, smooth_sum, {64}), "residual"), 0) << "the scope has ended";
}

Tensor masked_sum(const Tensor& x) { return sum(select(x > 0, sin(x), x * 0.1)); }

TEST(Residuals, WhatHasAnExactFormIsMarkedForEveryRuleWhereItMayStandIn) {
  EXPECT_EQ(count_ops(traced_gradient(false, masked_sum, {64}), "residual"), 0);
  const MarkedReads reads(StandIns::exact);
  const Graph marked = traced_gradient(false, masked_sum, {64});
  ASSERT_EQ(count_ops(marked, "residual"), 1) << print(marked);
  const std::vector<Residual> list = residuals_of(marked);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(marked.type(list[0].value).dtype, DType::boolean);
  EXPECT_FALSE(list[0].tolerant);
  const Graph packed = lower_residuals(marked, {PackedIntegers{1}});
  EXPECT_EQ(count_ops(packed, "pack_integers"), 1);
  EXPECT_EQ(count_ops(packed, "unpack_integers"), 1);
  // Forms that the value does not have, as those chosen for another batch may be, leave it as it is.
  for (const Form& other : {Form(QuantFormat::int8), Form(PackedIntegers{8}), Form(LowRank{2})})
    EXPECT_EQ(count_ops(lower_residuals(marked, {other}), "select"), count_ops(marked, "select"))
        << name_of(other);
  EXPECT_EQ(print(lower_residuals(marked, {QuantFormat::int8})), print(lower_residuals(marked, {})));
}

TEST(Residuals, LoweredToNothingTheGraphIsTheOneWithoutMarks) {
  const Graph marked = traced_gradient(true, smooth_sum, {64});
  const Graph lowered = lower_residuals(marked, {});
  EXPECT_EQ(count_ops(lowered, "residual"), 0);
  const Graph plain = traced_gradient(false, smooth_sum, {64});
  EXPECT_EQ(print(prepare_graph(lowered)), print(prepare_graph(plain)));
  EXPECT_EQ(print(prepare_graph(marked)), print(prepare_graph(plain))) << "marks mean nothing by themselves";
}

TEST(Residuals, ArgumentsAndConstantsAreNone) {
  const Graph marked =
      traced_gradient(true, [](Tensor x) { return sum(square(x) + x * arange(64, DType::f32)); }, {64});
  EXPECT_TRUE(residuals_of(marked).empty()) << print(marked);
}

TEST(Residuals, WhatIsSeenThroughReshapesIsOneValue) {
  const auto f = [](Tensor x) {
    const Tensor h = exp(x);
    return sum(square(transpose(h))) + sum(sin(reshape(h, {64}))) + sum(square(h));
  };
  const Graph marked = traced_gradient(true, f, {8, 8});
  const std::vector<Residual> list = residuals_of(marked);
  ASSERT_EQ(list.size(), 1u) << print(marked);
  const Graph lowered = lower_residuals(marked, {QuantFormat::int8});
  EXPECT_EQ(count_ops(lowered, "quantize"), 1);
  EXPECT_EQ(count_ops(lowered, "dequantize"), 1);
}

TEST(Residuals, StepsOfALoopHaveTheirOwn) {
  const auto f = [](Tensor x) {
    return sum(repeat(
        5, [](Tensor h) { return sin(exp(h * 0.5)); }, x));
  };
  const Graph marked = traced_gradient(true, f, {64});
  const std::vector<Residual> list = residuals_of(marked);
  ASSERT_FALSE(list.empty());
  for (const Residual& residual : list) EXPECT_EQ(residual.copies, 5);
  const Graph lowered = lower_residuals(marked, ResidualChoice(list.size(), QuantFormat::bf16));
  EXPECT_EQ(count_ops(lowered, "quantize"), static_cast<int>(list.size()));
  EXPECT_EQ(count_ops(lowered, "residual"), 0);
}

TEST(Residuals, TheOrderDoesNotDependOnSizes) {
  const auto f = [](Tensor x) {
    for (int i = 0; i < 3; ++i) x = tanh(matmul(x, reshape(arange(4, DType::f32), {2, 2})));
    return sum(x);
  };
  const Graph few = traced_gradient(true, f, {1, 2}), many = traced_gradient(true, f, {4096, 2});
  const std::vector<Residual> a = residuals_of(few), b = residuals_of(many);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].value, b[i].value);
}

// The first node of an op, and the graph that holds it.
const Node* find_node(const Graph& graph, const Op& op) {
  for (const Node& node : graph.nodes()) {
    if (node.op == &op) return &node;
  }
  return nullptr;
}

TEST(Residuals, OnlyWhatHasAStepBeforeItWaitsAsADifference) {
  const auto f = [](Tensor x) {
    const auto step = [](Tensor h) { return sin(exp(h * 0.5)); };
    return sum(square(tanh(repeat(5, step, x * 2))));
  };
  const Graph marked = traced_gradient(true, f, {64});
  const std::vector<Residual> list = residuals_of(marked);
  std::size_t inside = 0;
  for (const Residual& residual : list) {
    EXPECT_EQ(residual.has_neighbour, residual.copies == 5);
    EXPECT_EQ(may_wait_in(residual, Delta{}), residual.copies == 5);
    EXPECT_TRUE(residual.is_measured);
    inside += residual.has_neighbour;
  }
  ASSERT_GT(inside, 0u);
  ASSERT_LT(inside, list.size());
  // Outside it leaves values as they are, as every form does that a value does not have.
  const Graph lowered = lower_residuals(marked, ResidualChoice(list.size(), Delta{QuantFormat::int4}));
  EXPECT_EQ(count_ops(lowered, "from_delta"), static_cast<int>(inside));
  EXPECT_EQ(count_ops(lowered, "quantize"), 0);
  EXPECT_EQ(count_ops(lowered, "residual"), 0);
}

TEST(Residuals, AChainGoesAlongTheStepsAndBack) {
  const auto f = [](Tensor x) {
    return sum(repeat(
        5, [](Tensor h) { return sin(h) * 0.9; }, x));
  };
  const Graph marked = traced_gradient(true, f, {64});
  const std::vector<Residual> list = residuals_of(marked);
  ASSERT_EQ(list.size(), 1u) << print(marked);
  const Graph lowered = lower_residuals(marked, {Delta{}});
  const Node *loop = find_node(lowered, op::loop), *reversal = find_node(lowered, op::loop_reverse);
  ASSERT_TRUE(loop && reversal);
  const Type chain{DType::f64, {64}};
  EXPECT_EQ(unpack<LoopAttrs>(loop->attrs).carries, 2);
  EXPECT_EQ(lowered.type(loop->results[1]), chain);
  // The reversal begins with what the last step left, and its step is the one of the loop.
  EXPECT_EQ(reversal->operands[3], loop->results[1]);
  EXPECT_EQ(count_ops(loop->regions[0], "to_delta"), 1);
  EXPECT_EQ(count_ops(loop->regions[0], "from_delta"), 0);
  EXPECT_EQ(count_ops(reversal->regions[0], "to_delta"), 1);
  EXPECT_EQ(count_ops(reversal->regions[1], "from_delta"), 1);
  // Two numbers tell the error, at the end of all results.
  const Graph measured = lower_residuals(marked, {Delta{}}, true);
  ASSERT_EQ(measured.outputs().size(), marked.outputs().size() + 2);
  EXPECT_EQ(measured.type(measured.outputs().back()), (Type{DType::f32, {}}));
  EXPECT_EQ(unpack<LoopAttrs>(find_node(measured, op::loop)->attrs).carries, 4);
}

}  // namespace
}  // namespace tidemark
