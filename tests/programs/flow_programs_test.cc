// Random chains of what can be undone up to rounding: any number of calls may be, what is computed back
// stays within the error that is stated, the function itself keeps its bits, and so do rules that must read
// exactly.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/sanitized.h"
#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/residuals.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/tidemark.h"

namespace tidemark::testing {
namespace {

constexpr std::int64_t flow_rows = 6, flow_width = 4;

struct RandomFlow {
  std::uint64_t seed;

  // Functions that do not make errors larger: the bounds rely on it.
  static Tensor smooth(std::mt19937_64& random, const Tensor& h, const Tensor& w) {
    switch (random() % 4) {
      case 0:
        return tanh(matmul(h, w)) * 0.5;
      case 1:
        return sin(h) * 0.3;
      case 2:
        return relu(h) * 0.2 + sigmoid(h) * 0.5;
      default:
        return softplus(h) * 0.5;
    }
  }

  void between(std::mt19937_64& random, Tensor& a, Tensor& b, const Tensor& turn,
               const Tensor& triangle) const {
    switch (random() % 14) {
      case 0:
        std::swap(a, b);
        break;
      case 1:
        a = leaky_relu(a, random() % 2 ? 0.5 : 1.5);
        break;
      case 2:
        b = orthogonal_product(b, turn);
        break;
      case 3:
        a = triangular_product(a, triangle, 4, true);
        break;
      case 4:
        a = flip(transpose(transpose(a)), {0});
        break;
      case 5:
        b = layer_norm(b, turn.at(0), turn.at(1));  // a new chain
        break;
      case 6:
        a = a / (abs(b) + 1);  // whose rule reads exactly
        break;
      case 7:
        a = sinh(asinh(a, Within{30}), Within{5});
        break;
      case 8:
        a = tanh(scale_and_shift(asinh(a, Within{30}), 0.25, 0.1, 4), Within{1.2});
        break;
      case 9:
        b = batch_norm_flow(b, abs(turn.at(0)) + 0.5, turn.at(1), {.gain = 20}).result;
        break;
      case 10:
        a = log(softplus(asinh(a, Within{30}), Within{4.2}), Within{4.2});
        break;
      case 11:
        b = sigmoid(exp(asinh(scale_and_shift(b, 0.1, 0.0, 10), Within{3}), Within{2}), Within{7});
        break;
      default:
        break;
    }
  }

  Tensor operator()(const std::vector<Tensor>& w, const Tensor& x) const {
    std::mt19937_64 random(seed);
    const Tensor v = w[0].at(Range{0, 1});
    const Tensor turn = eye(flow_width) - 2.0 * matmul(transpose(v), v) / sum(square(v));
    const Tensor triangle = 0.2 * tanh(w[0]) + eye(flow_width);
    Tensor a = x, b = x * 0.5, volume = sum(x) * 0;
    for (const Tensor& own : w) {
      const auto parts = [&](const Tensor& h) {
        const Tensor s = smooth(random, h, own), t = smooth(random, h, own);
        return std::pair(s, t);
      };
      const AffineHalves halves = affine_coupling(parts, {.limit = 0.5})(a, b);
      volume = volume + sum(halves.log_scale);
      a = halves.second, b = halves.first;
      between(random, a, b, turn, triangle);
      if (random() % 4 == 0) volume = volume + mean(sin(a) * b);
    }
    return sum(square(a)) + sum(b) - volume;
  }
};

TEST(FlowPrograms, StayWithinTheErrorHoweverManyCallsAreUndone) {
  constexpr unsigned programs = 40;
  std::size_t drifted = 0;
  for (std::uint64_t seed = 0; seed < seeds(programs); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed + 5);
    std::vector<Tensor> w;
    const auto couplings = static_cast<std::int64_t>(2 + random() % 6);
    for (std::int64_t i = 0; i < couplings; ++i)
      w.push_back(random_normal(key(i), {flow_width, flow_width}, 0, 0.4));
    const Tensor x = random_normal(key(99), {flow_rows, flow_width});
    const MarkedReads allowed(StandIns::lossy);
    auto traced = trace_call(value_and_grad(RandomFlow{seed}), std::tuple(w, x), {});
    const auto results = [&](const Graph& graph) {
      std::vector<std::vector<double>> values;
      Program program(lower_residuals(graph, {}), {}, default_device());
      for (const Tensor& result : program.run(traced.inputs, {})) values.push_back(result.to_vector());
      return values;
    };
    const auto expected = results(lower_inverses(*traced.graph, 0));
    EXPECT_EQ(invertible_calls(*traced.graph), 0u) << "nothing here is exact";
    const std::size_t all = invertible_calls(*traced.graph, 1);
    for (const double error : {1e-3, 1e-6}) {
      std::vector<Drift> drifts;
      const auto given = results(lower_inverses(*traced.graph, random() % 3 ? all : all / 2, error, &drifts));
      EXPECT_EQ(given[0], expected[0]) << "the function itself";
      for (std::size_t i = 0; i < drifts.size(); ++i) {
        EXPECT_LE(drifts[i].bound, error);
        // Bounds are shares of what is largest along the chain; these programs stay within a few.
        EXPECT_LE(given[expected.size() + 2 * i][0], 100 * drifts[i].bound);
      }
      drifted += drifts.size();
      for (std::size_t r = 1; r < expected.size(); ++r) {
        double largest = 1;
        for (const double g : expected[r]) largest = std::max(largest, std::abs(g));
        for (std::size_t k = 0; k < expected[r].size(); ++k)
          EXPECT_NEAR(given[r][k], expected[r][k], 100 * error * largest);
      }
    }
  }
  if (!few) {
    EXPECT_GT(drifted, programs);
  }
}

}  // namespace
}  // namespace tidemark::testing
