#include "tidemark/nn/lstm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

TEST(LstmLayer, FollowsTheRecurrence) {
  constexpr int steps = 4, in = 3, width = 2, gates = 4 * width;
  const LstmLayer layer = LstmLayer::init(key(1), in, width);
  const Tensor x = random_normal(key(2), {steps, 1, in});
  const std::vector<double> w = layer.input.to_vector(), u = layer.hidden.to_vector(),
                            b = layer.bias.to_vector(), xs = x.to_vector();
  std::vector<double> expected, h(width, 0), c(width, 0);
  for (int t = 0; t < steps; ++t) {
    std::vector<double> gate(b);
    for (int j = 0; j < gates; ++j) {
      for (int i = 0; i < in; ++i) gate[j] += xs[t * in + i] * w[i * gates + j];
      for (int i = 0; i < width; ++i) gate[j] += h[i] * u[i * gates + j];
    }
    for (int i = 0; i < width; ++i) {
      c[i] = logistic(gate[width + i]) * c[i] + logistic(gate[i]) * std::tanh(gate[2 * width + i]);
      h[i] = logistic(gate[3 * width + i]) * std::tanh(c[i]);
    }
    expected.insert(expected.end(), h.begin(), h.end());
  }
  const std::vector<double> got = layer(x).to_vector();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
}

}  // namespace
}  // namespace tidemark::nn
