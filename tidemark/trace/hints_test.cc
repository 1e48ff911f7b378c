#include "tidemark/trace/hints.h"

#include <gtest/gtest.h>

#include "tidemark/ir/verify.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;

template <class F, class... Args>
Graph traced(const F& f, const Args&... args) {
  Graph graph = *trace_call(f, std::tuple(args...), {}).graph;
  verify(graph);
  return graph;
}

Tensor x_of(std::int64_t count) { return sin(arange(count, DType::f32)); }

TEST(Hints, AreNotedWithTheLineTheyAreWrittenOn) {
  const Graph graph = traced(
      [](Tensor x) {
        Tensor h = keep(exp(x));
        return recompute(name(h * 2, "twice")) + 1;
      },
      x_of(4));
  ASSERT_EQ(graph.hints().size(), 2u);
  EXPECT_EQ(graph.hints()[0].kind, HintKind::keep);
  EXPECT_EQ(graph.hints()[1].kind, HintKind::recompute);
  EXPECT_EQ(graph[graph.hints()[1].value].name, "twice");
  EXPECT_EQ(graph.hints()[1].where.line, graph.hints()[0].where.line + 1);
  EXPECT_EQ(graph.nodes().size(), 5u) << "hints are no nodes";
}

TEST(Hints, DoNothingToDataAndToNumbers) {
  const Tensor x = x_of(5);
  EXPECT_EQ(keep(x).to_vector(), x.to_vector());
  EXPECT_EQ(recompute(name(x, "x")).to_vector(), x.to_vector());
  EXPECT_EQ(keep(2.5).item(), 2.5);
  EXPECT_EQ(checkpoint([](Tensor t) { return exp(t); })(x).to_vector(), exp(x).to_vector());
}

TEST(Checkpoint, HoldsWhatIsTracedWhileItsFunctionRuns) {
  const auto inner = [](Tensor t) { return exp(t) * 3; };
  const auto block = [&](Tensor t) { return std::pair(sin(checkpoint(inner)(t)), t * 2); };
  const Graph graph = traced(
      [&](Tensor x) {
        const auto [a, b] = checkpoint(block, {.name = "block", .memory = 1_KiB})(x);
        return a + b;
      },
      x_of(4));
  ASSERT_EQ(graph.checkpoints().size(), 2u);
  const Checkpoint &outside = graph.checkpoints()[0], &inside = graph.checkpoints()[1];
  EXPECT_EQ(outside.name, "block");
  EXPECT_EQ(outside.memory, 1_KiB);
  EXPECT_FALSE(outside.parent.valid());
  EXPECT_EQ(outside.results.size(), 2u);
  EXPECT_EQ(inside.parent, CheckpointId(0));
  EXPECT_EQ(inside.results.size(), 1u);
  int in_block = 0, in_inner = 0;
  for (const Node& node : graph.nodes()) {
    in_block += node.checkpoint == CheckpointId(0);
    in_inner += node.checkpoint == CheckpointId(1);
  }
  EXPECT_EQ(in_inner, 3) << "exp, the number 3 and their product";
  EXPECT_EQ(in_block, 3) << "sin, the number 2 and its product";
  EXPECT_FALSE(graph.nodes().back().checkpoint.valid());
}

TEST(Checkpoint, EndsWhenItsFunctionThrows) {
  const Graph graph = traced(
      [](Tensor x) {
        try {
          checkpoint([](Tensor t) -> Tensor { throw std::runtime_error(to_string(t.type())); })(x);
        } catch (const std::runtime_error&) {
        }
        return exp(x);
      },
      x_of(4));
  EXPECT_FALSE(graph.nodes().back().checkpoint.valid());
}

TEST(Checkpoint, RefusesNegativeMemory) {
  EXPECT_THROW(checkpoint([](Tensor t) { return t; }, {.memory = Bytes(-1)})(x_of(2)), Error);
}

TEST(Checkpoint, GradientsAreOutsideAndTangentsInside) {
  const auto f = [](Tensor x) { return sum(checkpoint([](Tensor t) { return sin(t) * t; })(x)); };
  const auto inside = [](const Graph& graph) {
    int count = 0;
    for (const Node& node : graph.nodes()) count += node.checkpoint.valid();
    return count;
  };
  EXPECT_EQ(inside(traced(grad(f), x_of(4))), 2);
  const Graph tangents = traced([&](Tensor x) { return jvp(f, x, x * 2).second; }, x_of(4));
  EXPECT_GT(inside(tangents), 4);
  EXPECT_EQ(tangents.checkpoints()[0].results.size(), 2u) << "the product and its tangent";
}

TEST(Checkpoint, SurvivesEveryTransformation) {
  const auto f = [](Tensor x) {
    return sum(square(checkpoint([](Tensor t) { return keep(exp(t)) * t; })(x)));
  };
  for (const Graph& graph : {
           traced([&](Tensor x) { return hvp(f, x, x); }, x_of(4)),
           traced([&](Tensor x) { return hessian(f)(x); }, x_of(4)),
           traced([&](Tensor x) { return vjp(f, x).second(scalar(1)); }, x_of(4)),
           traced(grad([&](Tensor x) { return sum(grad(f)(x)); }), x_of(4)),
       }) {
    EXPECT_FALSE(graph.checkpoints().empty());
    EXPECT_FALSE(graph.hints().empty());
    for (const Hint& hint : graph.hints()) EXPECT_TRUE(hint.value.valid());
  }
}

}  // namespace
}  // namespace tidemark
