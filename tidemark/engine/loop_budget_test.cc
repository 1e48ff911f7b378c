// The same gradient, bit for bit, however much memory a loop has for what it keeps.
#include "tidemark/engine/loop_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;

Tensor waves(const Shape& shape, double frequency, DType dtype = DType::f32) {
  return sin(reshape(arange(element_count(shape), dtype), shape) * frequency);
}

constexpr std::int64_t steps = 40, width = 32, state_bytes = 4 * width * 2;

// Two carried tensors, one captured, one scanned, an output at each step.
auto net(LoopOptions options = {}) {
  return [options](Tensor w, Tensor xs) {
    const auto body = [&](std::pair<Tensor, Tensor> s, Tensor x) {
      const Tensor h = tanh(matmul(s.first, w) + x), v = s.second * 0.9 + h * h;
      return std::pair(std::pair(h, v), sum(sin(v)));
    };
    const auto [end, ys] = scan(body, std::pair(ones({1, width}), zeros({1, width})), xs, options);
    return sum(end.first) + sum(end.second) + sum(ys * ys);
  };
}
Tensor weights() { return waves({width, width}, 0.37) * 0.2; }
Tensor inputs() { return waves({steps, 1, width}, 0.11); }

struct Gradients {
  std::vector<double> w, xs;
  bool operator==(const Gradients&) const = default;
};
template <class Compiled>
Gradients run(const Compiled& f) {
  const auto [dw, dxs] = f(weights(), inputs());
  return {dw.to_vector(), dxs.to_vector()};
}

std::int64_t slots_in(const Graph& graph) {
  std::int64_t slots = -1;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "loop_reverse") slots = unpack<LoopReverseAttrs>(node.attrs).slots;
  }
  return slots;
}

TEST(LoopBudgets, EveryNumberOfSlotsGivesTheSameBits) {
  const Gradients expected = run(compile(grad<0, 1>(net())));
  for (std::int64_t slots : {40, 39, 20, 11, 7, 5, 3, 2, 1}) {
    const auto f = compile(grad<0, 1>(net({.memory = Bytes(slots * state_bytes)})));
    EXPECT_EQ(run(f), expected) << slots;
    EXPECT_EQ(slots_in(f.plan().graph), slots);
    EXPECT_EQ(f.arena_high_water().count, f.plan().plan.arena_bytes);
  }
}

TEST(LoopBudgets, FewerSlotsArePredictedToTakeLonger) {
  double last = 0;
  std::int64_t peak = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t slots : {40, 20, 7, 3, 1}) {
    const auto f = compile(grad<0, 1>(net({.memory = Bytes(slots * state_bytes)})));
    const Plan& plan = f.prepare(weights(), inputs()).plan;
    EXPECT_GT(plan.seconds, last) << slots;
    EXPECT_LT(plan.peak(), peak) << slots;
    last = plan.seconds, peak = plan.peak();
  }
}

TEST(LoopBudgets, AProgramWithinABudgetKeepsAsMuchAsFits) {
  const auto free = compile(grad<0, 1>(net()));
  const Gradients expected = run(free);
  EXPECT_EQ(slots_in(free.plan().graph), -1)
      << "without a budget records are kept and nothing is computed twice";
  const std::int64_t most = free.plan().plan.peak();
  const double seconds = free.plan().plan.seconds;
  for (double share : {1.0, 0.9, 0.8, 0.7}) {
    const auto budget = Bytes(static_cast<std::int64_t>(share * static_cast<double>(most)));
    const auto f = compile(grad<0, 1>(net()), {.memory = budget, .effort = Effort::quick});
    EXPECT_EQ(run(f), expected) << share;
    EXPECT_LE(f.plan().peak(), budget);
    EXPECT_EQ(f.arena_high_water().count, f.plan().plan.arena_bytes);
    EXPECT_LT(f.plan().plan.seconds, 1.5 * seconds) << share;
  }
  EXPECT_GE(slots_in(compile(grad<0, 1>(net()), {.memory = Bytes(most * 7 / 10), .effort = Effort::quick})
                         .prepare(weights(), inputs())
                         .graph),
            1);
}

TEST(LoopBudgets, FrontiersTradeStatesForTime) {
  const auto f = compile(grad<0, 1>(net()), {.effort = 0.01});
  const std::vector<FrontierPoint> points = f.frontier(weights(), inputs());
  ASSERT_GT(points.size(), 4u);
  EXPECT_GT(points.front().seconds, points.back().seconds);
  EXPECT_LT(points.front().memory, points.back().memory);
  for (const FrontierPoint& point : points) EXPECT_LE(point.memory, point.budget);
  EXPECT_LE(f.smallest(weights(), inputs()).memory, points.front().memory);
}

TEST(LoopBudgets, WhatCannotFitIsSaid) {
  const auto f = compile(grad<0, 1>(net()), {.memory = 4_KiB, .effort = Effort::quick});
  EXPECT_THROW(f.prepare(weights(), inputs()), InfeasibleBudget);
}

// The plan for the smallest budget may come out lower than that, and yet none be found for so much less.
TEST(LoopBudgets, TheSmallestThatIsNamedIsAccepted) {
  const Tensor x = full({256}, 0.5f);
  const auto nested = [](Tensor u) {
    const auto inner = [&](Tensor w) { return sin(w * u) + 0.25; };
    return sum(repeat(
        3, [&](Tensor v) { return repeat(2, inner, v); }, u));
  };
  const auto branching = [](Tensor u) {
    const auto inner = [&](Tensor w) {
      return cond(
          sum(w) > -1e9, [](Tensor z) { return sin(z) + 0.25; }, [](Tensor z) { return z; }, w * u);
    };
    return sum(repeat(
        3, [&](Tensor v) { return repeat(2, inner, v); }, u));
  };
  const auto expect_accepted = [&](const auto& f) {
    for (const double effort : {0.02, 0.1, 1.0}) {
      const auto free = compile(f, {.effort = effort});
      const Bytes least = free.smallest(types_of(x)).memory;
      const auto tight = compile(f, {.memory = least, .effort = effort});
      ASSERT_TRUE(tight.try_prepare(types_of(x))) << effort << ": " << least.count;
      EXPECT_EQ(tight(x).to_vector(), free(x).to_vector()) << effort;
    }
  };
  expect_accepted(grad(nested));
  expect_accepted(grad(branching));
}

TEST(LoopBudgets, StepsRunAsOftenAsForecast) {
  static std::int64_t runs = 0;
  // A pointer: g++ 13 takes a reference to what the call returns for one to its argument.
  static const Op* const counted =
      &make_custom_op({.name = "counted_square",
                       .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                       .kernel =
                           [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                             ++runs;
                             for (std::int64_t i = 0; i < in[0].count(); ++i)
                               out[0].as<float>()[i] = in[0].as<float>()[i] * in[0].as<float>()[i];
                           },
                       .vjp = [](const RuleCall& r) { return std::vector{r.seed[0] * r.in[0] * 2.0}; }});
  for (std::int64_t slots : {0, 60, 10, 3, 1}) {
    const LoopOptions options{.memory = slots > 0 ? std::optional(Bytes(slots * 16)) : std::nullopt};
    const auto f = compile(grad([&](Tensor x) {
      const auto step = [](Tensor u) { return sin(call(*counted, {u})[0] * 0.9); };
      return sum(repeat(60, step, x, options));
    }));
    f(full({4}, 0.7));
    runs = 0;
    f(full({4}, 0.7));
    const std::vector<LoopForecast> loops = f.plan().loops();
    ASSERT_EQ(loops.size(), slots > 0 ? 1u : 0u);
    EXPECT_EQ(runs, slots > 0 ? loops[0].forward_steps : 60) << slots;
    EXPECT_EQ(f.plan().summary().find("60 steps") != std::string::npos, slots > 0);
  }
}

TEST(LoopBudgets, PlacesOfSnapshotsLeadToTheLeastNumberOfAdvances) {
  for (std::int64_t trips : {1, 2, 3, 5, 17, 100}) {
    for (std::int64_t slots : {1, 2, 3, 5, 20}) {
      if (slots >= trips) continue;
      // The walk of the kernel, counted.
      std::vector<std::int64_t> kept = snapshot_places(trips, slots);
      EXPECT_LE(std::ssize(kept), slots);
      std::int64_t advances = trips, end = trips;
      while (!kept.empty()) {
        const std::int64_t length = end - kept.back(), left = slots - std::ssize(kept) + 1;
        if (length == 1) {
          --end, kept.pop_back();
          continue;
        }
        const std::int64_t go = left == 1 ? length - 1 : first_advance(length, left);
        advances += go;
        if (kept.back() + go == end - 1) {
          --end;
        } else {
          kept.push_back(kept.back() + go);
        }
      }
      EXPECT_EQ(end, 0);
      EXPECT_EQ(advances, schedule::least_advances(trips + 1, slots)) << trips << " in " << slots;
    }
  }
}

TEST(LoopBudgets, LoopsInLoopsKeepTheirBits) {
  const auto nested = [](std::optional<Bytes> memory) {
    return [memory](Tensor w, Tensor x) {
      const auto outer = [&](Tensor u) {
        return repeat(7, [&](Tensor v) { return sin(v * w) + u * 0.1; }, u, {.memory = memory});
      };
      return sum(repeat(9, outer, x, {.memory = memory}));
    };
  };
  const Tensor w = waves({16}, 0.8), x = waves({16}, 0.4);
  const auto expected = compile(grad<0, 1>(nested({})))(w, x);
  for (std::int64_t slots : {9, 4, 2, 1}) {
    const auto found = compile(grad<0, 1>(nested(Bytes(slots * 64))))(w, x);
    EXPECT_EQ(std::get<0>(found).to_vector(), std::get<0>(expected).to_vector()) << slots;
    EXPECT_EQ(std::get<1>(found).to_vector(), std::get<1>(expected).to_vector()) << slots;
  }
}

TEST(LoopBudgets, LoopsThatEndWhenTheyEndAreReversedFromWhatTheyKept) {
  const auto decay = [](std::optional<Bytes> memory, std::optional<std::int64_t> most) {
    return [memory, most](Tensor w, Tensor x) {
      const auto goes_on = [](Tensor u) { return sum(u * u) > 1; };
      return sum(sin(while_loop(goes_on, [&](Tensor u) { return u * 0.95 + sin(u * w) * 0.01; }, x,
                                {.max_steps = most, .memory = memory})));
    };
  };
  const Tensor w = waves({8}, 0.8), x = full({8}, 10) + waves({8}, 0.3);
  // How many steps it takes, and the same unrolled.
  Tensor u = x;
  std::int64_t trips = 0;
  for (; sum(u * u).item() > 1; ++trips) u = u * 0.95 + sin(u * w) * 0.01;
  ASSERT_GT(trips, 40);
  const auto fixed = [&](Tensor v, Tensor z) {
    return sum(sin(repeat(
        trips, [&](Tensor y) { return y * 0.95 + sin(y * v) * 0.01; }, z)));
  };
  const auto expected = compile(grad<0, 1>(fixed))(w, x);
  const auto expect = [&](const auto& f) {
    const auto found = compile(grad<0, 1>(f))(w, x);
    EXPECT_EQ(std::get<0>(found).to_vector(), std::get<0>(expected).to_vector());
    EXPECT_EQ(std::get<1>(found).to_vector(), std::get<1>(expected).to_vector());
  };
  expect(decay({}, {}));
  expect(decay({}, 200));
  for (std::int64_t slots : {1, 2, 3, 10, 63}) expect(decay(Bytes(32 * slots), {}));
  const auto never = compile(grad<0, 1>(decay({}, {})))(w, full({8}, 0.1));
  EXPECT_EQ(std::get<0>(never).to_vector(), std::vector<double>(8, 0));
  EXPECT_EQ(std::get<1>(never).to_vector(), cos(full({8}, 0.1)).to_vector());
}

}  // namespace
}  // namespace tidemark
