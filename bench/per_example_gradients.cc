// A gradient for each example of a batch: vmap(grad(loss)) of a small network against a loop over the
// examples, and against the one gradient of their mean, which is what training without them costs.
//
//   per_example_gradients [BATCH [WIDTH [--seconds]]]    --seconds: of vmap alone, for compare_per_example.py
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

constexpr int runs = 25;  // of each, in turns; the fastest counts

struct Network {
  td::Tensor w1, b1, w2, b2, w3, b3;
  TM_FIELDS(Network, w1, b1, w2, b2, w3, b3)
};

Network network(std::int64_t in, std::int64_t width, std::int64_t out) {
  const auto matrix = [](std::int64_t seed, std::int64_t rows, std::int64_t columns) {
    return td::random_normal(td::key(seed), {rows, columns}, 0, 1 / std::sqrt(static_cast<double>(rows)));
  };
  return {matrix(1, in, width), td::zeros({width}),    matrix(2, width, width),
          td::zeros({width}),   matrix(3, width, out), td::zeros({out})};
}

td::Tensor loss(const Network& net, const td::Tensor& x, const td::Tensor& label) {
  td::Tensor h = td::tanh(td::matmul(x, net.w1) + net.b1);
  h = td::tanh(td::matmul(h, net.w2) + net.b2);
  return td::cross_entropy(td::matmul(h, net.w3) + net.b3, label);
}

template <class F>
double seconds_of(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  const std::int64_t batch = count > 1 ? std::atoll(arguments[1]) : 256;
  const std::int64_t width = count > 2 ? std::atoll(arguments[2]) : 128;
  const bool seconds_alone = count > 3 && std::string_view(arguments[3]) == "--seconds";
  const std::int64_t in = 64, classes = 10;
  const Network net = network(in, width, classes);
  const td::Tensor x = td::random_normal(td::key(4), {batch, in});
  const td::Tensor labels = td::cast(
      td::floor(td::random_uniform(td::key(5), {batch}, 0, static_cast<double>(classes))), td::DType::i64);

  const td::VmapOptions examples{.in_axes = {td::not_mapped, 0, 0}};
  const auto mapped = td::compile(td::vmap(td::grad(loss), examples));
  const auto one = td::compile(td::grad(loss));
  const auto of_mean = td::compile(td::grad([&](const Network& p, const td::Tensor& u, const td::Tensor& v) {
    return td::mean(td::vmap(loss, examples)(p, u, v));
  }));
  const auto looped = [&] {
    for (std::int64_t i = 0; i < batch; ++i) one(net, td::Tensor(x.at(i)), td::Tensor(labels.at(i)));
  };
  double by_vmap = 1e9, by_loop = 1e9, by_mean = 1e9;
  for (int run = 0; run < runs; ++run) {
    by_vmap = std::min(by_vmap, seconds_of([&] { mapped(net, x, labels); }));
    if (seconds_alone) continue;
    by_loop = std::min(by_loop, seconds_of(looped));
    by_mean = std::min(by_mean, seconds_of([&] { of_mean(net, x, labels); }));
  }
  if (seconds_alone) {
    fmt::print("{:.6f}\n", by_vmap);
    return 0;
  }
  fmt::print("{} gradients of a network {}-{}-{}-{}\n", batch, in, width, width, classes);
  fmt::print("vmap(grad)            {:8.3f} ms, peak {}\n", 1e3 * by_vmap, to_string(mapped.plan().peak()));
  fmt::print("a loop over examples  {:8.3f} ms, {:.1f} times as long\n", 1e3 * by_loop, by_loop / by_vmap);
  fmt::print("gradient of the mean  {:8.3f} ms, {:.2f} of it\n", 1e3 * by_mean, by_mean / by_vmap);
}
