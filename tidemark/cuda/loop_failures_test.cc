// Calls in loops that find fault with their operands on a GPU: the caller's error, as the CPU throws it, and
// nothing is lost.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/gpu.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/runtime/device.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor table() { return reshape(arange(12, DType::f32), {4, 3}); }

// Rows of the table that each step looks up, added to what is carried.
Tensor added_up(const Tensor& rows, const Tensor& numbers) {
  return scan([&](const Tensor& sum, const Tensor& at) { return sum * 0.5 + take(rows, at, 0); },
              zeros({2, 3}), numbers);
}

TEST(CudaLoopFailures, ABadIndexInAStepIsTheErrorOfTheCpuAndTheFunctionRemains) {
  TM_NEEDS_GPU();
  const Tensor good = tensor<std::int64_t>({1, 3, 0, 2, 2, 1}, {3, 2});
  const Tensor bad = tensor<std::int64_t>({1, 3, 0, 4, 2, 1}, {3, 2});
  const auto on_cpu = compile(added_up), on_gpu = compile(added_up, {.device = device()});
  const std::vector<double> expected = on_cpu(table(), good).to_vector();
  const std::string said = message_of([&] { (void)on_cpu(table(), bad); });
  EXPECT_NE(said.find("4"), std::string::npos);
  for (int round = 0; round < 3; ++round) {  // by commands, recorded, replayed
    SCOPED_TRACE(round);
    EXPECT_EQ(on_gpu(table(), good).to_vector(), expected);
    EXPECT_EQ(message_of([&] { (void)on_gpu(table(), bad); }), said);
  }
  EXPECT_EQ(on_gpu(table(), good).to_vector(), expected);
}

// What says whether to go on comes from a row that is none: it may say so for ever.
TEST(CudaLoopFailures, ALoopThatGoesByABadLookUpEnds) {
  TM_NEEDS_GPU();
  const auto f = [](const Tensor& rows, const Tensor& at) {
    return while_loop([](const Tensor& state) { return less(sum(state), 1e6); },
                      [&](const Tensor& state) { return take(rows, at, 0) * 0.0 + state * 2.0; },
                      ones({2, 3}));
  };
  const Tensor good = tensor<std::int64_t>({1, 3}), bad = tensor<std::int64_t>({1, -9});
  const auto g = compile(f, {.device = device()});
  const std::vector<double> expected = compile(f)(table(), good).to_vector();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(g(table(), good).to_vector(), expected);
    EXPECT_EQ(code_of([&] { (void)g(table(), bad); }), ErrorCode::index_out_of_range);
  }
}

TEST(CudaLoopFailures, DonatedStateSurvivesALabelThatIsNone) {
  TM_NEEDS_GPU();
  const auto step = [](const Tensor& w, const Tensor& x, const Tensor& labels) {
    const auto loss = [&](const Tensor& weights) {
      return scan(
          [&](const Tensor& sum_so_far, const std::pair<Tensor, Tensor>& example) {
            return sum_so_far + sum(cross_entropy(matmul(example.first, weights), example.second));
          },
          zeros({}), std::pair(x, labels));
    };
    return w - 0.1 * grad(loss)(w);
  };
  const Tensor x = random_normal(key(1), {5, 4, 6});
  std::vector<std::int64_t> numbers(20);
  for (std::size_t i = 0; i < 20; ++i) numbers[i] = static_cast<std::int64_t>(i * i % 7);
  const Tensor good = tensor<std::int64_t>(numbers, {5, 4});
  numbers[13] = 7;
  const Tensor bad = tensor<std::int64_t>(numbers, {5, 4});
  const auto g = compile(step, {.donate = {0}, .device = device()});
  const auto on_cpu = compile(step);
  Tensor w = to_device(random_normal(key(2), {6, 7}), device());
  Tensor expected = random_normal(key(2), {6, 7});
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(code_of([&] { (void)g(w, x, bad); }), ErrorCode::index_out_of_range);
    w = g(std::move(w), x, good);
    expected = on_cpu(expected, x, good);
    const std::vector<double> is = w.to_vector(), should = expected.to_vector();
    for (std::size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], should[i], 1e-5);
  }
}

}  // namespace
}  // namespace tidemark::cuda
