// Results that the caller still holds when a function is called again count beside its plan, and never
// silently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

Tensor doubled(const Tensor& x) { return exp(x) + 1; }
const Tensor x = full({4000}, 0.5);

// A budget that the function just fits in.
template <class F, class... Args>
Bytes just_enough(const F& f, const Args&... args) {
  return compile(f).prepare(types_of(args)...).peak();
}

TEST(HeldResults, ACallThatWouldExceedTheBudgetWithThemIsRefused) {
  const Bytes budget = just_enough(doubled, x);
  const auto f = compile(doubled, {.memory = budget});
  Tensor held = f(x);
  try {
    held = f(x);
    FAIL() << "more than the budget was held, silently";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::infeasible_budget);
    EXPECT_THAT(error.what(), HasSubstr("1 result of an earlier call is still held, 15.62 KiB"));
    EXPECT_THAT(error.what(), HasSubstr("held_results_test.cc:"));
    EXPECT_THAT(error.what(), HasSubstr("too much: 16000 bytes"));
  }
  EXPECT_EQ(held.to_vector(), doubled(x).to_vector()) << "nothing is lost";
  held = {};
  held = f(x);
  EXPECT_EQ(held.to_vector(), doubled(x).to_vector());
}

TEST(HeldResults, CopiesAndPointersHoldThemToo) {
  const auto f = compile(doubled, {.memory = just_enough(doubled, x)});
  std::vector<Tensor> all;
  {
    const Tensor result = f(x);
    (void)result.data<float>();  // moves it out of the arena
    all.push_back(result);
  }
  EXPECT_THROW(f(x), Error);
  all.clear();
  EXPECT_NO_THROW(f(x));
}

TEST(HeldResults, ArgumentsOfTheCallAreCountedOnce) {
  const auto f = compile(doubled, {.memory = just_enough(doubled, x)});
  Tensor state = x;
  for (int i = 0; i < 3; ++i) {
    const Tensor before = std::move(state);
    state = f(before);  // before, the last result, is the argument
  }
  EXPECT_EQ(state.to_vector(), doubled(doubled(doubled(x))).to_vector());
}

TEST(HeldResults, StateInDonatedMemoryIsNoResultBesideThePlan) {
  const auto step = [](Tensor s) { return s * 0.5; };
  const auto f = compile(step, {.memory = Bytes(x.type().bytes()), .donate = {0}});
  Tensor state = x + 0;
  for (int i = 0; i < 3; ++i) state = f(state);
  EXPECT_EQ(state.at(0).item(), 0.0625);
}

TEST(HeldResults, SmallOnesAreTheCallersOwn) {
  const auto total = [](Tensor v) { return sum(exp(v)); };
  const auto f = compile(total, {.memory = just_enough(total, x)});
  std::vector<Tensor> losses;
  for (int i = 0; i < 100; ++i) losses.push_back(f(x));
  EXPECT_EQ(losses.front().item(), losses.back().item());
  EXPECT_EQ(f.memory_report().results, 0);
}

TEST(HeldResults, ThePlanLeavesRoomForThoseThatWereAnnounced) {
  const auto deep = [](Tensor w, Tensor in) {
    for (int i = 0; i < 6; ++i) in = tanh(matmul(in, w));
    return mean(square(in));
  };
  const Tensor w = full({32, 32}, 0.01), in = full({256, 32}, 0.5);
  const auto both = [&](Tensor v, Tensor u) { return grad<0, 1>(deep)(v, u); };
  const Bytes budget = just_enough(both, w, in);
  const std::int64_t results = w.type().bytes() + in.type().bytes() - w.type().bytes();  // 4 KiB are small
  for (int held : {0, 1}) {
    const auto f = compile(both, {.memory = budget, .effort = 0.05, .held_results = held});
    EXPECT_LE(f.prepare(types_of(w), types_of(in)).peak().count, budget.count - held * results);
    auto result = f(w, in);
    if (held == 0) continue;
    for (int i = 0; i < 3; ++i) result = f(w, in);
    const auto expected = both(w, in);
    EXPECT_EQ(std::get<0>(result).to_vector(), std::get<0>(expected).to_vector());
    EXPECT_EQ(f.plan().plan.budget, budget.count);
  }
}

TEST(HeldResults, AreShownWithoutABudget) {
  const auto f = compile(doubled);
  std::vector<Tensor> held;
  for (int i = 0; i < 3; ++i) held.push_back(f(x));
  const FunctionMemory report = f.memory_report();
  EXPECT_EQ(report.results, 3);
  EXPECT_EQ(f.plan().handed_out().count, x.type().bytes());
  EXPECT_THAT(f.plan().summary(), HasSubstr("handed out        15.62 KiB by each call"));
  EXPECT_EQ(report.held_results.count, 3 * x.type().bytes());
  EXPECT_EQ(report.results_in_arena.count, x.type().bytes());
  EXPECT_THAT(report.text(), HasSubstr("results held      3, 46.88 KiB"));
  held.clear();
  EXPECT_EQ(f.memory_report().results, 0);
}

}  // namespace
}  // namespace tidemark
