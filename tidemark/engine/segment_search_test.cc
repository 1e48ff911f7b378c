// Loops whose records wait on the disk, as a user has them: the bits, the budget, what runs once, what fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::ScratchFolder;

constexpr std::int64_t width = 128, rows = 64;
constexpr Bytes disk_bytes = 256_MiB;

Tensor weights() { return random_normal(key(1), {width, width}, 0, 0.1); }
Tensor states() { return random_normal(key(2), {rows, width}); }

int loops_of(const PlannedGraph& planned) {
  return static_cast<int>(std::ranges::count(planned.graph.nodes(), &op::loop, &Node::op));
}
bool moves_values(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) { return step.kind == StepKind::copy; });
}

// Half of what the step holds freely beside what comes in and goes out.
template <class F, class... Args>
Bytes half_of(const F& f, const Args&... args) {
  const auto free = compile(f, {.effort = 0.1});
  const PlannedGraph planned = free.prepare(args...);
  std::int64_t fixed = planned.plan.input_bytes;
  for (const ValueId v : planned.graph.outputs()) fixed += planned.graph.type(v).bytes();
  return Bytes(fixed + (planned.peak().count - fixed) / 2);
}

// With the disk alone, which whole loops would not fit with; then with everything.
template <class F, class... Args>
void expect_segments(const F& f, const Args&... args) {
  const ScratchFolder folder;
  const Bytes budget = half_of(f, args...);
  const auto expected = compile(f, {.effort = 0.1})(args...).to_vector();
  const Choices moving = {Choice::disk}, all = {Choice::recompute, Choice::disk};
  double seconds = 0;
  for (const Choices& allow : {moving, all}) {
    const auto step =
        compile(f, {.memory = budget, .disk = {{folder.path(), disk_bytes}}, .allow = allow, .effort = 0.1});
    for (int run = 0; run < 2; ++run) EXPECT_EQ(step(args...).to_vector(), expected) << to_string(allow);
    const Plan& plan = step.plan().plan;
    EXPECT_LE(step.plan().peak(), budget);
    EXPECT_EQ(step.arena_high_water().count, plan.arena_bytes);
    EXPECT_EQ(step.memory_report().disk.count, plan.further.empty() ? 0 : plan.further[0].arena_bytes);
    if (allow == moving) {
      EXPECT_TRUE(moves_values(plan));
      EXPECT_GE(loops_of(step.plan()), 8);
      EXPECT_TRUE(step.plan().loops().empty()) << "steps are computed again";
      seconds = plan.seconds;
    } else {
      EXPECT_LE(plan.seconds, seconds * (1 + 1e-4));
    }
  }
}

TEST(SegmentSearch, RecordsOfALoopWaitOnTheDisk) {
  const auto loss = [](Tensor w, Tensor u) {
    return sum(square(repeat(
        64, [&](Tensor v) { return tanh(matmul(v, w)); }, u)));
  };
  expect_segments(grad(loss), weights(), states());
}

TEST(SegmentSearch, StepsNeedNotDivideAndYsAndXsMayBeReadOutside) {
  const Tensor xs = random_normal(key(3), {37, rows, width});
  const auto loss = [](Tensor w, Tensor inputs, Tensor u) {
    const auto body = [&](Tensor v, Tensor x) {
      const Tensor a = tanh(matmul(v, w) + x), b = sin(a * v) * exp(a * 0.1);
      return std::pair(a * b + v, b);
    };
    const auto [end, ys] = scan(body, u, inputs);
    return sum(end) + sum(ys * ys * inputs);
  };
  expect_segments(grad(loss), weights(), xs, states());
  expect_segments(grad<1>(loss), weights(), xs, states());
}

TEST(SegmentSearch, IntegersRandomNumbersAndLoopsInsideAreCarriedAlong) {
  const auto loss = [](Tensor w, Tensor u) {
    const auto body = [&](std::pair<Tensor, Tensor> s) {
      const Tensor kept = cast(random_uniform(s.second, s.first.shape()) < 0.9, DType::f32);
      const Tensor h = tanh(matmul(s.first * kept, w));
      const Tensor inner = repeat(
          3, [&](Tensor v) { return sin(v) * 0.5 + h; }, s.first);
      return std::pair(h + inner * 0.1, fold_in(s.second, 1));
    };
    return sum(square(repeat(41, body, std::pair(u, key(5))).first));
  };
  expect_segments(grad(loss), weights(), states());
}

TEST(SegmentSearch, SeveralLoopsShareTheDisk) {
  const auto loss = [](Tensor w, Tensor u) {
    const auto body = [&](Tensor v) { return tanh(matmul(v, w)); };
    const Tensor first = repeat(48, body, u);
    return sum(square(repeat(33, body, first * 2)));
  };
  expect_segments(grad(loss), weights(), states());
}

int rolls = 0;

// x plus a number that is another one at each call.
Tensor rolled(const Tensor& x) {
  static const Op& dice =
      make_custom_op({.name = "segment_dice",
                      .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                      .kernel =
                          [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                            ++rolls;
                            for (std::int64_t i = 0; i < in[0].count(); ++i)
                              out[0].as<float>()[i] =
                                  in[0].as<const float>()[i] + 1e-3f * static_cast<float>(rolls);
                          },
                      .vjp = [](const RuleCall& rule) { return std::vector{rule.seed[0]}; },
                      .replay = Replay::never});
  return build({x}, [](Builder& b, std::span<const Var> in) { return b.call1(dice, {in[0]}); });
}

TEST(SegmentSearch, WhatMayRunOnceRunsOncePerStep) {
  const ScratchFolder folder;
  constexpr int steps = 40;
  const auto loss = [](Tensor w, Tensor u) {
    return sum(square(repeat(
        steps, [&](Tensor v) { return tanh(rolled(matmul(v, w))); }, u)));
  };
  const Tensor w = weights(), u = states();
  const Bytes budget = half_of(grad(loss), w, u);
  rolls = 0;
  const auto expected = compile(grad(loss))(w, u).to_vector();
  ASSERT_EQ(rolls, steps);
  const auto step =
      compile(grad(loss), {.memory = budget, .disk = {{folder.path(), disk_bytes}}, .effort = 0.1});
  rolls = 0;
  EXPECT_EQ(step(w, u).to_vector(), expected);
  EXPECT_EQ(rolls, steps);
  EXPECT_TRUE(moves_values(step.plan().plan)) << "records that cannot be computed again fit nowhere else";
}

TEST(SegmentSearch, TheSmallestBudgetIsThatOfSegmentsAndIsAccepted) {
  const ScratchFolder folder;
  const auto loss = [](Tensor w, Tensor u) {
    return sum(square(repeat(
        64, [&](Tensor v) { return tanh(matmul(v, w)); }, u)));
  };
  const Tensor w = weights(), u = states();
  CompileOptions options{.disk = {{folder.path(), disk_bytes}}, .allow = {Choice::disk}, .effort = 0.1};
  const Bytes least = compile(grad(loss), options).smallest(w, u).memory;
  EXPECT_LT(3 * least.count, compile(grad(loss)).prepare(w, u).peak().count);
  options.memory = least;
  const auto step = compile(grad(loss), options);
  EXPECT_EQ(step(w, u).to_vector(), compile(grad(loss))(w, u).to_vector());
  EXPECT_LE(step.plan().peak(), least);
}

TEST(SegmentSearch, LoopsWithALimitOfTheirOwnKeepIt) {
  const ScratchFolder folder;
  const auto loss = [](Tensor w, Tensor u) {
    return sum(square(repeat(64, [&](Tensor v) { return tanh(matmul(v, w)); }, u,
                             {.memory = Bytes(8 * 4 * rows * width)})));
  };
  const Tensor w = weights(), u = states();
  const auto free = compile(grad(loss), {.effort = 0.1});
  const auto expected = free(w, u).to_vector();
  const auto step = compile(
      grad(loss), {.memory = free.plan().peak(), .disk = {{folder.path(), disk_bytes}}, .effort = 0.1});
  EXPECT_EQ(step(w, u).to_vector(), expected);
  EXPECT_EQ(loops_of(step.plan()), 1);
}

TEST(SegmentSearch, SmallerBatchesRunInsideTheMemoryOfTheLargest) {
  const ScratchFolder folder;
  const Tensor w = weights();
  const auto loss = [](Tensor m, Tensor u) {
    return sum(square(repeat(
        64, [&](Tensor v) { return tanh(matmul(v, m)); }, u)));
  };
  CompileOptions options{.disk = {{folder.path(), disk_bytes}}, .allow = {Choice::disk}, .effort = 0.1};
  options.memory = half_of(grad(loss), w, states());
  options.max_batch = rows;
  const auto step = compile(grad(loss), options);
  for (const std::int64_t batch : {rows, rows / 2, rows - 3}) {
    const Tensor u = random_normal(key(7), {batch, width});
    EXPECT_EQ(step(w, u).to_vector(), compile(grad(loss))(w, u).to_vector()) << batch;
    EXPECT_LE(step.plan().peak(), *options.memory);
  }
}

}  // namespace
}  // namespace tidemark
