// Simulations and scans: how many things a GPU is told to do in each step, and, where there is a GPU, the
// values of the CPU and the same bits at every budget.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gpu.h"
#include "tests/support/gpu_nodes.h"
#include "tests/support/loop_programs.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using namespace literals;

constexpr Wave small_wave{.cells = 48};
constexpr std::int64_t steps = 64;

Tensor heard(const Tensor& courant2, const Wave::Medium& medium, const Tensor& wavelet) {
  return small_wave.heard(courant2, medium, wavelet);
}

PlanWithLoops planned(const Graph& traced, std::optional<std::int64_t> memory) {
  PlanWithLoops found =
      plan_with_loops(traced, {}, {.memory = memory, .machine = &h200_machine(), .target = &cuda_target()});
  TM_CHECK(found.plan, "{} do not fit", memory.value_or(0));
  return found;
}

template <class F, class... Args>
GpuNodes nodes_of(const F& f, std::optional<std::int64_t> memory, const Args&... args) {
  const PlanWithLoops found = planned(*trace_call(f, std::tuple<Args...>(args...), {}).graph, memory);
  return count_gpu_nodes(found.graph, verified(found.graph, found.plan.value(), cuda_target()));
}

double per_step(const GpuNodes& nodes) { return static_cast<double>(nodes.all()) / steps; }

TEST(CudaLoops, AStepOfAWaveIsAStencilAndWhatIsHeard) {
  const Wave wave{.cells = 512};
  const Wave::Medium medium = wave.medium();
  const Tensor wavelet = wave.wavelet(steps);
  const auto loss = [=](const Tensor& courant2, const Wave::Medium& m, const Tensor& amplitudes) {
    return wave.heard(courant2, m, amplitudes);
  };
  EXPECT_LT(per_step(nodes_of(loss, {}, medium.courant2, medium, wavelet)), 2.3);
  const auto gradient = value_and_grad(loss);
  EXPECT_LT(per_step(nodes_of(gradient, {}, medium.courant2, medium, wavelet)), 6.5);
}

// What the inputs add to the gates is part of the product, and the gates are made by one kernel.
TEST(CudaLoops, AStepOfAnLstmIsAProductAndItsGates) {
  const nn::LstmLayer layer = nn::LstmLayer::init(key(0), 512, 512);
  const Tensor x = random_normal(key(1), {steps, 64, 512});
  const auto loss = [](const nn::LstmLayer& l, const Tensor& in) { return lstm_loss(l, in); };
  EXPECT_LT(per_step(nodes_of(loss, {}, layer, x)), 2.3);
  EXPECT_LT(per_step(nodes_of(value_and_grad(loss), {}, layer, x)), 6.3);
}

// Gates computed again in the backward pass are faster than gates that are written and read: a plan that has
// room for all of them knows it too, up to the hundredth for which it is worth looking.
TEST(CudaLoops, MoreMemoryIsNotPredictedSlower) {
  const nn::LstmLayer layer = nn::LstmLayer::init(key(0), 512, 512);
  const Tensor x = random_normal(key(1), {steps, 64, 512});
  const auto gradient =
      value_and_grad([](const nn::LstmLayer& l, const Tensor& in) { return lstm_loss(l, in); });
  const Graph traced = *trace_call(gradient, std::tuple(layer, x), {}).graph;
  const double free = planned(traced, {}).plan.value().seconds;
  double before = free;
  for (const std::int64_t mib : {1000, 200, 160, 140, 120, 110}) {
    const double seconds = planned(traced, mib << 20).plan.value().seconds;
    EXPECT_GE(seconds, 0.99 * before) << mib << " MiB";
    before = std::max(before, seconds);
  }
}

template <class Tree>
std::vector<double> numbers_of(const Tree& tree) {
  std::vector<double> all;
  for_each_tensor(tree, [&](const std::string&, const Tensor& tensor) {
    const std::vector<double> numbers = tensor.to_vector();
    all.insert(all.end(), numbers.begin(), numbers.end());
  });
  return all;
}

// On the CPU, then on the GPU as much as it likes and at budgets, three calls each: by commands, recorded,
// replayed.
template <class F, class... Args>
void expect_same(const F& f, double tolerance, const Args&... args) {
  const std::vector<double> on_cpu = numbers_of(compile(f)(args...));
  const auto free = compile(f, {.device = device()});
  const std::vector<double> expected = numbers_of(free(args...));
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < on_cpu.size(); ++i) {
    largest = std::max(largest, std::abs(on_cpu[i]));
    apart = std::max(apart, std::abs(on_cpu[i] - expected[i]));
  }
  EXPECT_LE(apart, tolerance * largest);
  EXPECT_EQ(numbers_of(free(args...)), expected) << "recorded";
  EXPECT_EQ(numbers_of(free(args...)), expected) << "replayed";
  const std::int64_t most = free.plan().peak().count;
  const std::int64_t least = compile(f, {.device = device()}).smallest(args...).memory.count;
  for (const double share : {0.5, 0.2, 0.02}) {
    const auto budget = least + static_cast<std::int64_t>(share * static_cast<double>(most - least));
    SCOPED_TRACE(budget);
    const auto within = compile(f, {.memory = Bytes(budget), .device = device()});
    for (int call = 0; call < 3; ++call) EXPECT_EQ(numbers_of(within(args...)), expected) << "call " << call;
    EXPECT_LE(within.plan().peak().count, budget);
  }
}

TEST(CudaLoops, AWaveHasTheSameBitsAtEveryBudget) {
  TM_NEEDS_GPU();
  const Wave::Medium medium = small_wave.medium();
  expect_same(value_and_grad(heard), 1e-4, medium.courant2, medium, small_wave.wavelet(steps));
}

TEST(CudaLoops, AnLstmHasTheSameBitsAtEveryBudget) {
  TM_NEEDS_GPU();
  const nn::LstmLayer layer = nn::LstmLayer::init(key(0), 24, 32);
  const Tensor x = random_normal(key(1), {steps, 8, 24});
  expect_same(value_and_grad([](const nn::LstmLayer& l, const Tensor& in) { return lstm_loss(l, in); }), 1e-4,
              layer, x);
}

}  // namespace
}  // namespace tidemark::cuda
