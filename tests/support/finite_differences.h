// The gradient of a function of one f64 tensor against central differences.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tidemark/tidemark.h"

namespace tidemark::testing {

// Σ wᵢ·yᵢ with weights that tell all results apart.
inline Tensor weighted_sum(const Tensor& y) {
  return sum(y * reshape(linspace(0.5, 1.7, y.count(), DType::f64), y.shape()));
}

template <class F>
void expect_gradient(const F& f, const Tensor& x, double step = 1e-5, double tolerance = 1e-7) {
  const auto loss = [&](Tensor u) { return weighted_sum(f(u)); };
  const std::vector<double> gradient = grad(loss)(x).to_vector(), values = x.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> up = values, down = values;
    up[i] += step, down[i] -= step;
    const double slope =
        (loss(tensor(up, x.shape())).item() - loss(tensor(down, x.shape())).item()) / (2 * step);
    EXPECT_NEAR(gradient[i], slope, tolerance * std::max(1.0, std::abs(slope))) << "element " << i;
  }
}

}  // namespace tidemark::testing
