#include "tidemark/autodiff/inverses.h"

#include <gtest/gtest.h>

#include "tidemark/autodiff/residuals.h"
#include "tidemark/engine/program.h"
#include "tidemark/ir/print.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using Halves = std::pair<Tensor, Tensor>;

Graph traced(const std::function<Tensor(Tensor)>& f, const Shape& shape = {8, 8}) {
  return *trace_call(grad(f), std::tuple(Tensor::of_type({DType::f32, shape})), {}).graph;
}
int count_named(const Graph& graph, std::string_view name) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op->name == name;
  return count;
}
Tensor curve(const Tensor& x) { return sin(matmul(x, x)); }
Halves blocks(Tensor x1, Tensor x2, int count) {
  for (int i = 0; i < count; ++i) std::tie(x1, x2) = reversible(curve, curve)(x1, x2);
  return {x1, x2};
}
Tensor chain_loss(const Tensor& x) {
  const auto [x1, x2] = blocks(x, x, 4);
  return sum(x1 * x2);
}

TEST(Inverses, MarksStandOnlyWhereSumsCanBeUndone) {
  EXPECT_EQ(count_named(traced([](Tensor x) { return sum(curve(x)); }), "residual"), 0);
  const Graph graph = traced(chain_loss);
  EXPECT_EQ(invertible_calls(graph), 8u);
  EXPECT_GT(count_named(graph, "residual"), 0);
  const Graph plain = lower_inverses(graph, 0);
  EXPECT_EQ(count_named(plain, "residual"), 0);
  EXPECT_EQ(print(prepare_graph(plain)), print(prepare_graph(graph))) << "marks mean nothing by themselves";
}

TEST(Inverses, AsManySumsAreUndoneAsAreAskedFor) {
  const Graph graph = traced(chain_loss);
  for (std::size_t count = 0; count <= 8; ++count) {
    const Graph lowered = lower_inverses(graph, count);
    EXPECT_EQ(count_named(lowered, "uncouple"), static_cast<int>(count));
    EXPECT_EQ(count_named(lowered, "residual"), 0);
  }
  EXPECT_EQ(print(lower_inverses(graph, 100)), print(lower_inverses(graph, 8)));
}

// What is undone reads nothing of the forward pass but the ends of the chain and arguments.
TEST(Inverses, NothingInsideTheChainWaits) {
  const Graph lowered = lower_inverses(traced(chain_loss), 8);
  std::size_t last = 0;  // of the forward pass
  for (std::size_t n = 0; n < lowered.nodes().size(); ++n) {
    if (lowered.nodes()[n].op->name == "couple") last = n;
  }
  std::vector<bool> late(lowered.values().size(), false);
  std::size_t crossing = 0;
  std::vector<bool> counted(lowered.values().size(), false);
  for (std::size_t n = last + 1; n < lowered.nodes().size(); ++n) {
    for (ValueId v : lowered.nodes()[n].results) late[v.index] = true;
    for (ValueId v : lowered.nodes()[n].operands) {
      if (late[v.index] || lowered.is_input(v) || counted[v.index]) continue;
      counted[v.index] = true;
      ++crossing;
    }
  }
  // Both ends and, since it is a function of an end, what the last block added.
  EXPECT_LE(crossing, 4u) << print(lowered);
}

TEST(Inverses, ASumOfAValueAndItselfCannotBeUndone) {
  // The operand could only be had back from itself: f reads it.
  const auto f = [](Tensor x) {
    Tensor h = detail::on_grid(x, 1024);
    for (int i = 0; i < 3; ++i) h = detail::coupled(h, curve(h), 1024);
    return sum(sin(h));
  };
  const Graph graph = traced(f);
  const Graph lowered = lower_inverses(graph, invertible_calls(graph));
  EXPECT_EQ(count_named(lowered, "residual"), 0);
  const Tensor x = random_normal(key(1), {8, 8}, 0, 0.3);
  const std::vector<double> expected = grad(f)(x).to_vector();
  const Bytes least = compile(grad(f)).smallest(x).memory;
  EXPECT_EQ(compile(grad(f), {.memory = least})(x).to_vector(), expected);
}

TEST(Inverses, OperandsThatAreNotOnTheGridAreKept) {
  const auto f = [](Tensor x) {
    const Tensor h = tanh(x);  // on no grid
    return sum(sin(detail::coupled(h, curve(x), 1024)));
  };
  EXPECT_EQ(invertible_calls(traced(f)), 0u);
  const auto other_range = [](Tensor x) {
    return sum(sin(detail::coupled(detail::on_grid(x, 4096), curve(x), 1024)));
  };
  EXPECT_EQ(invertible_calls(traced(other_range)), 0u);
}

// The gradient of an early loss is written before later blocks are: they cannot help it.
TEST(Inverses, GradientsBeforeTheEndOfTheChain) {
  const auto f = [](Tensor x) {
    const auto early = [](Tensor y) {
      const auto [x1, x2] = blocks(y, y, 2);
      return sum(x1 * x2);
    };
    const Tensor slope = grad(early)(x);
    const auto [x1, x2] = blocks(x, slope * 0.01, 2);
    return sum(x1 + x2 * x2);
  };
  const Tensor x = random_normal(key(1), {8, 8}, 0, 0.2);
  const std::vector<double> expected = grad(f)(x).to_vector();
  const Bytes least = compile(grad(f)).smallest(x).memory;
  EXPECT_EQ(compile(grad(f), {.memory = least})(x).to_vector(), expected);
  const Graph graph = traced(f);
  for (std::size_t count = 0; count <= invertible_calls(graph); ++count)
    EXPECT_EQ(count_named(lower_inverses(graph, count), "residual"), 0);
}

TEST(Inverses, WhatMayRunOnlyOnceIsKept) {
  const auto once = [](const Tensor& x) { return keep(curve(x)); };
  const auto f = [&](Tensor x) {
    const auto [x1, x2] = reversible(once, once)(x, x);
    return sum(x1 * x2);
  };
  const Tensor x = random_normal(key(1), {8, 8}, 0, 0.3);
  const Bytes least = compile(grad(f)).smallest(x).memory;
  EXPECT_EQ(compile(grad(f), {.memory = least})(x).to_vector(), grad(f)(x).to_vector());
}

}  // namespace
}  // namespace tidemark
