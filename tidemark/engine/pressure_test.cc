// Budgets that change between calls: plans for each are kept, nothing is traced anew, memory is given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/sanitized.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;

struct Deep {
  std::vector<Tensor> weights;
  TM_FIELDS(Deep, weights)
};
Deep deep_net() {
  Deep net;
  for (int i = 0; i < 8; ++i) net.weights.push_back(random_normal(key(i), {64, 64}, 0, 0.1));
  return net;
}
Tensor deep_loss(const Deep& net, Tensor x) {
  for (const Tensor& w : net.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}
Tensor deep_batch() { return random_normal(key(99), {1024, 64}); }

TEST(Pressure, ASmallerBudgetIsKeptWithTheSameBitsAndWithoutTracing) {
  const Deep net = deep_net();
  const Tensor x = deep_batch();
  int traces = 0;
  const auto counted = [&](const Deep& n, const Tensor& in) {
    ++traces;
    return deep_loss(n, in);
  };
  const auto free = compile(grad(deep_loss));
  const std::vector<double> expected = free(net, x).weights[0].to_vector();
  const Bytes most = free.plan().peak(), less(most.count * 7 / 10);
  const auto step = compile(grad(counted), {.memory = most, .effort = 0.1});
  EXPECT_EQ(step(net, x).weights[0].to_vector(), expected);
  const int traced = traces;
  const Bytes arena = step.memory_report().arena;
  EXPECT_GT(arena, less - Bytes(free.plan().plan.input_bytes));

  step.set_memory(less);
  EXPECT_EQ(step.memory_report().arena, 0_B) << "given back at once";
  for (int run = 0; run < 2; ++run) EXPECT_EQ(step(net, x).weights[0].to_vector(), expected);
  EXPECT_LE(step.plan().peak(), less);
  EXPECT_LT(step.memory_report().arena, arena);
  EXPECT_EQ(step.memory_report().budget, less);
  EXPECT_EQ(traces, traced) << "planned anew, not traced anew";

  const int plans = static_cast<int>(step.memory_report().plans);
  for (const Bytes budget : {most, less, most}) {
    step.set_memory(budget);
    EXPECT_EQ(step(net, x).weights[0].to_vector(), expected);
    EXPECT_LE(step.plan().peak(), budget);
  }
  EXPECT_EQ(static_cast<int>(step.memory_report().plans), plans) << "both were kept";
  EXPECT_EQ(traces, traced);
}

TEST(Pressure, ResultsThatAreHeldStayWhatTheyAre) {
  const Deep net = deep_net();
  const Tensor x = deep_batch();
  const auto free = compile(grad(deep_loss));
  (void)free.prepare(net, x);
  const Bytes most(free.plan().peak().count * 2);
  const auto step = compile(grad(deep_loss), {.memory = most, .effort = 0.1});
  const Deep held = step(net, x);
  step.set_memory(Bytes(most.count - 1));
  EXPECT_EQ(held.weights[7].to_vector(), free(net, x).weights[7].to_vector());
  EXPECT_EQ(step(net, x).weights[7].to_vector(), held.weights[7].to_vector());
}

TEST(Pressure, TooLittleIsAnErrorAndTheFormerBudgetCanComeBack) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Deep net = deep_net();
  const Tensor x = deep_batch();
  const auto step = compile(grad(deep_loss), {.memory = 8_MiB, .effort = 0.1});
  const std::vector<double> expected = step(net, x).weights[0].to_vector();
  step.set_memory(100_KiB);
  EXPECT_EQ(code_of([&] { (void)step(net, x); }), ErrorCode::infeasible_budget);
  step.set_memory(8_MiB);
  EXPECT_EQ(step(net, x).weights[0].to_vector(), expected);
  EXPECT_EQ(code_of([&] { step.set_memory(0_B); }), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of([&] { step.set_memory(Bytes(-1)); }), ErrorCode::bad_plan_option);
  EXPECT_EQ(step(net, x).weights[0].to_vector(), expected) << "a budget that is none changes nothing";
  const auto unlimited = compile(grad(deep_loss));
  EXPECT_EQ(code_of([&] { unlimited.set_memory(8_MiB); }), ErrorCode::bad_plan_option);
}

TEST(Pressure, WhatIsLeftIsAskedBeforeEveryCall) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Deep net = deep_net();
  const Tensor x = deep_batch();
  const auto free = compile(grad(deep_loss));
  const std::vector<double> expected = free(net, x).weights[0].to_vector();
  const Bytes most = free.plan().peak();
  std::int64_t left = most.count;
  const auto step =
      compile(grad(deep_loss), {.memory = most, .memory_left = [&] { return Bytes(left); }, .effort = 0.1});
  for (const double share : {1.0, 0.95, 0.7, 0.72, 0.9, 5.0}) {
    left = static_cast<std::int64_t>(share * static_cast<double>(most.count));
    EXPECT_EQ(step(net, x).weights[0].to_vector(), expected) << share;
    EXPECT_LE(step.plan().peak().count, std::min(left, most.count)) << share;
    EXPECT_GE(step.memory_report().budget.count, std::min(left, most.count) * 7 / 8 - 8) << share;
  }
  EXPECT_LE(step.memory_report().plans, 4u) << "few budgets serve many figures";
  left = 0;
  EXPECT_EQ(code_of([&] { (void)step(net, x); }), ErrorCode::infeasible_budget);
  EXPECT_EQ(code_of([&] { (void)compile(grad(deep_loss), {.memory_left = [] { return 1_MiB; }})(net, x); }),
            ErrorCode::bad_plan_option);
}

TEST(Pressure, WhatIsLeftDoesNotUndoABudgetThatWasSet) {
  const Deep net = deep_net();
  const Tensor x = deep_batch();
  const auto free = compile(grad(deep_loss));
  (void)free.prepare(net, x);
  const Bytes most = free.plan().peak(), less(most.count * 7 / 10);
  const auto step =
      compile(grad(deep_loss), {.memory = most, .memory_left = [] { return 1_GiB; }, .effort = 0.1});
  (void)step(net, x);
  step.set_memory(less);
  (void)step(net, x);
  EXPECT_LE(step.plan().peak(), less);
  EXPECT_EQ(step.memory_report().budget, less);
}

TEST(Pressure, ThreadsMayCallWhileTheBudgetChanges) {
  const Deep net = deep_net();
  const Tensor x = deep_batch();
  const auto free = compile(grad(deep_loss));
  const std::vector<double> expected = free(net, x).weights[0].to_vector();
  const Bytes most(free.plan().peak().count * 3), less(most.count - 4096);
  const auto step = compile(grad(deep_loss), {.memory = most, .effort = 0.1});
  (void)step.prepare(net, x);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int run = 0; run < 4; ++run) wrong += step(net, x).weights[0].to_vector() != expected;
    });
  }
  for (int k = 0; k < 20; ++k) step.set_memory(k % 2 ? most : less);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pressure, LargestBatchesAreReservedAnew) {
  const Deep net = deep_net();
  const auto free = compile(grad(deep_loss));
  (void)free.prepare(net, deep_batch());
  const Bytes most = free.plan().peak(), less(most.count * 8 / 10);
  const auto step = compile(grad(deep_loss), {.memory = most, .effort = 0.1, .max_batch = 1024});
  const Tensor few = random_normal(key(5), {100, 64});
  const std::vector<double> expected = free(net, few).weights[0].to_vector();
  EXPECT_EQ(step(net, few).weights[0].to_vector(), expected);
  step.set_memory(less);
  EXPECT_EQ(step(net, few).weights[0].to_vector(), expected);
  (void)step(net, deep_batch());
  EXPECT_LE(step.plan().peak(), less);
}

}  // namespace
}  // namespace tidemark
