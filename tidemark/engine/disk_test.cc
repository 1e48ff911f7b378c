// Budgets with a disk, as a user has them: the bits, the budget, the files, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using testing::ScratchFolder;

struct Net {
  std::vector<Tensor> weights;
  TM_FIELDS(Net, weights)
};
Tensor loss(const Net& net, Tensor x) {
  for (const Tensor& w : net.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}

Net net() {
  Net made;
  for (int i = 0; i < 8; ++i) made.weights.push_back(random_normal(key(i), {256, 256}, 0, 0.1));
  return made;
}
Tensor batch() { return random_normal(key(99), {2048, 256}); }

bool moves(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) { return step.kind == StepKind::copy; });
}

constexpr Bytes budget = 14_MiB;

TEST(Disk, GradientsHaveTheSameBitsAndTheBudgetIsKept) {
  const ScratchFolder folder;
  const auto free = compile(value_and_grad(loss));
  const auto step =
      compile(value_and_grad(loss), {.memory = budget, .disk = {{folder.path(), 1_GiB}}, .effort = 0.1});
  const Net n = net();
  const Tensor x = batch();
  const auto [value, gradient] = free(n, x);
  for (int run = 0; run < 3; ++run) {
    const auto [same_value, same_gradient] = step(n, x);
    EXPECT_EQ(value.to_vector(), same_value.to_vector());
    for (std::size_t i = 0; i < n.weights.size(); ++i)
      EXPECT_EQ(gradient.weights[i].to_vector(), same_gradient.weights[i].to_vector()) << i;
  }
  const Plan& plan = step.plan().plan;
  EXPECT_TRUE(moves(plan)) << step.plan().summary();
  EXPECT_LE(step.plan().peak(), budget);
  EXPECT_EQ(step.arena_high_water().count, plan.arena_bytes);
  EXPECT_EQ(step.memory_report().disk.count, plan.further[0].arena_bytes);
  EXPECT_THAT(step.plan().summary(), ::testing::HasSubstr("disk"));
  // Recomputing alone, for the same budget.
  const auto recomputing = compile(value_and_grad(loss), {.memory = budget, .effort = 0.1});
  (void)recomputing(n, x);
  EXPECT_LT(plan.seconds, recomputing.plan().plan.seconds);
}

TEST(Disk, CompressedOrNotTheBitsAreTheSameAndTheReportSaysWhatWasMoved) {
  const ScratchFolder folder;
  const Net even{std::vector<Tensor>(8, eye(256) * 0.9)};
  const auto run = [&](const Net& n, const Tensor& x, DiskCompression way, int runs) {
    const auto expected = compile(grad(loss))(n, x).weights[3].to_vector();
    const DiskBudget disk{.folder = folder.path(), .bytes = 1_GiB, .compress = way};
    const auto step = compile(grad(loss), {.memory = budget, .disk = disk, .effort = 0.1});
    for (int r = 0; r < runs; ++r) EXPECT_EQ(step(n, x).weights[3].to_vector(), expected);
    const FunctionMemory memory = step.memory_report();
    EXPECT_GT(memory.disk_values.count, 0);
    EXPECT_EQ(memory.disk_values.count % runs, 0) << "every run moves the same values";
    EXPECT_EQ(memory.disk.count, step.plan().plan.further[0].arena_bytes) << "reserved as without";
    EXPECT_THAT(memory.text(), ::testing::HasSubstr("disk moved"));
    return memory;
  };
  const FunctionMemory plain = run(even, ones({2048, 256}), DiskCompression::none, 1);
  EXPECT_EQ(plain.disk_moved, plain.disk_values);
  const FunctionMemory compressed = run(even, ones({2048, 256}), DiskCompression::always, 2);
  EXPECT_LT(8 * compressed.disk_moved.count, compressed.disk_values.count);
  const FunctionMemory numbers = run(net(), batch(), DiskCompression::always, 1);
  EXPECT_LE(numbers.disk_moved, numbers.disk_values);
  const FunctionMemory tried = run(net(), batch(), DiskCompression::automatic, 8);  // until it has settled
  EXPECT_LE(tried.disk_moved, tried.disk_values);
  EXPECT_TRUE(folder.empty());
}

TEST(Disk, TheSmallestBudgetCanBeAskedForWithoutOneAndIsAccepted) {
  const ScratchFolder folder;
  const Net n = net();
  const Tensor x = batch();
  const Choices once = {Choice::keep}, moving = {Choice::disk};
  const Bytes kept = compile(grad(loss), {.allow = once, .effort = 0.1}).smallest(n, x).memory;
  const CompileOptions options{.disk = {{folder.path(), 1_GiB}}, .allow = moving, .effort = 0.1};
  const Bytes least = compile(grad(loss), options).smallest(n, x).memory;
  EXPECT_LT(3 * least.count, 2 * kept.count);
  EXPECT_EQ(code_of([&] { (void)compile(grad(loss), options)(n, x); }), ErrorCode::bad_plan_option)
      << "what runs needs a budget";
  CompileOptions within = options;
  within.memory = least;
  const auto step = compile(grad(loss), within);
  EXPECT_EQ(step(n, x).weights[0].to_vector(), compile(grad(loss))(n, x).weights[0].to_vector());
  EXPECT_LE(step.plan().peak(), least);
}

TEST(Disk, LeavesNoFilesThatHaveNames) {
  const ScratchFolder folder;
  {
    const auto step =
        compile(grad(loss), {.memory = budget, .disk = {{folder.path(), 1_GiB}}, .effort = 0.1});
    (void)step(net(), batch());
    ASSERT_TRUE(moves(step.plan().plan));
    EXPECT_TRUE(folder.empty());
  }
  EXPECT_TRUE(folder.empty());
}

TEST(Disk, FunctionsOfSeveralThreadsHaveFilesOfTheirOwn) {
  const ScratchFolder folder;
  const Net n = net();
  const Tensor x = batch();
  const auto expected = compile(grad(loss))(n, x).weights[0].to_vector();
  std::vector<std::thread> threads;
  std::vector<int> wrong(3, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto own =
          compile(grad(loss), {.memory = budget, .disk = {{folder.path(), 1_GiB}}, .effort = 0.1});
      for (int run = 0; run < 2; ++run) wrong[t] += own(n, x).weights[0].to_vector() != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0}));
}

TEST(Disk, WhatCannotBeUsedIsRefused) {
  const auto with = [](std::optional<Bytes> memory, DiskBudget disk) {
    return [=] { (void)compile(grad(loss), {.memory = memory, .disk = disk})(net(), batch()); };
  };
  EXPECT_EQ(code_of(with({}, {"/tmp", 1_GiB})), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with(budget, {"/tmp", 0_B})), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with(budget, {"/no/such/folder", 1_GiB})), ErrorCode::bad_file);
  EXPECT_EQ(code_of(with(budget, {"/dev/null", 1_GiB})), ErrorCode::bad_file);
}

}  // namespace
}  // namespace tidemark
