#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::HasSubstr;

struct Deep {
  std::vector<Tensor> weights;
  TM_FIELDS(Deep, weights)
};
Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency) * 0.1;
}
Deep deep(int layers = 4, std::int64_t width = 16) {
  Deep p;
  for (int i = 0; i < layers; ++i) p.weights.push_back(waves({width, width}, 0.3 + i));
  return p;
}
Tensor loss(const Deep& p, Tensor x, Tensor y) {
  for (const Tensor& w : p.weights) x = tanh(matmul(x, w));
  return mean(square(x - y));
}
// Every test's: effort is what the time goes into.
constexpr Effort little = 0.005;
const Tensor x = waves({256, 16}, 0.7), y = waves({256, 16}, 0.9);

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InfeasibleBudget& error) {
    return error.what();
  }
  return "";
}

TEST(Budget, GivesTheBitsOfTheRunWithoutOne) {
  const Deep p = deep();
  const auto free = compile(value_and_grad(loss), {.effort = little});
  const auto [free_value, free_gradient] = free(p, x, y);
  const std::int64_t smallest = free.smallest(p, x, y).memory.count, peak = free.plan().peak().count;
  ASSERT_LT(smallest, peak);
  for (int k = 0; k <= 4; ++k) {
    const Bytes memory(smallest + (peak - smallest) * k / 4);
    const auto step = compile(value_and_grad(loss), {.memory = memory, .effort = little});
    const auto [value, gradient] = step(p, x, y);
    EXPECT_LE(step.plan().peak(), memory);
    EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
    EXPECT_EQ(value.item(), free_value.item());
    for (std::size_t i = 0; i < p.weights.size(); ++i)
      EXPECT_EQ(gradient.weights[i].to_vector(), free_gradient.weights[i].to_vector());
    EXPECT_THAT(step.plan().summary(), HasSubstr(to_string(memory)));
  }
}

TEST(Budget, CountsArgumentsStateAndCaptures) {
  const Tensor captured = waves({1000}, 0.1);
  const auto f = [captured](Tensor a) { return sum(a * captured); };
  const auto step = compile(f);
  EXPECT_EQ(step.prepare(waves({1000}, 0.2)).plan.input_bytes, 8000);
  const auto tight = compile(f, {.memory = 8000_B});
  EXPECT_THROW(tight(waves({1000}, 0.2)), InfeasibleBudget);
}

TEST(Budget, TooSmallIsAnErrorAtTheCallersLineWithChangesThatFit) {
  const Deep p = deep();
  const SmallestBudget smallest = compile(value_and_grad(loss), {.effort = little}).smallest(p, x, y);
  EXPECT_LE(smallest.bound, smallest.memory);
  const int line = __LINE__ + 1;
  const auto step = compile(value_and_grad(loss), {.memory = smallest.bound - 1_B, .effort = little});
  const std::string message = message_of([&] { step(p, x, y); });
  EXPECT_THAT(message, HasSubstr("error[TM0101]"));
  EXPECT_THAT(message, HasSubstr(fmt::format("budget_test.cc:{}", line)));
  EXPECT_THAT(message, HasSubstr("peak: "));
  EXPECT_THAT(message, HasSubstr("batch 256 → "));
  const auto fits = compile(value_and_grad(loss), {.memory = smallest.memory, .effort = little});
  EXPECT_EQ(message_of([&] { fits(p, x, y); }), "");
}

TEST(Budget, ProposesToDonateWhatAResultCouldOverwrite) {
  const auto step = compile([](Tensor a) { return tanh(a); }, {.memory = 6000_B});
  const std::string message = message_of([&] { step(waves({1000}, 0.1)); });
  EXPECT_THAT(message, HasSubstr("batch 1000 → 7"));
  EXPECT_THAT(message, HasSubstr("donating argument 0 fits (3.91 KiB)"));
}

TEST(Budget, EveryProposedBatchIsOneThatFits) {
  const Deep p = deep();
  const auto step = compile(value_and_grad(loss), {.memory = 50_KiB, .effort = little});
  const std::string message = message_of([&] { step(p, x, y); });
  const auto at = message.find("256 → ");
  ASSERT_NE(at, std::string::npos) << message;
  const std::int64_t batch = std::stoll(message.substr(at + std::string("256 → ").size()));
  EXPECT_GT(batch, 1);
  EXPECT_LE(step.prepare(p, waves({batch, 16}, 1), waves({batch, 16}, 2)).peak(), 50_KiB);
}

TEST(Budget, CanBeAskedForWithoutThrowingAndFromTypesAlone) {
  const Tensor huge = Tensor::of_type({DType::f32, {1 << 20, 1 << 10}});  // 4 GiB that nobody has
  const auto f = compile([](Tensor a) { return sum(tanh(a * a)); }, {.memory = 12_GiB});
  const auto planned = f.try_prepare(huge);
  ASSERT_TRUE(planned.ok());
  EXPECT_LE(planned.value().peak(), 12_GiB);
  const auto tight = compile([](Tensor a) { return sum(tanh(a * a)); }, {.memory = 1_GiB});
  const auto refused = tight.try_prepare(huge);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().budget(), 1_GiB);
  EXPECT_GT(refused.error().smallest(), 4_GiB);
}

TEST(Budget, FrontierFallsFromTheSmallestToNoExtraTime) {
  const Deep p = deep();
  const auto step = compile(value_and_grad(loss), {.effort = little});
  const std::vector<FrontierPoint> points = step.frontier(types_of(p), types_of(x), types_of(y));
  ASSERT_GT(points.size(), 2u);
  EXPECT_LE(points.size(), 16u);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_LE(points[i].memory, points[i].budget);
    EXPECT_LE(points[i].seconds_bound, points[i].seconds);
    if (i == 0) continue;
    EXPECT_LE(points[i - 1].memory, points[i].memory);
    EXPECT_GE(points[i - 1].seconds, points[i].seconds);
  }
  EXPECT_EQ(points.front().memory, step.smallest(p, x, y).memory);
  EXPECT_EQ(points.back().extra_time, 0);
}

TEST(Budget, SmallerBatchesRunInsideTheMemoryOfTheLargest) {
  const Deep p = deep();
  const auto tight = compile(value_and_grad(loss), {.effort = little}).smallest(p, x, y).memory;
  const auto step = compile(value_and_grad(loss), {.memory = tight, .effort = little, .max_batch = 256});
  const auto free = compile(value_and_grad(loss), {.effort = little});
  step.prepare(p, x, y);
  const std::int64_t arena = step.plan().plan.arena_bytes;
  for (std::int64_t batch : {100, 256, 3, 200, 1}) {
    const Tensor small_x = waves({batch, 16}, 0.7), small_y = waves({batch, 16}, 0.9);
    const auto [value, gradient] = step(p, small_x, small_y);
    const auto [free_value, free_gradient] = free(p, small_x, small_y);
    EXPECT_LE(step.plan().plan.arena_bytes, arena);
    EXPECT_LE(step.plan().peak(), tight);
    EXPECT_EQ(value.item(), free_value.item());
    EXPECT_EQ(gradient.weights[0].to_vector(), free_gradient.weights[0].to_vector());
  }
  try {
    step(p, waves({257, 16}, 1), waves({257, 16}, 1));
    FAIL() << "a batch above the largest was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
    EXPECT_THAT(error.what(), HasSubstr("257"));
  }
}

TEST(Budget, PeakIsGivenAsAFormulaInTheBatch) {
  const Deep p = deep();
  const auto step = compile(value_and_grad(loss), {.effort = little});
  const std::optional<Footprint> line = step.footprint(p, x, y);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->least, 128);
  EXPECT_EQ(line->most, 512);
  EXPECT_TRUE(line->linear()) << to_text(*line);
  EXPECT_NEAR(static_cast<double>(line->fixed + 256 * line->per_example),
              static_cast<double>(step.plan().peak().count),
              0.01 * static_cast<double>(step.plan().peak().count));
  EXPECT_THAT(step.report(p, x, y), HasSubstr("per example"));
}

TEST(Budget, ShapesOfOneFunctionShareOneArena) {
  const auto step = compile([](Tensor a) { return exp(a) + 1; });
  const Tensor first = step(waves({5000}, 0.1));
  const std::vector<double> before = first.to_vector();
  const Tensor second = step(waves({9000}, 0.1));
  const Tensor third = step(waves({5000}, 0.3));
  EXPECT_EQ(first.to_vector(), before);
  EXPECT_EQ(second.to_vector(), (exp(waves({9000}, 0.1)) + 1).to_vector());
  EXPECT_EQ(third.to_vector(), (exp(waves({5000}, 0.3)) + 1).to_vector());
}

TEST(Budget, OptionsThatMeanNothingAreErrorsAtTheCallersLine) {
  const auto code_of = [](CompileOptions options) {
    try {
      compile([](Tensor a) { return a; }, std::move(options))(scalar(1));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("budget_test.cc:"));
      return error.code();
    }
    return ErrorCode::numeric;
  };
  EXPECT_EQ(code_of({.memory = 0_B}), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of({.effort = -1}), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of({.max_batch = 0}), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of({.max_batch = 4}), ErrorCode::bad_plan_option) << "no argument holds a batch";
  EXPECT_EQ(code_of({.batch_arguments = {1}}), ErrorCode::bad_attribute);
}

}  // namespace
}  // namespace tidemark
