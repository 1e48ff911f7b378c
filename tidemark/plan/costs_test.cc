#include "tidemark/plan/costs.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include "tests/support/fake_ops.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

using fake::Sketch;

TEST(KernelCosts, AddUpToThePlansFigures) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var a = s.pointwise({x}), b = s.pointwise({a, x});
  const Var c = s.node({b}, 8);
  s.output(s.pointwise({c}));
  const Plan plan = make_plan(s.graph, test_target());
  const std::vector<KernelCost> kernels = kernel_costs(s.graph, plan, test_target(), reference_machine());
  ASSERT_EQ(kernels.size(), kernel_count(plan));
  double flops = 0, bytes = 0, seconds = 0;
  std::size_t at = 0;
  for (const KernelCost& kernel : kernels) {
    EXPECT_EQ(kernel.first, at);
    EXPECT_GT(kernel.last, kernel.first);
    at = kernel.last;
    flops += kernel.flops, bytes += kernel.bytes, seconds += kernel.seconds;
    EXPECT_EQ(kernel.first_seconds, kernel.seconds) << "nothing runs again";
  }
  EXPECT_EQ(at, plan.steps.size());
  EXPECT_DOUBLE_EQ(flops, plan.flops);
  EXPECT_DOUBLE_EQ(bytes, plan.bytes_moved);
  EXPECT_DOUBLE_EQ(seconds, plan.seconds);
}

TEST(KernelCosts, OfAGroupAreBelowThoseOfItsStepsAlone) {
  Sketch s;
  const Var x = s.input(8, 64);
  s.output(s.pointwise({s.pointwise({x})}));
  const Plan plan = make_plan(s.graph, test_target());
  const std::vector<KernelCost> kernels = kernel_costs(s.graph, plan, test_target(), reference_machine());
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_LT(kernels[0].seconds, make_plan(s.graph, test_target(), {.skip = {"fuse"}}).seconds);
}

}  // namespace
}  // namespace tidemark
