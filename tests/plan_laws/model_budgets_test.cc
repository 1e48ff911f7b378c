// Real models, small: at budgets from the smallest to no extra time, training runs inside the budget, holds
// exactly what the plan says, and computes the same bits as without one.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tests/support/tiny_models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/plan/report/frontier.h"

namespace tidemark {
namespace {

// Effort is what the time of these tests goes into; the promises hold at any.
constexpr double effort = 0.01;
constexpr int budgets = few ? 3 : 8;

using Bits = std::vector<std::vector<std::byte>>;

// State and loss after two steps, the second one fed with the first one's state.
Bits train(Program& program, const tiny::TinyModel& model) {
  std::vector<Tensor> inputs = model.inputs();
  Bits bits;
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> outputs = program.run(inputs, {});
    std::copy_n(outputs.begin(), model.state, inputs.begin());
    bits.clear();
    for (const Tensor& t : outputs) bits.emplace_back(t.bytes(), t.bytes() + t.type().bytes());
  }
  return bits;
}

void expect_promises(const tiny::TinyModel& model) {
  const Graph graph = prepare_graph(model.step);
  const std::vector<Plan> plans = frontier(graph, test_target(), {.effort = effort}, budgets);
  if (!few) {
    ASSERT_EQ(plans.size(), static_cast<std::size_t>(budgets)) << model.name;
  }
  Program free(graph, plans.back(), std::make_shared<Workspace>(default_device()));
  const Bits expected = train(free, model);
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const std::string what = fmt::format("{} at {} bytes", model.name, plans[k].budget);
    EXPECT_LE(plans[k].peak(), plans[k].budget) << what;
    Program program(graph, plans[k], std::make_shared<Workspace>(default_device()));
    EXPECT_TRUE(train(program, model) == expected) << what << ": other bits";
    EXPECT_EQ(program.arena_high_water(), plans[k].arena_bytes) << what;
    if (k == 0) continue;
    EXPECT_GE(plans[k].peak(), plans[k - 1].peak()) << what;
    EXPECT_LE(plans[k].seconds, plans[k - 1].seconds) << what;
  }
  EXPECT_LT(plans.front().peak(), plans.back().peak()) << model.name;
  EXPECT_EQ(plans.back().extra_time(), 0) << model.name;
  EXPECT_THROW(make_plan(graph, test_target(), {.memory = plans.front().input_bytes, .effort = effort}),
               InfeasibleBudget)
      << model.name;
}

TEST(ModelBudgets, Mlp) { expect_promises(tiny::mlp()); }
TEST(ModelBudgets, Gpt) { expect_promises(tiny::gpt()); }
TEST(ModelBudgets, ResNet18) { expect_promises(tiny::resnet18(2, 16, 4)); }
TEST(ModelBudgets, UNet) { expect_promises(tiny::unet()); }
TEST(ModelBudgets, Lstm) { expect_promises(tiny::lstm(6)); }

}  // namespace
}  // namespace tidemark
