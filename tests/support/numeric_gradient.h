// The gradient of a scalar function of f64 tensors against central differences.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark::testing {

// Along a few random directions over all tensors of the tree: what changes every element by a different
// amount finds one that is wrong. f takes the tree and returns a scalar.
template <class F, class Tree>
void expect_gradient(const F& f, const Tree& at, double tolerance = 2e-7) {
  const auto [value, gradient] = value_and_grad(f)(at);
  ASSERT_TRUE(std::isfinite(value.item()));
  constexpr double step = 1e-5;
  for (int seed = 0; seed < 2; ++seed) {
    int number = 0;
    const Tree direction = map_tree(
        [&](const Tensor& x) {
          return random_normal(key(100 * seed + number++), x.shape(), 0, 1, x.dtype());
        },
        at);
    const auto along = [&](double t) {
      return f(map_tree([&](const Tensor& x, const Tensor& d) { return x + d * t; }, at, direction)).item();
    };
    double slope = 0;
    const std::vector<Tensor> g = tensors_of(gradient), d = tensors_of(direction);
    for (std::size_t i = 0; i < g.size(); ++i) slope += sum(g[i] * d[i]).item();
    const double difference = (along(step) - along(-step)) / (2 * step);
    EXPECT_NEAR(slope, difference, tolerance * (1 + std::abs(difference))) << "direction " << seed;
  }
}

}  // namespace tidemark::testing
