// What says `replay = never` runs once for each time that the program calls it, wherever the call stands: in
// a loop, in a branch, in a function whose gradient is taken, in as little memory as there may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ops/custom/custom.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

int rolls = 0;

// x plus a number that is another one at each call.
const Op& dice() {
  static const Op& op =
      make_custom_op({.name = "dice",
                      .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                      .kernel =
                          [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                            ++rolls;
                            for (std::int64_t i = 0; i < in[0].count(); ++i)
                              out[0].as<float>()[i] = in[0].as<const float>()[i] + static_cast<float>(rolls);
                          },
                      .vjp = [](const RuleCall& rule) { return std::vector{rule.seed[0]}; },
                      .replay = Replay::never});
  return op;
}
Tensor roll(const Operand& x) {
  return build({x}, [](Builder& b, std::span<const Var> in) { return b.call1(dice(), {in[0]}); });
}

// Runs the step at budgets from what it takes freely down to the smallest.
template <class F, class... Args>
void expect_rolls(int expected, const F& f, const Args&... args) {
  const auto free = compile(f, {.effort = 0.02});
  free.prepare(types_of(args)...);
  const std::int64_t most = free.plan().peak().count, least = free.smallest(types_of(args)...).memory.count;
  for (int k = 0; k <= 4; ++k) {
    const auto step = compile(f, {.memory = Bytes(least + (most - least) * k / 4), .effort = 0.02});
    rolls = 0;
    step(args...);
    EXPECT_EQ(rolls, expected) << k << " of 4";
  }
}

TEST(RunOnce, HoldsAtEveryBudget) {
  const Tensor x = full({256}, 0.5f);
  // Cheap to make, large, and read late: what a budget would rather compute again.
  const auto direct = [](Tensor u) {
    const Tensor a = roll(u), b = exp(a * 2), c = sin(b), d = cos(c * b);
    return sum(d * a + tanh(c));
  };
  expect_rolls(1, grad(direct), x);
  const auto in_a_branch = [](Tensor u) {
    const Tensor a = cond(
        sum(u) > 0, [](Tensor v) { return roll(stop_gradient(v)); }, [](Tensor v) { return v * 2; }, u);
    Tensor y = u;
    for (int i = 0; i < 6; ++i) y = sin(y * 1.5) + cos(y);
    return sum(y * a) + sum(exp(a));
  };
  expect_rolls(1, in_a_branch, x);
  const auto in_a_loop = [](Tensor u) {
    const Tensor a = repeat(
        3, [](Tensor v) { return roll(v); }, u);
    Tensor y = u;
    for (int i = 0; i < 6; ++i) y = sin(y * 1.5) + cos(y);
    return sum(y * a) + sum(exp(a));
  };
  expect_rolls(3, in_a_loop, x);
}

TEST(RunOnce, HoldsInTheGradientOfALoop) {
  const Tensor x = full({64}, 0.5f);
  const auto looped = [](Tensor u) {
    return sum(repeat(10, [](Tensor v) { return sin(roll(v)); }, u, {.memory = Bytes(600)}));
  };
  expect_rolls(10, grad(looped), x);
}

TEST(RunOnce, IsAnErrorWhereAGradientWouldRunItAgain) {
  const Tensor x = full({8}, 0.5f);
  const auto expect_refused = [&](const auto& f) {
    try {
      compile(grad(f))(x);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_differentiable);
      EXPECT_THAT(error.what(), testing::HasSubstr("dice may run only once"));
      EXPECT_THAT(error.what(), testing::HasSubstr("run_once_test.cc"));
    }
  };
  expect_refused([](Tensor u) {
    return sum(cond(
        sum(u) > 0, [](Tensor v) { return exp(roll(v)); }, [](Tensor v) { return v; }, u));
  });
  expect_refused([](Tensor u) {
    return sum(while_loop([](Tensor v) { return sum(v) < 100; }, [](Tensor v) { return exp(roll(v)); }, u));
  });
  // What no gradient depends on is not run again.
  const auto unread = [](Tensor u) {
    return sum(cond(
        sum(u) > 0, [](Tensor v) { return v + roll(v); }, [](Tensor v) { return v; }, u));
  };
  rolls = 0;
  compile(grad(unread))(x);
  EXPECT_LE(rolls, 1);
}

}  // namespace
}  // namespace tidemark
