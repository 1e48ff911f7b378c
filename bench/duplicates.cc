// What it gains to make cheap values in each kernel that reads them (the pass `duplicate`): training steps of
// the zoo and programs bound by memory, planned with the pass and without, and run in turns.
//
//   duplicates [ROUNDS [NAME…]]
//
// The kernels that differ between the plans are compared by the sums of their least times, predicted and
// measured; what they are of the whole, and the least times of the whole, stand beside.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "bench/support/step_times.h"
#include "bench/support/training_rows.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/session.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/costs.h"
#include "tidemark/tidemark.h"

namespace tidemark::bench {
namespace {

struct Case {
  std::string name;
  std::function<Graph()> graph;
};

template <class F, class... Args>
Case function_case(const std::string& name, const F& f, const Args&... arguments) {
  return {name, [=] { return *trace_call(f, std::tuple(arguments...), {}).graph; }};
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

// The middle of a transformer's block. The slope of gelu is wanted on the way back only, and is made there of
// what the product left.
Tensor block_loss(const Tensor& up, const Tensor& bias, const Tensor& down, const Tensor& x) {
  return mean(square(matmul(gelu(matmul(x, up) + bias), down)));
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
      function_case(
          "gelu block",
          [](const Tensor& up, const Tensor& bias, const Tensor& down, const Tensor& h) {
            return grad<0, 1, 2>(block_loss)(up, bias, down, h);
          },
          random_normal(key(5), {64, 2048}), row, random_normal(key(6), {2048, 64}),
          random_normal(key(7), {2048, 64})),
      function_case("clipped update", clipped_update, x, y, cast(z, DType::bf16)),
      function_case("robust fit", robust_fit, x, y, z),
      {"tiny mlp", [] { return tiny::mlp().step; }},
  };
  for (const TrainingRow& model : training_rows())
    list.push_back({model.name, [model] { return model.build().step; }});
  return list;
}

// The least time of kernels that the other plan does not have: those that run other nodes, or store others.
struct Changed {
  double measured = 0, predicted = 0;
  int kernels = 0;
};
using Nodes = std::vector<std::pair<std::uint32_t, Binding>>;  // with the memory of their first results

Nodes nodes_of(const Plan& plan, const KernelCost& kernel) {
  Nodes nodes;
  for (std::size_t t = kernel.first; t < kernel.last; ++t) {
    const Step& step = plan.steps[t];
    const bool any = !step.out.empty();
    nodes.emplace_back(step.node.index,
                       any ? plan.buffers[step.out[0].buffer.index].binding : Binding::arena);
  }
  std::ranges::sort(nodes);
  return nodes;
}

Changed changed(const Graph& graph, const Plan& plan, const StepTimes& times, const Plan& other) {
  std::set<Nodes> known;
  for (const KernelCost& kernel : kernel_costs(graph, other, cpu_target(), reference_machine()))
    known.insert(nodes_of(other, kernel));
  Changed sum;
  for (const KernelCost& kernel : kernel_costs(graph, plan, cpu_target(), reference_machine())) {
    if (known.contains(nodes_of(plan, kernel))) continue;
    sum.measured += times.seconds[kernel.first];
    sum.predicted += kernel.seconds;
    ++sum.kernels;
  }
  return sum;
}

void compare(const Case& one, int rounds) {
  const Graph graph = prepare_graph(one.graph());
  const Plan without = make_plan(graph, cpu_target(), {.skip = {"duplicate"}});
  const Plan with = make_plan(graph, cpu_target());
  const auto device = default_device();
  TimedPlan timed_without(graph, without, *device), timed_with(graph, with, *device);
  for (int round = 0; round < rounds; ++round) {
    timed_without.run();
    timed_with.run();
  }
  const Changed before = changed(graph, without, timed_without.times(), with);
  const Changed after = changed(graph, with, timed_with.times(), without);
  const double whole = timed_without.times().whole;
  fmt::print("{:<16}{:>7}{:>9}{:>9.2f}%{:>11.3f}{:>11.3f}{:>11.3f}{:>12.3f}{:>10.4f}{:>9.4f}\n", one.name,
             with.duplicates.values, before.kernels, 100 * before.measured / whole, 1e3 * before.measured,
             1e3 * after.measured, before.predicted > 0 ? after.predicted / before.predicted : 1,
             before.measured > 0 ? after.measured / before.measured : 1, timed_with.times().whole / whole,
             static_cast<double>(with.peak()) / static_cast<double>(without.peak()));
}

}  // namespace
}  // namespace tidemark::bench

int main(int count, char** arguments) {
  namespace bench = tidemark::bench;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 10;
  fmt::print("{:<16}{:>7}{:>9}{:>10}{:>11}{:>11}{:>11}{:>12}{:>10}{:>9}\n", "program", "values", "kernels",
             "of all", "ms before", "ms after", "predicted", "measured", "whole", "peak");
  for (const bench::Case& one : bench::cases()) {
    const auto named = [&](const char* name) { return one.name == name; };
    if (count > 2 && std::none_of(arguments + 2, arguments + count, named)) continue;
    bench::compare(one, rounds);
  }
}
