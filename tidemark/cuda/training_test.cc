// What users write, on a GPU where there is one: training inside a budget, state that stays on the device,
// bad arguments.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/gpu.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/nn/models.h"
#include "tidemark/runtime/device.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

nn::Gpt small_gpt() {
  return nn::Gpt::init(key(0), {.layers = 2, .width = 64, .heads = 4, .vocabulary = 101, .context = 32});
}
Tensor tokens(int seed) {
  std::vector<std::int32_t> numbers(4 * 32);
  for (int i = 0; i < 4 * 32; ++i) numbers[static_cast<std::size_t>(i)] = (i * i + 7 * i + seed * 13) % 101;
  return tensor(numbers, {4, 32});
}

// Losses of some steps of AdamW, and where the parameters are at the end.
struct Trained {
  std::vector<double> losses;
  DeviceId device;
  std::int64_t peak = 0;
};
Trained train(const CompileOptions& options, int steps) {
  const auto loss = [](const nn::Gpt& model, Tensor in, Tensor next) { return model.loss(in, next); };
  const auto optimizer = optim::AdamW{.lr = 1e-2};
  CompileOptions donating = options;
  donating.donate = {0};
  auto step = compile(optim::step(optimizer, loss), donating);
  auto state = optimizer.init(small_gpt());
  Trained trained;
  for (int s = 0; s < steps; ++s) {
    auto [next, value] = step(std::move(state), tokens(s), tokens(s + 1));
    state = std::move(next);
    trained.losses.push_back(value.item());
  }
  trained.device = state.parameters.token_table.device();
  trained.peak = step.plan().peak().count;
  return trained;
}

TEST(CudaTraining, AGptLearnsWhatItLearnsOnTheCpuAndTheSameBitsAtEveryBudget) {
  TM_NEEDS_GPU();
  const Trained on_cpu = train({}, 8), on_gpu = train({.device = device()}, 8);
  EXPECT_EQ(on_gpu.device.kind, DeviceKind::cuda);
  for (std::size_t s = 0; s < on_cpu.losses.size(); ++s)
    EXPECT_NEAR(on_gpu.losses[s], on_cpu.losses[s], 2e-3) << "step " << s;
  for (const int percent : {90, 80}) {
    const Trained within = train({.memory = Bytes(on_gpu.peak * percent / 100), .device = device()}, 8);
    EXPECT_LE(within.peak, on_gpu.peak * percent / 100);
    EXPECT_EQ(within.losses, on_gpu.losses) << percent << "%";
  }
  EXPECT_EQ(train({.device = device()}, 8).losses, on_gpu.losses) << "again";
}

TEST(CudaTraining, ALabelOutOfRangeIsTheCallersErrorAndLosesNothing) {
  TM_NEEDS_GPU();
  const auto look_up = [](const Tensor& table, const Tensor& at) { return take(table, at, 0) * 2.0; };
  auto f = compile(look_up, {.device = device()});
  const Tensor table = reshape(arange(12, DType::f32), {4, 3});
  const Tensor good = tensor<std::int64_t>({1, 3}), bad = tensor<std::int64_t>({1, 4});
  const Tensor expected = look_up(table, good);
  EXPECT_EQ(f(table, good).to_vector(), expected.to_vector());
  EXPECT_EQ(code_of([&] { (void)f(table, bad); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(f(table, good).to_vector(), expected.to_vector());
}

TEST(CudaTraining, MoreThanTheGpuHasIsAnErrorAndTheFunctionRemains) {
  TM_NEEDS_GPU();
  // Its square has 2^36 elements in between, 256 GiB.
  auto f = compile(
      [](const Tensor& x) {
        return sum(matmul(x, transpose(x, {1, 0})));
      },
      {.device = device()});
  EXPECT_EQ(code_of([&] { (void)f(zeros({std::int64_t{1} << 18, 1})); }), ErrorCode::out_of_memory);
  EXPECT_EQ(f(ones({8, 1})).item(), 64);
}

}  // namespace
}  // namespace tidemark::cuda
