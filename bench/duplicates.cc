// What it gains to make cheap values in each kernel that reads them (the pass `duplicate`): training steps of
// the zoo and programs bound by memory, planned with the pass and without, and run in turns.
//
//   duplicates [ROUNDS [NAME…]]
//
// Measured are the least time of each, and the median of the ratios of two runs one after the other.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>

#include "bench/support/training_rows.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/session.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/tidemark.h"

namespace tidemark::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Case {
  std::string name;
  std::function<tiny::TinyModel()> build;
};

template <class F, class... Args>
Case function_case(const std::string& name, const F& f, const Args&... arguments) {
  return {name, [=] {
            tiny::TinyModel model;
            model.name = name;
            model.step = trace_call(f, std::tuple(arguments...), {}).graph;
            model.inputs = [=] { return std::vector<Tensor>{arguments...}; };
            return model;
          }};
}

// Normalisations as one writes them without a layer for it: x less its mean is wanted for the variance, for
// the result, and twice for the gradient.
Tensor normalised(const Tensor& x, const Dims& axes) {
  const Tensor centred = x - mean(x, axes, true);
  const Tensor variance = mean(square(centred), axes, true);
  return centred * rsqrt(variance + 1e-5);
}

Tensor norm_loss(const Tensor& x, const Tensor& scale, const Tensor& target) {
  return mean(square(normalised(x, {-1}) * scale - target));
}

// Gradients in 16 bits, clipped by their common length, then an update of momentum: each is widened for the
// length and for the update.
std::vector<Tensor> clipped_update(const Tensor& weight, const Tensor& moment, const Tensor& gradient) {
  const Tensor wide = cast(gradient, DType::f32) * (1.0 / 1024);
  const Tensor scale = minimum(1.0, rsqrt(sum(square(wide)) + 1e-6));
  const Tensor next = 0.9 * moment + wide * scale;
  return {weight - 0.01 * next, next};
}

// Features brought to mean 0 and deviation 1 over the examples, and their third and fourth moments.
std::vector<Tensor> moments(const Tensor& x) {
  const Tensor z = normalised(x, {0});
  return {mean(z * z * z, {0}), mean(square(square(z)), {0}), mean(maximum(z, 0.0), {0})};
}

// Residuals of a fit with weights by distance: an iteration of least squares that outliers do not pull.
std::vector<Tensor> robust_fit(const Tensor& y, const Tensor& fitted, const Tensor& direction) {
  const Tensor residual = y - fitted;
  const Tensor width = mean(abs(residual));
  const Tensor weight = 1.0 / (1.0 + square(residual / width));
  const Tensor step = sum(weight * residual * direction) / sum(weight * square(direction));
  return {fitted + step * direction, mean(weight * square(residual))};
}

std::vector<Case> cases() {
  const Tensor x = random_normal(key(1), {2048, 2048}), y = random_normal(key(2), {2048, 2048});
  const Tensor z = random_normal(key(3), {2048, 2048}), row = random_normal(key(4), {2048});
  std::vector<Case> list = {
      function_case(
          "norm", [](const Tensor& a) { return normalised(a, {-1}); }, x),
      function_case(
          "norm gradient",
          [](const Tensor& a, const Tensor& s, const Tensor& t) { return grad<0, 1>(norm_loss)(a, s, t); }, x,
          row, y),
      function_case("moments", moments, x),
      function_case("clipped update", clipped_update, x, y, cast(z, DType::bf16)),
      function_case("robust fit", robust_fit, x, y, z),
  };
  for (const TrainingRow& row_of_zoo : training_rows()) list.push_back({row_of_zoo.name, row_of_zoo.build});
  return list;
}

// A program that is run again and again, its state handed on.
class Runner {
 public:
  Runner(const tiny::TinyModel& model, const Graph& graph, Plan plan)
      : state_(model.state),
        inputs_(model.inputs()),
        program_(graph, std::move(plan), std::make_shared<Workspace>(default_device())) {
    program_.reserve();
  }
  double seconds() {
    const auto start = Clock::now();
    const std::vector<Tensor> outputs = program_.run(inputs_, {});
    const std::chrono::duration<double> taken = Clock::now() - start;
    std::copy_n(outputs.begin(), state_, inputs_.begin());
    return taken.count();
  }
  const Plan& plan() const { return program_.plan(); }

 private:
  std::size_t state_;
  std::vector<Tensor> inputs_;
  Program program_;
};

void compare(const Case& one, int rounds) {
  const tiny::TinyModel model = one.build();
  const Graph graph = prepare_graph(model.step);
  Runner without(model, graph, make_plan(graph, cpu_target(), {.skip = {"duplicate"}}));
  Runner with(model, graph, make_plan(graph, cpu_target()));
  double least_without = 1e9, least_with = 1e9;
  std::vector<double> ratios;
  for (int round = 0; round <= rounds; ++round) {
    // Each goes first every second time.
    const bool first = round % 2 == 0;
    const double a = first ? without.seconds() : 0, b = with.seconds(), c = first ? a : without.seconds();
    if (round == 0) continue;
    least_without = std::min(least_without, c);
    least_with = std::min(least_with, b);
    ratios.push_back(b / c);
  }
  std::ranges::sort(ratios);
  fmt::print("{:<16}{:>7}{:>9}{:>10.3f}{:>12.3f}{:>11.3f}{:>11.3f}{:>11.3f}\n", one.name,
             with.plan().duplicates.values, kernel_count(with.plan()), 1e3 * least_without, 1e3 * least_with,
             with.plan().seconds / without.plan().seconds, least_with / least_without,
             ratios[ratios.size() / 2]);
  fmt::print("{:<16}peak {} of {}, {:.4g} GB moved of {:.4g}\n", "", with.plan().peak(),
             without.plan().peak(), 1e-9 * with.plan().bytes_moved, 1e-9 * without.plan().bytes_moved);
}

}  // namespace
}  // namespace tidemark::bench

int main(int count, char** arguments) {
  namespace bench = tidemark::bench;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 10;
  fmt::print("{:<16}{:>7}{:>9}{:>10}{:>12}{:>11}{:>11}{:>11}\n", "program", "values", "kernels", "ms before",
             "ms after", "predicted", "least", "median");
  for (const bench::Case& one : bench::cases()) {
    const auto named = [&](const char* name) { return one.name == name; };
    if (count > 2 && std::none_of(arguments + 2, arguments + count, named)) continue;
    bench::compare(one, rounds);
  }
}
