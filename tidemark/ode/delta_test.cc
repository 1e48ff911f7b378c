// Right-hand sides whose values wait for the backward pass as differences between steps.
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/ir/graph.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

int count_deltas(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    count += node.op == &op::from_delta;
    for (const Graph& region : node.regions) count += count_deltas(region);
  }
  return count;
}
double gap_of(const std::vector<double>& a, const std::vector<double>& b) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    gap = std::max(gap, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  return gap / size;
}

TEST(OdeDelta, AStageMayWaitAsTheDifferenceToThatOfTheStepBefore) {
  const auto end = [](std::optional<Form> form) {
    return [=](Tensor w, Tensor y) {
      const auto slope = [&](Tensor, Tensor v) {
        const Tensor z = matmul(v, w);
        return sin(form ? compress(z, *form) : z);
      };
      return mean(square(odeint(slope, y, 0, 1, {.method = OdeMethod::rk4, .steps = 20})));
    };
  };
  const Tensor w = random_normal(key(4), {16, 16}, 0, 0.3), y = random_normal(key(6), {64, 16});
  const auto step = compile(grad(end(codec::delta(codec::int8))));
  const std::vector<double> close = step(w, y).to_vector();
  EXPECT_EQ(count_deltas(step.plan().graph), 4) << "a stage is close to the same stage of the step before";
  EXPECT_LT(gap_of(compile(grad(end({})))(w, y).to_vector(), close), 1e-3);
}

}  // namespace
}  // namespace tidemark
