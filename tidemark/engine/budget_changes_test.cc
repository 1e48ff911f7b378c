// What the error of a budget that is too small proposes, and what more memory is said to save, tried out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/tanh_net.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using testing::tanh_loss;
using testing::TanhNet;

TanhNet changed_net() { return testing::tanh_net(8, 64); }
Tensor changed_batch() { return testing::tanh_batch(4096, 64); }

// What stands between two texts of the message.
std::string between(const std::string& message, const std::string& first, const std::string& last) {
  const std::size_t begin = message.find(first);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + first.size();
  return message.substr(from, message.find(last, from) - from);
}

TEST(BudgetChanges, MicroBatchesAndADiskThatAreProposedFit) {
  const ScratchFolder folder;
  const TanhNet net = changed_net();
  const Tensor x = changed_batch();
  // Nothing is to run again, so that much less than is free does not fit.
  const Bytes free = compile(grad(tanh_loss)).prepare(net, x).peak(), budget(free.count / 2);
  const auto step = compile(grad(tanh_loss), {.memory = budget, .allow = {Choice::keep}, .effort = 0.1});
  const auto planned = step.try_prepare(net, x);
  ASSERT_FALSE(planned);
  const std::string message = planned.error().what();

  const std::string count = between(message, "computing the batch in ", " micro-batches");
  ASSERT_NE(count, "") << message;
  const auto parts =
      compile(grad(tanh_loss),
              {.memory = budget, .allow = {Choice::split}, .effort = 0.1, .accumulate = std::stoll(count)});
  EXPECT_LE(parts.prepare(net, x).peak(), budget);

  const std::string bytes = between(message, "allowing ", " of disk");
  ASSERT_NE(bytes, "") << message;
  const auto moving = compile(grad(tanh_loss), {.memory = budget,
                                                .disk = {{folder.path(), parse_bytes(bytes)}},
                                                .allow = {Choice::disk},
                                                .effort = 0.1});
  EXPECT_LE(moving.prepare(net, x).peak(), budget);
  EXPECT_THAT(message, HasSubstr("allowing recompute fits"));
  EXPECT_TRUE(compile(grad(tanh_loss), {.memory = budget, .allow = {Choice::recompute}, .effort = 0.1})
                  .try_prepare(net, x));
}

TEST(BudgetChanges, WhatCannotBeCutIsNotProposedInMicroBatches) {
  // Each example sees the mean of all.
  const auto mixed = [](const TanhNet& net, Tensor x) {
    for (const Tensor& w : net.weights) {
      const Tensor y = tanh(matmul(x, w));
      x = y - mean(y, {0}, true);
    }
    return mean(square(x));
  };
  const auto step = compile(grad(mixed), {.memory = 2_MiB, .effort = 0.1});
  const auto planned = step.try_prepare(changed_net(), changed_batch());
  ASSERT_FALSE(planned);
  EXPECT_THAT(planned.error().what(), ::testing::Not(HasSubstr("micro-batches")));
}

// A value waits while a loop of many steps runs, so that the loop has room for one state, and computes all
// others again from it, time and again. Elsewhere it leaves the loop room for more.
TEST(BudgetChanges, WhatAnotherMemoryIsSaidToCostIsWhatItCosts) {
  const ScratchFolder folder;
  const auto loss = [](const Tensor& w, const Tensor& x) {
    const Tensor waits = keep(exp(concat(std::vector<Tensor>(16, matmul(x, w)), 0)));
    const auto step = [&](Tensor g) { return tanh(matmul(g, w)) + gelu(g) * 0.1; };
    return mean(waits * mean(square(repeat(400, step, x))));
  };
  const Tensor w = random_normal(key(1), {32, 32}, 0, 0.1), x = random_normal(key(2), {256, 32});
  const auto f = grad(loss);
  const Bytes budget = compile(f).smallest(w, x).memory - 16_KiB;
  const auto planned = compile(f, {.memory = budget}).try_prepare(w, x);
  ASSERT_FALSE(planned);
  const std::string message = planned.error().what();
  const std::string bytes = between(message, "allowing ", " of disk");
  ASSERT_NE(bytes, "") << message;
  const double told = std::stod(between(message.substr(message.find("of disk")), ", +", "% time"));
  const auto moving = compile(f, {.memory = budget, .disk = {{folder.path(), parse_bytes(bytes)}}});
  const double free = compile(f).prepare(w, x).plan.seconds;
  const double extra = 100 * (moving.prepare(w, x).plan.seconds / free - 1);
  EXPECT_LT(told, 200) << message;
  EXPECT_LT(extra, 1.05 * told) << message;
}

TEST(MemoryPrices, AreTheDifferenceOfPlansAndTheSameEachTime) {
  const ScratchFolder folder;
  const TanhNet net = changed_net();
  const Tensor x = changed_batch();
  const Bytes free = compile(grad(tanh_loss)).prepare(net, x).peak();
  const auto at = [&](Bytes memory, Bytes disk) {
    return compile(grad(tanh_loss), {.memory = memory, .disk = {{folder.path(), disk}}, .effort = 0.1});
  };
  const auto tight = at(Bytes(free.count * 6 / 10), 64_KiB);
  const std::vector<MemoryPrice> prices = tight.prices(net, x), again = tight.prices(net, x);
  ASSERT_EQ(prices.size(), 2u);
  EXPECT_EQ(prices[0].memory, "ram");
  EXPECT_EQ(prices[0].more.count, free.count * 6 / 10 / 16);
  EXPECT_EQ(prices[1].memory, "disk");
  EXPECT_EQ(prices[1].more, 4_KiB);
  EXPECT_GT(prices[0].seconds_saved, 0);
  EXPECT_LT(prices[0].seconds_saved, prices[0].seconds);
  for (std::size_t k = 0; k < prices.size(); ++k) {
    EXPECT_GE(prices[k].seconds_saved, 0);
    EXPECT_EQ(prices[k].seconds_saved, again[k].seconds_saved);
  }
  EXPECT_THAT(to_text(prices), HasSubstr("more of ram saves"));
  // Where everything fits, more of it saves nothing.
  for (const MemoryPrice& price : at(Bytes(2 * free.count), 64_KiB).prices(net, x))
    EXPECT_EQ(price.seconds_saved, 0);
}

TEST(MemoryPrices, NeedABudgetThatCanBeMet) {
  const TanhNet net = changed_net();
  const Tensor x = changed_batch();
  EXPECT_EQ(code_of([&] { (void)compile(grad(tanh_loss)).prices(net, x); }), ErrorCode::bad_plan_option);
  EXPECT_EQ(
      code_of([&] { (void)compile(grad(tanh_loss), {.memory = 64_KiB, .effort = 0.1}).prices(net, x); }),
      ErrorCode::infeasible_budget);
}

}  // namespace
}  // namespace tidemark
