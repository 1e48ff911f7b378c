// Loops and their bodies in less memory: fewer records, fewer states, tighter bodies, each loop as it needs;
// the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;

Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency);
}

template <class F, class... Args>
Graph traced(const F& f, const Args&... args) {
  return *trace_call(f, std::tuple<Args...>(args...), {}).graph;
}

constexpr double effort = 0.1;

struct Found {
  Graph graph;
  Plan plan;
};
std::optional<Found> within(const Graph& graph, std::int64_t memory) {
  const PlanOptions options{.memory = memory, .effort = effort};
  Graph prepared = prepare_within(graph, {}, options).graph;
  Result<Plan, Infeasible> plan = try_plan(prepared, test_target(), options);
  if (!plan) return {};
  return Found{std::move(prepared), std::move(plan).value()};
}

// One limit for all loops, the highest with which a plan fits in which nothing else runs again and bodies are
// free.
std::optional<Plan> with_one_limit(const Graph& graph, std::int64_t memory) {
  std::optional<Plan> best;
  for (double limit = 256; limit < 1e8; limit *= 1.15) {
    Plan plan = make_plan(prepare_graph(graph, {}, nullptr, static_cast<std::int64_t>(limit)), test_target(),
                          {.effort = effort});
    if (plan.peak() <= memory && (!best || plan.seconds < best->seconds)) best = std::move(plan);
  }
  return best;
}

std::int64_t reversals_in(const Graph& graph) {
  return std::ranges::count_if(graph.nodes(),
                               [](const Node& node) { return node.op->name == "loop_reverse"; });
}

bool bodies_repeat(const Graph& graph, const Plan& plan) {
  for (const NodePlans& body : plan.bodies) {
    for (std::size_t r = 0; r < body.regions.size(); ++r) {
      std::vector<bool> ran(graph[body.node].regions[r].nodes().size(), false);
      for (const Step& step : body.regions[r].steps) {
        if (ran[step.node.index]) return true;
        ran[step.node.index] = true;
      }
    }
  }
  return false;
}

// Steps whose inside is far wider than what they carry.
constexpr std::int64_t narrow = 16, wide = 512, rows = 32;
Tensor wide_net(Tensor up, Tensor down, Tensor h) {
  const auto body = [&](Tensor u) {
    Tensor v = u;
    for (int i = 0; i < 3; ++i) v = v + matmul(tanh(matmul(v, up)), down);
    return v * 0.9;
  };
  return sum(sin(repeat(12, body, h)));
}

TEST(LoopModes, AWideBodyComputesAgainInside) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Tensor up = waves({narrow, wide}, 0.37) * 0.2, down = waves({wide, narrow}, 0.23) * 0.1;
  const Tensor h = waves({rows, narrow}, 0.11);
  const auto f = grad<0, 1>(wide_net);
  const Graph graph = traced(f, up, down, h);
  // As little as loops can keep, with bodies that compute nothing twice.
  const std::int64_t free_bodies = make_plan(prepare_graph(graph, {}, nullptr, 0), test_target()).peak();
  const std::int64_t memory = compile(f, {.effort = effort}).smallest(up, down, h).memory.count * 21 / 20;
  EXPECT_LT(memory, free_bodies * 4 / 5);
  const std::optional<Found> found = within(graph, memory);
  ASSERT_TRUE(found);
  EXPECT_LE(found->plan.peak(), memory);
  EXPECT_TRUE(bodies_repeat(found->graph, found->plan));
  const auto expected = compile(f)(up, down, h);
  const auto compiled = compile(f, {.memory = Bytes(memory), .effort = effort});
  const auto given = compiled(up, down, h);
  EXPECT_EQ(std::get<0>(given).to_vector(), std::get<0>(expected).to_vector());
  EXPECT_EQ(std::get<1>(given).to_vector(), std::get<1>(expected).to_vector());
  EXPECT_EQ(compiled.arena_high_water().count, compiled.plan().plan.arena_bytes);
}

// An LSTM of which a step keeps far more than its state.
Tensor lstm(Tensor hidden, Tensor from_input) {
  const std::int64_t width = hidden.size(0), batch = from_input.size(1);
  const auto body = [&](std::pair<Tensor, Tensor> s, Tensor x) {
    const Tensor gates = x + matmul(s.first, hidden);
    const auto gate = [&](std::int64_t i) { return gates.at(all, Range{i * width, (i + 1) * width}); };
    const Tensor cell = sigmoid(gate(1)) * s.second + sigmoid(gate(0)) * tanh(gate(2));
    const Tensor out = sigmoid(gate(3)) * tanh(cell);
    return std::pair(std::pair(out, cell), out);
  };
  const Tensor zero = zeros({batch, width});
  return sum(square(scan(body, std::pair(zero, zero), sin(from_input)).second));
}

TEST(LoopModes, AnLstmInAQuarterOfItsActivationsTakesLittleLonger) {
  const Tensor hidden = waves({48, 4 * 48}, 0.37) * 0.3, xs = waves({64, 4, 4 * 48}, 0.11);
  const auto f = grad<0>(lstm);
  const Graph graph = traced(f, hidden, xs);
  const Plan free = make_plan(prepare_graph(graph), test_target(), {.effort = effort});
  const std::vector<double> expected = compile(f)(hidden, xs).to_vector();
  const std::int64_t activations = free.arena_bytes;
  for (const auto& [share, slower] : {std::pair(0.75, 1.05), std::pair(0.5, 1.5), std::pair(0.4, 1.85)}) {
    const auto memory =
        free.input_bytes + static_cast<std::int64_t>(share * static_cast<double>(activations));
    const std::optional<Found> found = within(graph, memory);
    ASSERT_TRUE(found) << share;
    EXPECT_LT(found->plan.seconds, slower * free.seconds) << share;
    EXPECT_EQ(compile(f, {.memory = Bytes(memory), .effort = effort})(hidden, xs).to_vector(), expected)
        << share;
  }
}

TEST(LoopModes, FewerRecordsComeBeforeStates) {
  const Tensor hidden = waves({48, 4 * 48}, 0.37) * 0.3, xs = waves({64, 4, 4 * 48}, 0.11);
  const Graph graph = traced(grad<0>(lstm), hidden, xs);
  const std::vector<LoopModes> modes = loop_modes(prepare_unlowered(graph, {}, cpu_target()));
  ASSERT_EQ(modes.size(), 1u);
  EXPECT_TRUE(modes[0].inside.empty());
  EXPECT_TRUE(std::ranges::is_sorted(modes[0].own, std::greater()));
  const std::int64_t states = 64 * 2 * 4 * 48 * 4;
  EXPECT_EQ(std::ranges::count(modes[0].own, states), 1);
  EXPECT_EQ(modes[0].own.back(), states / 64);
  double seconds = 0;
  for (std::int64_t limit : modes[0].own) {
    const Graph lowered = prepare_graph(graph, {}, nullptr, limit);
    EXPECT_EQ(reversals_in(lowered), limit > states ? 0 : 1) << limit;
    const Plan plan = make_plan(lowered, test_target(), {.effort = effort});
    EXPECT_GT(plan.seconds, 0.95 * seconds) << limit;
    seconds = plan.seconds;
  }
}

// Two loops: one whose steps are dear and keep little, one whose steps are cheap and keep much.
Tensor two_loops(Tensor w, Tensor x, Tensor u) {
  const Tensor dear = repeat(
      24, [&](Tensor h) { return tanh(matmul(matmul(h, w), w)); }, x);
  const Tensor cheap = repeat(
      40, [](Tensor v) { return sin(v * 1.1) * exp(-v * v * 0.1) + v * 0.3; }, u);
  return sum(dear * dear) * mean(cheap);
}

TEST(LoopModes, TwoLoopsTakeModesOfTheirOwn) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Tensor w = waves({128, 128}, 0.37) * 0.1, x = waves({4, 128}, 0.2), u = waves({4096}, 0.01);
  const auto f = grad<0, 1, 2>(two_loops);
  const Graph graph = traced(f, w, x, u);
  const Plan free = make_plan(prepare_graph(graph), test_target(), {.effort = effort});
  const auto expected = compile(f)(w, x, u);
  for (int percent : {80, 50, 35}) {
    const std::int64_t memory = free.input_bytes + free.arena_bytes * percent / 100;
    const std::optional<Found> found = within(graph, memory);
    const std::optional<Plan> before = with_one_limit(graph, memory);
    ASSERT_TRUE(found) << percent;
    if (before) {
      EXPECT_LE(found->plan.seconds, before->seconds * 1.0001) << percent;
    }
    const auto given = compile(f, {.memory = Bytes(memory), .effort = effort})(w, x, u);
    EXPECT_EQ(std::get<0>(given).to_vector(), std::get<0>(expected).to_vector()) << percent;
    EXPECT_EQ(std::get<2>(given).to_vector(), std::get<2>(expected).to_vector()) << percent;
  }
  // The cheap loop gives way; the dear one keeps its records.
  const std::optional<Found> found = within(graph, free.input_bytes + free.arena_bytes / 2);
  ASSERT_TRUE(found);
  EXPECT_LE(reversals_in(found->graph), 1);
}

TEST(LoopModes, NoBudgetIsMetMoreSlowlyThanWithOneLimitForAll) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Tensor hidden = waves({32, 4 * 32}, 0.37) * 0.3, xs = waves({48, 4, 4 * 32}, 0.11);
  const Graph graph = traced(grad<0>(lstm), hidden, xs);
  const Plan free = make_plan(prepare_graph(graph), test_target(), {.effort = effort});
  for (int percent : {95, 80, 65, 50, 45, 40}) {
    const std::int64_t memory = free.input_bytes + free.arena_bytes * percent / 100;
    const std::optional<Plan> before = with_one_limit(graph, memory);
    if (!before) continue;
    const std::optional<Found> found = within(graph, memory);
    ASSERT_TRUE(found) << percent;
    EXPECT_LE(found->plan.seconds, before->seconds * 1.0001) << percent;
  }
}

// Loops in loops, and a branch in the inner one.
Tensor nested(Tensor w, Tensor x) {
  const auto inner = [&](Tensor v) {
    return cond(
        sum(v) > 0, [&](Tensor a) { return sin(matmul(a, w)); },
        [&](Tensor a) { return cos(matmul(a, w)) * a; }, v);
  };
  const auto outer = [&](Tensor u) { return repeat(6, inner, u) + u * 0.1; };
  return sum(repeat(8, outer, x));
}

TEST(LoopModes, LoopsInLoopsAndBranchesKeepTheirBitsAtEveryBudget) {
  const Tensor w = waves({24, 24}, 0.8) * 0.3, x = waves({8, 24}, 0.4);
  const auto f = grad<0, 1>(nested);
  const auto free = compile(f, {.effort = effort});
  const auto expected = free(w, x);
  const Bytes least = compile(f, {.effort = effort}).smallest(w, x).memory;
  const Bytes most = free.plan().peak();
  ASSERT_LT(least.count, most.count);
  for (int k = 0; k <= 4; ++k) {
    const Bytes memory(least.count + (most.count - least.count) * k / 4);
    const auto compiled = compile(f, {.memory = memory, .effort = effort});
    const auto given = compiled(w, x);
    EXPECT_EQ(std::get<0>(given).to_vector(), std::get<0>(expected).to_vector()) << k;
    EXPECT_EQ(std::get<1>(given).to_vector(), std::get<1>(expected).to_vector()) << k;
    EXPECT_LE(compiled.plan().peak(), memory);
  }
}

TEST(LoopModes, TheSmallestBudgetOfAnErrorFits) {
  const Tensor up = waves({narrow, wide}, 0.37) * 0.2, down = waves({wide, narrow}, 0.23) * 0.1;
  const Tensor h = waves({rows, narrow}, 0.11);
  const auto f = grad<0, 1>(wide_net);
  const auto too_little = compile(f, {.memory = 8_KiB, .effort = effort}).try_prepare(up, down, h);
  ASSERT_FALSE(too_little);
  const Bytes smallest = too_little.error().smallest();
  EXPECT_LT(smallest.count,
            make_plan(prepare_graph(traced(f, up, down, h), {}, nullptr, 0), test_target()).peak());
  EXPECT_TRUE(compile(f, {.memory = smallest, .effort = effort}).try_prepare(up, down, h));
}

// What a step reads of xs is not read again once the step is reversed.
TEST(LoopModes, GradientsOfXsGoOverXs) {
  const auto loss = [](Tensor w, Tensor x) {
    const auto body = [&](Tensor h, Tensor in) { return tanh(matmul(h, w) + in * h); };
    return sum(scan(body, ones({1, 64}), sin(x * 3), {.memory = Bytes(3 * 256)}));
  };
  const Tensor w = waves({64, 64}, 0.37) * 0.1, x = waves({200, 1, 64}, 0.11);
  const auto without = [&](Tensor a, Tensor b) {
    return sum(
        scan([&](Tensor h, Tensor in) { return tanh(matmul(h, a) + in * h); }, ones({1, 64}), sin(b * 3)));
  };
  const auto f = compile(grad<0, 1>(loss));
  const auto given = f(w, x);
  const auto expected = compile(grad<0, 1>(without))(w, x);
  EXPECT_EQ(std::get<0>(given).to_vector(), std::get<0>(expected).to_vector());
  EXPECT_EQ(std::get<1>(given).to_vector(), std::get<1>(expected).to_vector());
  const std::int64_t stacked = 200 * 64 * 4;
  EXPECT_LT(f.plan().plan.arena_bytes, 3 * stacked);  // that, and what its cosine is taken of
  EXPECT_EQ(f.arena_high_water().count, f.plan().plan.arena_bytes);
}

}  // namespace
}  // namespace tidemark
