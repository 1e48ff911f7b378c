// The law of threads: whatever several threads compute at once, each gets the bits that one thread alone
// computes.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/on_threads.h"
#include "tests/support/sanitized.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

constexpr int threads = 8;
constexpr int calls_each = sanitized ? 60 : 1000;
constexpr int variants = 3;

Tensor drawn(int seed, const Shape& shape) { return random_uniform(key(seed), shape, -1, 1); }

Tensor perceptron(std::vector<Tensor> w, Tensor x) {
  for (const Tensor& layer : w) x = tanh(matmul(x, layer));
  return mean(square(x));
}

Tensor attended(std::vector<Tensor> h) { return sum(square(attention(h[0], h[1], h[2], {.causal = true}))); }

Tensor rolled(Tensor w, Tensor x) {
  return sum(repeat(
      6, [&](Tensor u) { return tanh(matmul(u, w)); }, x));
}

// One way to compute, for one of a few inputs. Shared by all threads.
struct Way {
  std::string name;
  std::function<std::vector<Tensor>(int variant)> compute;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  const auto add = [&](std::string name, std::function<std::vector<Tensor>(int)> compute) {
    ways.push_back({std::move(name), std::move(compute)});
  };
  add("eager operations", [](int v) {
    const Tensor x = drawn(v, {300, 300});
    return std::vector{softmax(matmul(x, x), 1), sum(exp(x), {0}), cumsum(x, 0), x.at(v)};
  });
  add("an eager gradient", [](int v) {
    return grad(perceptron)(std::vector{drawn(v, {128, 128}), drawn(v + 1, {128, 128})},
                            drawn(v + 2, {128, 128}));
  });
  add("eager loops", [](int v) { return std::vector{rolled(drawn(v, {40, 40}), drawn(v + 1, {8, 40}))}; });
  add("random numbers", [](int v) {
    const Tensor x = random_normal(fold_in(key(5), v), {70000});
    return std::vector{x, dropout(x, 0.4, key(v)), random_permutation(key(v), 1000)};
  });
  add("factorisations", [](int v) {
    const Tensor a = drawn(v, {4, 30, 30}), b = drawn(v + 1, {4, 30, 2});
    const Tensor spd = matmul(a, swap_axes(a, 1, 2)) + 30 * eye(30);
    return std::vector{cholesky(spd), solve(spd, b), svd(a).u, eigh(a).vectors, qr(a).q, det(a / 8)};
  });
  // A batch of its own for every variant: the plans share arenas.
  const auto free = compile(value_and_grad(perceptron));
  const std::vector<Tensor> weights = {drawn(11, {96, 128}), drawn(12, {128, 96}), drawn(13, {96, 64})};
  add("a function without a budget", [=](int v) {
    auto [value, gradients] = free(weights, drawn(v, {64 * (v + 1), 96}));
    gradients.push_back(value);
    return gradients;
  });
  const std::vector<Tensor> deep(6, drawn(14, {64, 64}));
  const Tensor batch = drawn(15, {512, 64});
  const std::int64_t peak = free.prepare(types_of(deep), types_of(batch)).peak().count;
  const auto tight = compile(
      value_and_grad(perceptron),
      {.memory = Bytes(peak * 8 / 10 + threads * 6 * 64 * 64 * 4), .effort = 0.05, .held_results = threads});
  add("a function with a budget", [=](int v) {
    auto [value, gradients] = tight(deep, batch + v);
    gradients.push_back(value);
    return gradients;
  });
  const auto attending = compile(grad(attended));
  add("attention", [=](int v) {
    return attending(
        std::vector{drawn(v, {2, 2, 160, 16}), drawn(v + 1, {2, 2, 160, 16}), drawn(v + 2, {2, 2, 160, 16})});
  });
  const auto loop = compile(grad(rolled));
  add("a compiled loop", [=](int v) {
    return std::vector{loop(drawn(v, {64, 64}), drawn(v + 1, {128, 64}))};
  });
  const auto scanned = compile([](Tensor h, Tensor xs) {
    return scan([](Tensor s, Tensor x) { return std::pair(tanh(s + x), s * x); }, h, xs).second;
  });
  add("a compiled scan", [=](int v) {
    return std::vector{scanned(drawn(v, {300}), drawn(v + 1, {20, 300}))};
  });
  // Results that still lie in one function's arena are read by others, while that function is called again.
  const auto first = compile([](Tensor x) { return exp(x) + 1; });
  const auto second = compile([](Tensor x) { return sum(log(x), {1}); });
  add("results handed on", [=](int v) {
    const Tensor made = first(drawn(v, {300, 300}));
    return std::vector{second(made), sum(made, {0}), made.at(1) * 2};
  });
  add("donated state", [=](int v) {
    const auto step = [](Tensor state, Tensor x) { return state * 0.5 + x; };
    const auto stepping = compile(step, {.donate = {0}});
    Tensor state = drawn(v, {20000});
    for (int i = 0; i < 3; ++i) state = stepping(state, drawn(i, {20000}));
    return std::vector{state};
  });
  return ways;
}

std::vector<std::vector<std::byte>> bits_of_all(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<std::byte>> bits;
  for (const Tensor& tensor : tensors) bits.push_back(bits_of(tensor));
  return bits;
}

TEST(ThreadLaw, EightThreadsComputeWhatOneDoes) {
  std::vector<std::vector<std::vector<std::vector<std::byte>>>> expected;  // by way and variant
  set_threads(1);
  for (const Way& way : all_ways()) {
    expected.emplace_back();
    for (int v = 0; v < variants; ++v) expected.back().push_back(bits_of_all(way.compute(v)));
  }
  set_threads(3);
  const std::vector<Way> ways = all_ways();
  std::vector<std::atomic<int>> wrong(ways.size());
  on_threads(threads, [&](int thread) {
    for (int call = 0; call < calls_each; ++call) {
      const auto at = static_cast<std::size_t>(call * 5 + thread * 3) % ways.size();
      const int variant = (call / 7 + thread) % variants;
      const auto bits = bits_of_all(ways[at].compute(variant));
      wrong[at] += bits != expected[at][static_cast<std::size_t>(variant)];
    }
  });
  for (std::size_t at = 0; at < ways.size(); ++at) EXPECT_EQ(wrong[at].load(), 0) << ways[at].name;
  set_threads(0);
}

}  // namespace
}  // namespace tidemark
