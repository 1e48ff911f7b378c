// Planning as the caller of compile sees it: a limit in time, progress, and a way to end it.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using namespace std::chrono_literals;

Tensor loss(Tensor w, Tensor x) {
  for (int i = 0; i < 6; ++i) x = tanh(matmul(x, w)) * x;
  return mean(square(x));
}
const Tensor w = eye(16) * 0.9, x = ones({64, 16});

TEST(Planning, TakesALimitInTime) {
  const auto free = compile(grad(loss));
  const Bytes budget(free.prepare(w, x).peak().count * 9 / 10);
  const auto step = compile(grad(loss), {.memory = budget, .effort = 1s});
  EXPECT_LE(step.prepare(w, x).peak(), budget);
  EXPECT_EQ(step(w, x).to_vector(), free(w, x).to_vector());
  const auto none = compile(grad(loss), {.memory = 100_B, .effort = 50ms});
  EXPECT_THROW(none.prepare(w, x), InfeasibleBudget);
  EXPECT_GT(compile(grad(loss), {.effort = 50ms}).smallest(w, x).memory, 100_B);
  EXPECT_FALSE(compile(grad(loss), {.effort = 50ms}).frontier(w, x).empty());  // how many, time tells
}

TEST(Planning, RefusesALimitOfNothing) {
  try {
    compile(grad(loss), {.effort = 0s}).prepare(w, x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
  }
}

TEST(Planning, TellsItsProgressUpToTheEnd) {
  std::vector<double> seen;
  const auto watch = [&](const PlanProgress& p) {
    seen.push_back(p.done);
    return true;
  };
  const auto step = compile(grad(loss), {.memory = 100_B, .progress = watch});
  EXPECT_THROW(step.prepare(w, x), InfeasibleBudget);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  seen.clear();
  compile(grad(loss), {.progress = watch}).prepare(w, x);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), 1);
}

TEST(Planning, EndsWhenItIsToldToAndBeginsAnewAtTheNextCall) {
  int calls = 0;
  bool wanted = false;
  const auto step = compile(grad(loss), {.progress = [&](const PlanProgress&) { return ++calls, wanted; }});
  EXPECT_THROW(step(w, x), PlanningStopped);
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(step(w, x), PlanningStopped);
  wanted = true;
  EXPECT_EQ(step(w, x).to_vector(), compile(grad(loss))(w, x).to_vector());
}

TEST(Planning, EndsWhenAnotherThreadAsksForIt) {
  std::stop_source source;
  const auto step = compile(grad(loss), {.memory = 100_B, .stop = source.get_token()});
  std::thread([&] { source.request_stop(); }).join();
  EXPECT_THROW(step.prepare(w, x), PlanningStopped);
}

}  // namespace
}  // namespace tidemark
