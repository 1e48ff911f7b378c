// Random chains of reversible blocks, with whatever stands between and beside them: any number of sums may be
// undone, and the gradients keep their bits.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/sanitized.h"
#include "tidemark/autodiff/inverses.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/tidemark.h"

namespace tidemark::testing {
namespace {

struct RandomChain {
  std::uint64_t seed;
  std::int64_t rows = 6, width = 4;

  // What a block adds: some functions of the other half, a parameter and random numbers.
  Tensor added(std::mt19937_64& random, const Tensor& h, const Tensor& w) const {
    Tensor t = h;
    const int count = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < count; ++i) {
      switch (random() % 12) {
        case 0:
          t = tanh(matmul(t, w));
          break;
        case 1:
          t = sin(t) * t;
          break;
        case 2:
          t = softmax(t, 1) + relu(t);
          break;
        case 3:
          t = transpose(tanh(matmul(transpose(w), transpose(t))));
          break;
        case 4:
          t = select(random_uniform(key(static_cast<std::int64_t>(random() % 100)), t.shape()) < 0.7, t, -t);
          break;
        case 5:
          t = sort(t, 1).first * 0.5;
          break;
        case 6:
          t = checkpoint([&](const Tensor& x) { return tanh(exp(x * 0.1) * x); })(t);
          break;
        case 7:
          t = repeat(
              3, [&](const Tensor& x) { return tanh(x * 0.9 + h * 0.1); }, t);
          break;
        case 8:
          t = keep(sigmoid(t));
          break;
        case 9:
          t = layer_norm(t, w.at(0), w.at(1));
          break;
        case 10:
          t = take(t, cast(argmax(t, 0), DType::i64), 0).at(Range{0, 1}) + t;
          break;
        default:
          t = ones_like(t) * sum(w) * 0.1;
      }
    }
    return clamp(t, -3, 3);
  }

  // Between blocks.
  void move(std::mt19937_64& random, Tensor& a, Tensor& b) const {
    switch (random() % 9) {
      case 0:
        std::swap(a, b);
        break;
      case 1:
        a = flip(a, {0});
        break;
      case 2:
        b = reshape(transpose(reshape(b, {rows / 2, 2, width}), {1, 0, 2}), {rows, width});
        break;
      case 3: {
        const std::vector<Tensor> parts = split(concat({a, b}, 0), 0, {rows, rows});
        a = parts[1], b = parts[0];
        break;
      }
      case 4:
        a = tanh(a);  // a new chain
        break;
      case 5:
        b = a;
        break;
      default:
        break;
    }
  }

  Tensor operator()(const std::vector<Tensor>& w, const Tensor& x) const {
    std::mt19937_64 random(seed);
    Tensor a = x, b = random() % 2 ? x * 0.5 : x, extra = sum(x) * 0;
    for (const Tensor& own : w) {
      const auto f = [&](const Tensor& h) { return added(random, h, own); };
      std::tie(a, b) = reversible(f, f, {.range = random() % 3 ? 1024.0 : 4096.0})(a, b);
      move(random, a, b);
      if (random() % 4 == 0) extra = extra + mean(sin(a) * b);
    }
    return random() % 3 ? sum(a * b) + extra : sum(a) + extra;
  }
};

class ReversiblePrograms : public ::testing::TestWithParam<int> {};

TEST_P(ReversiblePrograms, HaveTheSameBitsHoweverManySumsAreUndone) {
  constexpr unsigned share = 15;
  int undone = 0;
  for (unsigned k = 0; k < seeds(share); ++k) {
    const std::uint64_t seed = 100 * static_cast<unsigned>(GetParam()) + k;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed + 5);
    std::vector<Tensor> w;
    const auto blocks = static_cast<std::int64_t>(2 + random() % 5);
    for (std::int64_t i = 0; i < blocks; ++i) w.push_back(random_normal(key(i), {4, 4}, 0, 0.5));
    const Tensor x = random_normal(key(99), {6, 4});
    auto traced = trace_call(value_and_grad(RandomChain{seed}), std::tuple(w, x), {});
    const auto results = [&](const Graph& graph) {
      std::vector<std::vector<double>> values;
      Program program(graph, {}, default_device());
      for (const Tensor& result : program.run(traced.inputs, {})) values.push_back(result.to_vector());
      return values;
    };
    const auto expected = results(lower_inverses(*traced.graph, 0));
    const std::size_t all = invertible_calls(*traced.graph);
    for (const std::size_t count : {all, all / 2, all > 0 ? 1 + random() % all : 0}) {
      const Graph lowered = lower_inverses(*traced.graph, count);
      ASSERT_EQ(results(lowered), expected) << count << " of " << all;
      for (const Node& node : lowered.nodes()) undone += node.op->undoes;
    }
  }
  if (!few) {
    EXPECT_GT(undone, static_cast<int>(share));
  }
}

INSTANTIATE_TEST_SUITE_P(Quarters, ReversiblePrograms, ::testing::Range(0, 4));

}  // namespace
}  // namespace tidemark::testing
