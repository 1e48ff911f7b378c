// Profiles of functions on a GPU, where there is one: what must hold of any times, and bits as without.
#include <gtest/gtest.h>

#include "tests/support/gpu.h"
#include "tests/support/on_threads.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/runtime/device.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::literals;

struct Net {
  std::vector<Tensor> weights;
  TM_FIELDS(Net, weights)
};
Tensor loss(const Net& net, Tensor x) {
  for (const Tensor& w : net.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}
Net net() {
  Net made;
  for (int i = 0; i < 6; ++i) made.weights.push_back(random_normal(key(i), {256, 256}, 0, 0.1));
  return made;
}

// The GPU's clock is brought to the host's, and what ends and begins at once may differ by its resolution.
constexpr double resolution = 2e-6;

void expect_profile_of(const Profile& profile, const Plan& plan) {
  ASSERT_EQ(profile.body.kernels.size(), kernel_count(plan));
  for (const ProfileMemory& memory : profile.memories) EXPECT_EQ(memory.peak(), memory.planned_peak());
  for (const ProfileRun& run : profile.runs) {
    std::vector<double> free(plan.lanes.size(), 0);
    for (std::size_t k = 0; k < profile.body.kernels.size(); ++k) {
      EXPECT_LE(run.kernel_begin[k], run.kernel_end[k]);
      EXPECT_LE(run.kernel_end[k], run.seconds);
      double& lane = free[static_cast<std::size_t>(profile.body.kernels[k].lane)];
      EXPECT_GE(run.kernel_begin[k], lane - resolution) << "kernel " << k;
      lane = run.kernel_end[k];
    }
  }
  EXPECT_EQ(to_json(profile_from_json(to_json(profile))), to_json(profile));
}

TEST(CudaProfile, KernelsOfALaneFollowEachOtherAndBitsStay) {
  TM_NEEDS_GPU();
  const auto step = compile(value_and_grad(loss), {.device = device()});
  const Net n = net();
  const Tensor x = random_normal(key(9), {512, 256});
  const auto expected = bits_of(step(n, x).second.weights[0]);
  for (int i = 0; i < 3; ++i) (void)step(n, x);  // as a recorded graph
  step.record_profile();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bits_of(step(n, x).second.weights[0]), expected);
  step.record_profile(false);
  EXPECT_EQ(bits_of(step(n, x).second.weights[0]), expected);
  const Profile profile = step.profile();
  EXPECT_EQ(profile.runs.size(), 4u);
  EXPECT_TRUE(profile.target.starts_with("cuda"));
  expect_profile_of(profile, step.plan().plan);
}

TEST(CudaProfile, CopiesToTheHostHaveLanesOfTheirOwn) {
  TM_NEEDS_GPU();
  const Net n = net();
  const Tensor x = random_normal(key(9), {65536, 256});
  const auto free = compile(value_and_grad(loss), {.device = device()});
  const Bytes budget(free.prepare(types_of(n), types_of(x)).peak().count * 7 / 10);
  const auto step = compile(value_and_grad(loss),
                            {.memory = budget, .host = 4_GiB, .allow = {Choice::host}, .device = device()});
  step.record_profile();
  for (int i = 0; i < 2; ++i) (void)step(n, x);
  const Profile profile = step.profile();
  expect_profile_of(profile, step.plan().plan);
  EXPECT_GT(std::ranges::count(profile.body.steps, StepKind::copy, &ProfileStep::kind), 0);
}

TEST(CudaProfile, LoopsAreTimedAsAWhole) {
  TM_NEEDS_GPU();
  const auto f = [](const Tensor& x, const Tensor& w) {
    return sum(repeat(
        5, [&](const Tensor& state) { return tanh(matmul(state, w)); }, x));
  };
  const auto step = compile(f, {.device = device()});
  step.record_profile();
  step(random_normal(key(1), {64, 64}), random_normal(key(2), {64, 64}, 0, 0.1));
  const Profile profile = step.profile();
  expect_profile_of(profile, step.plan().plan);
  EXPECT_TRUE(profile.body.bodies.empty());
}

}  // namespace
}  // namespace tidemark::cuda
