// What loops hold beside their results: one place for what is carried and summed up, where a step can write
// over it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_target.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;

Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency);
}

constexpr std::int64_t width = 256, matrix = 4 * width * width, small = 32 * 1024;

// The arena of the plan, which a run must have used to its last byte.
template <class Compiled, class... Args>
std::int64_t arena_of(const Compiled& f, const Args&... args) {
  f(args...);
  const std::int64_t planned = f.prepare(args...).plan.arena_bytes;
  EXPECT_EQ(f.arena_high_water().count, planned);
  return planned;
}

auto products(LoopOptions options = {}) {
  return [options](Tensor w) {
    return sum(repeat(
        8, [&](Tensor h) { return tanh(matmul(h, w)); }, ones({1, width}), options));
  };
}

TEST(LoopMemory, ASumOverCapturedMatricesTakesOneMatrix) {
  const Tensor w = waves({width, width}, 0.37) * 0.1;
  const auto records = compile(grad(products()));
  // The sum, and what a step adds to it.
  EXPECT_LT(arena_of(records, w), 2 * matrix + small);
  const auto states = compile(grad(products({.memory = Bytes(2 * 4 * width)})));
  EXPECT_LT(arena_of(states, w), 2 * matrix + small);
  EXPECT_EQ(states(w).to_vector(), records(w).to_vector());
  Tensor h = ones({1, width});
  const auto unrolled = [&](Tensor u) {
    Tensor state = h;
    for (int i = 0; i < 8; ++i) state = tanh(matmul(state, u));
    return sum(state);
  };
  EXPECT_EQ(compile(grad(unrolled))(w).to_vector(), records(w).to_vector());
}

TEST(LoopMemory, WhatAStepUpdatesElementByElementTakesOnePlace) {
  const auto decay = [](Tensor u) {
    return repeat(
        5, [](Tensor v) { return v * 0.5 + 1; }, u);
  };
  const Tensor u = waves({width, width}, 0.11);
  const auto f = compile(decay);
  EXPECT_LT(arena_of(f, u), matrix + small);
  Tensor expected = u;
  for (int i = 0; i < 5; ++i) expected = expected * 0.5 + 1;
  EXPECT_EQ(f(u).to_vector(), expected.to_vector());

  const auto until = compile([](Tensor v) {
    return while_loop([](Tensor x) { return mean(x) < 1.9; }, [](Tensor x) { return x * 0.5 + 1; }, v);
  });
  EXPECT_LT(arena_of(until, u), matrix + small);
  EXPECT_EQ(until(u).to_vector(), f(u).to_vector());
}

TEST(LoopMemory, ADonatedStateIsCarriedInItsOwnMemory) {
  auto f = compile(
      [](Tensor u) {
        return repeat(
            6, [](Tensor v) { return sin(v); }, u);
      },
      {.donate = {0}});
  const Tensor u = waves({width, width}, 0.11);
  EXPECT_LT(f.prepare(u).plan.arena_bytes, small);
}

TEST(LoopMemory, WhatIsReadAfterItIsWrittenKeepsTwoPlaces) {
  using Two = std::pair<Tensor, Tensor>;
  const auto swap = [](Two s) { return Two(s.second, s.first); };
  const auto fibonacci = [](Two s) { return Two(s.second, s.first + s.second); };
  const auto crossed = [](Two s) { return Two(s.first * s.second, s.first - s.second); };
  const auto shifted = [](Two s) { return Two(s.first + flip(s.first, {0}), s.second + cumsum(s.first, 0)); };
  const Two start(waves({6}, 0.3), waves({6}, 0.7));
  const auto check = [&](const auto& step) {
    for (int steps : {1, 2, 3, 6}) {
      const auto f = compile([&](Tensor a, Tensor b) { return repeat(steps, step, Two(a, b)); });
      const Two found = f(start.first, start.second);
      EXPECT_EQ(f.arena_high_water().count, f.plan().plan.arena_bytes);
      Two expected = start;
      for (int i = 0; i < steps; ++i) expected = step(expected);
      EXPECT_EQ(found.first.to_vector(), expected.first.to_vector()) << steps;
      EXPECT_EQ(found.second.to_vector(), expected.second.to_vector()) << steps;
      const auto loss = [&](Tensor a, Tensor b, LoopOptions options) {
        const Two end = repeat(steps, step, Two(a, b), options);
        return sum(end.first * 3 + sin(end.second));
      };
      const auto gradient = [&](LoopOptions options) {
        const auto [da, db] = compile(grad<0, 1>([&](Tensor a, Tensor b) { return loss(a, b, options); }))(
            start.first, start.second);
        return std::pair(da.to_vector(), db.to_vector());
      };
      const auto all = gradient({});
      EXPECT_EQ(gradient({.memory = 96_B}), all) << steps;
      EXPECT_EQ(gradient({.memory = 48_B}), all) << steps;
    }
  };
  check(swap);
  check(fibonacci);
  check(crossed);
  check(shifted);
}

// A step that hands on what it was given, and makes the next from it and the one before: two places, and no
// copies.
TEST(LoopMemory, WhatIsHandedOnAsItIsStaysWhereItIs) {
  using Two = std::pair<Tensor, Tensor>;
  const auto leap = [](Two s) { return Two(s.first * 1.5 - s.second, s.first); };
  const Two start(waves({width, width}, 0.3), waves({width, width}, 0.7));
  for (int steps : {4, 5}) {
    const auto f = compile([&](Tensor a, Tensor b) { return repeat(steps, leap, Two(a, b)); });
    EXPECT_LT(arena_of(f, start.first, start.second), 3 * matrix + small);  // one for what the step adds up
    Two expected = start;
    for (int i = 0; i < steps; ++i) expected = leap(expected);
    const Two found = f(start.first, start.second);
    EXPECT_EQ(found.first.to_vector(), expected.first.to_vector());
    EXPECT_EQ(found.second.to_vector(), expected.second.to_vector());
  }
}

// One state is stacked as it is left, the other as it is given: both are carried in the slices of the stacks.
TEST(LoopMemory, WhatIsStackedAnywayIsCarriedThere) {
  constexpr std::int64_t trips = 5;
  using State = std::pair<Tensor, Tensor>;
  const auto step = [](const State& s, const Tensor& x) {
    const Tensor next = s.first * x + s.second;
    return std::pair(State{next, sin(s.first)}, std::pair(next, s.second));
  };
  const auto f = [&](const Tensor& a, const Tensor& b, const Tensor& xs) {
    return scan(step, State{a, b}, xs);
  };
  const Tensor a = waves({width}, 0.3), b = waves({width}, 0.7), xs = waves({trips, width}, 1.1);
  std::vector<Tensor> left, given;
  State now{a, b};
  for (std::int64_t t = 0; t < trips; ++t) {
    const auto [next, outputs] = step(now, xs.at(t));
    left.push_back(outputs.first);
    given.push_back(outputs.second);
    now = next;
  }
  for (const std::vector<int>& donated : {std::vector<int>{}, {0, 1}}) {
    const auto compiled = compile(f, {.donate = donated});
    for (int call = 0; call < 2; ++call) {
      const auto [end, stacks] = compiled(a + 0, b + 0, xs);
      EXPECT_EQ(end.first.to_vector(), now.first.to_vector());
      EXPECT_EQ(end.second.to_vector(), now.second.to_vector());
      EXPECT_EQ(stacks.first.to_vector(), stack(left).to_vector());
      EXPECT_EQ(stacks.second.to_vector(), stack(given).to_vector());
    }
  }
  // Beside the results there are the pointers of the loop alone: no places that change hands.
  const std::int64_t results = (2 + 2 * trips) * 4 * width;
  EXPECT_LT(arena_of(compile(f), a, b, xs), results + 4 * width);
}

// One state becomes the other and is stacked as it is given: both are in one stack, a slice apart. Also where
// there is no slice.
TEST(LoopMemory, StatesThatShareAStackAreRightForAnyNumberOfSteps) {
  using State = std::pair<Tensor, Tensor>;
  const auto step = [](const State& s, const Tensor& x) {
    return std::pair(State{s.second, s.first + s.second * x}, s.second);
  };
  const auto f = [&](const Tensor& a, const Tensor& b, const Tensor& xs) {
    return scan(step, State{a, b}, xs);
  };
  const Tensor a = waves({width}, 0.3), b = waves({width}, 0.7);
  for (const std::int64_t trips : {0, 1, 2, 5}) {
    const Tensor xs = waves({trips, width}, 1.1);
    std::vector<double> given;
    State now{a, b};
    for (std::int64_t t = 0; t < trips; ++t) {
      const std::vector<double> state = now.second.to_vector();
      given.insert(given.end(), state.begin(), state.end());
      now = step(now, xs.at(t)).first;
    }
    const auto [end, stacked] = compile(f)(a, b, xs);
    EXPECT_EQ(end.first.to_vector(), now.first.to_vector()) << trips;
    EXPECT_EQ(end.second.to_vector(), now.second.to_vector()) << trips;
    EXPECT_EQ(stacked.to_vector(), given) << trips;
  }
}

TEST(LoopMemory, TheVerifierHoldsPlansToWhatIsHandedOn) {
  const auto f = compile(grad(products({.memory = Bytes(2 * 4 * width)})));
  const PlannedGraph planned = f.prepare(waves({width, width}, 0.37));
  EXPECT_TRUE(problems(planned.graph, plan_from_json(planned.to_json()), test_target()).empty());
  const auto donated = [&](const Graph& graph) {
    std::string list;
    for (const Node& node : graph.nodes()) {
      for (const Graph& region : node.regions) {
        for (const Input& input : region.inputs()) list += input.donated ? 'd' : '-';
        list += ' ';
      }
    }
    return list;
  };
  // Forwards: the state. Its reverse: the state, of a step that is run again; the gradient and the sum, not
  // the weights.
  EXPECT_EQ(donated(planned.graph), "d- d- --dd ");
  // Once a region may not overwrite what it is given, its plan is refused.
  Graph held = planned.graph;
  for (std::size_t n = 0; n < held.nodes().size(); ++n) {
    for (Graph& region : held[NodeId(n)].regions) {
      for (Input& input : region.inputs()) input.donated = false;
    }
  }
  EXPECT_FALSE(problems(held, planned.plan, test_target()).empty());
}

TEST(LoopMemory, OnlyWhatIsHandedOnMayBeDonated) {
  const auto f = compile(products());
  const PlannedGraph planned = f.prepare(waves({width, width}, 0.37));
  std::string text = print(planned.graph);
  EXPECT_EQ(print(parse(text, {find_op})), text);
  const std::size_t weights = text.rfind("f32[256, 256])");  // the body's
  ASSERT_NE(weights, std::string::npos);
  text.insert(weights + std::string_view("f32[256, 256]").size(), " donated");
  EXPECT_THROW(parse(text, {find_op}), Error);
}

}  // namespace
}  // namespace tidemark
