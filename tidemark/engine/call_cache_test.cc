#include "tidemark/engine/call_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using namespace literals;

TEST(CallCache, StaysWithinItsLimitOverManyShapes) {
  int traces = 0;
  const auto f = compile(
      [&](Tensor x) {
        ++traces;
        return sum(tanh(x) * 2);
      },
      {.cache = 100_KiB});
  for (int n = 1; n <= 150; ++n) {
    EXPECT_EQ(f(zeros({n})).item(), 0);
    ASSERT_LE(f.memory_report().cached(), 100_KiB);
  }
  const FunctionMemory report = f.memory_report();
  EXPECT_GT(report.plans, 3u);
  EXPECT_LT(report.plans, 100u);
  EXPECT_EQ(report.plans + static_cast<std::size_t>(report.evicted), 150u);
  EXPECT_EQ(traces, 150);
}

TEST(CallCache, TheLeastRecentlyUsedGoFirst) {
  int traces = 0;
  const auto f = compile(
      [&](Tensor x) {
        ++traces;
        return x + 1;
      },
      {.cache = 60_KiB});
  const Tensor often = zeros({3});
  for (int n = 10; n < 60; ++n) {
    f(zeros({n}));
    f(often);
  }
  EXPECT_EQ(traces, 51) << "what is used often is traced once";
  EXPECT_GT(f.memory_report().evicted, 0);
  f(zeros({10}));
  EXPECT_EQ(traces, 52) << "what was dropped is traced again";
}

TEST(CallCache, TheLatestCallIsKeptHoweverLarge) {
  int traces = 0;
  const auto f = compile(
      [&](Tensor x) {
        ++traces;
        return x + 1;
      },
      {.cache = 0_B});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(zeros({3})).count(), 3);
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(f.memory_report().plans, 1u);
}

TEST(CallCache, APlanInHandOutlivesItsPlaceInTheCache) {
  const auto f = compile([](Tensor x) { return x + 1; }, {.cache = 0_B});
  const PlannedGraph first = f.prepare(zeros({3}));
  f(zeros({4}));
  EXPECT_EQ(f.memory_report().plans, 1u);
  EXPECT_EQ(first.graph.type(first.graph.outputs()[0]).shape, (Shape{3}));
  EXPECT_THAT(first.summary(), HasSubstr("peak"));
}

TEST(CallCache, VariantsOfOneSetOfTypesAreBounded) {
  Tensor factor = scalar(0);
  const auto f = compile([&](Tensor x) { return x * factor.item(); });
  for (int i = 0; i < 30; ++i) {
    factor = scalar(i);
    EXPECT_EQ(f(scalar(2)).item(), 2 * i);
  }
  EXPECT_LE(f.memory_report().plans, 8u);
}

TEST(CallCache, ForgettingBeginsAnew) {
  double factor = 2;  // a C++ number: fixed by the trace
  const auto f = compile([&](Tensor x) { return x * factor; });
  EXPECT_EQ(f(scalar(3)).item(), 6);
  factor = 5;
  EXPECT_EQ(f(scalar(3)).item(), 6);
  f.forget();
  EXPECT_EQ(f(scalar(3)).item(), 15);
}

TEST(MemoryReport, ListsEveryCompiledFunctionThereIs) {
  const std::size_t others = memory_report().functions.size();
  const auto f = compile([](Tensor x) { return exp(x) + 1; }, {.memory = 1_MiB});
  const Tensor held = f(zeros({4000}));
  {
    const auto g = compile([](Tensor x) { return x; });
    EXPECT_EQ(memory_report().functions.size(), others + 2);
  }
  const MemoryReport report = memory_report();
  ASSERT_EQ(report.functions.size(), others + 1);
  const FunctionMemory& mine = report.functions.back();
  EXPECT_EQ(mine.budget, 1_MiB);
  EXPECT_EQ(mine.arena.count, f.plan().plan.arena_bytes);
  EXPECT_EQ(mine.peak, f.plan().peak());
  EXPECT_EQ(mine.calls, 1u);
  EXPECT_GT(mine.graphs.count, 0);
  EXPECT_GT(mine.plan_bytes.count, 0);
  EXPECT_GT(mine.kernels.count, 0);
  EXPECT_THAT(report.text(), HasSubstr("call_cache_test.cc:"));
  EXPECT_THAT(report.text(), HasSubstr("in all"));
}

}  // namespace
}  // namespace tidemark
