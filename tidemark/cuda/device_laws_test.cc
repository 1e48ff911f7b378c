// Every op and random programs on a GPU, where there is one: the CPU's values to a tolerance, and the same
// bits at every budget and in every run.
#include <gtest/gtest.h>

#include "tests/support/gpu.h"
#include "tests/support/law_case.h"
#include "tests/support/random_programs.h"
#include "tests/support/run_on_device.h"
#include "tests/support/sanitized.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/target.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

ThreadPool& pool() {
  static ThreadPool one(1);
  return one;
}

Graph for_the_gpu(const Graph& graph) {
  return expand(
      graph, [](const Node& node) { return node.op->expand && !cuda_target().runs(*node.op); },
      ExpandRegions::inside);
}

Graph for_the_cpu(const Graph& graph) {
  return expand(
      graph, [](const Node& node) { return node.op->expand && !runs_on_cpu(*node.op); },
      ExpandRegions::inside);
}

// The largest difference over the largest magnitude, NaN where NaN is, infinities alike.
double relative_difference(const Literal& got, const Literal& expected) {
  const std::vector<double> a = values_of(got), b = values_of(expected);
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) != std::isnan(a[i])) return inf;
    if (std::isnan(b[i]) || a[i] == b[i]) continue;
    if (std::isinf(a[i]) || std::isinf(b[i])) return inf;
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  for (const double x : b) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return difference / std::max(largest, 1e-3);
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 2e-5;
    case DType::bf16:
      return 3e-2;
    case DType::f16:
      return 4e-3;
    default:
      return 0;
  }
}

class CudaLaws : public ::testing::TestWithParam<const Op*> {};

TEST_P(CudaLaws, GiveTheValuesOfTheCpuAndTheSameBitsAgain) {
  TM_NEEDS_GPU();
  const std::shared_ptr<Device> gpu = device();
  const Op& op = *GetParam();
  if (!runs_on_cpu(op) && (!op.expand || !cuda_target().runs(op))) GTEST_SKIP() << "nothing to compare";
  for (const LawCase& law : cases_of(*GetParam())) {
    SCOPED_TRACE(law.name());
    const Graph graph = for_the_gpu(law.graph());
    const std::vector<Literal> operands = law.operands();
    const std::vector<Literal> expected =
        runs_on_cpu(op) ? law.run(operands).results : interpret(for_the_cpu(law.graph()), operands, pool());
    const Plan plan = make_plan(graph, cuda_target());
    DeviceRun run(*gpu, graph, plan);
    const std::vector<Literal> got = run.run(operands);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t r = 0; r < got.size(); ++r) {
      const double allowed = tolerance_of(law.dtype) * std::max(1.0, law.sample.tolerance);
      EXPECT_LE(relative_difference(got[r], expected[r]), is_float(got[r].dtype) ? allowed : 0)
          << "result " << r;
    }
    EXPECT_EQ(bit_difference(run.run(operands), got), "") << "recorded";
    EXPECT_EQ(bit_difference(run.run(operands), got), "") << "replayed";
  }
}

std::string name_of_op(const ::testing::TestParamInfo<const Op*>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(AllOps, CudaLaws, ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         name_of_op);

TEST(CudaDevice, RandomProgramsHaveTheSameBitsAtEveryBudget) {
  TM_NEEDS_GPU();
  const std::shared_ptr<Device> gpu = device();
  int fitted = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = for_the_gpu(RandomProgram(seed).joint());
    const std::vector<Literal> inputs = inputs_of(graph);
    const std::vector<Literal> on_cpu = interpret(graph, inputs, pool());
    const Plan free = make_plan(graph, cuda_target());
    DeviceRun unlimited(*gpu, graph, free);
    const std::vector<Literal> expected = unlimited.run(inputs);
    for (std::size_t r = 0; r < expected.size(); ++r)
      EXPECT_LE(relative_difference(expected[r], on_cpu[r]), 1e-3) << "output " << r;
    EXPECT_EQ(bit_difference(unlimited.run(inputs), expected), "");
    for (int percent : {95, 85}) {
      const auto planned =
          try_plan(graph, cuda_target(), {.memory = free.peak() * percent / 100, .floor = false});
      if (!planned) continue;
      ++fitted;
      EXPECT_EQ(bit_difference(DeviceRun(*gpu, graph, planned.value()).run(inputs), expected), "");
    }
  }
  EXPECT_GT(fitted, 5);
}

TEST(CudaDevice, TakesNoMoreThanItsArena) {
  TM_NEEDS_GPU();
  const std::shared_ptr<Device> gpu = device();
  const std::int64_t bytes = std::int64_t{1} << 30;
  { Arena arena(*gpu, bytes); }
  EXPECT_THROW(Arena(*gpu, std::int64_t{1} << 50), DeviceError);
  Arena again(*gpu, bytes);
  EXPECT_TRUE(again.base());
}

TEST(CudaDevice, SaysWhyThereIsNone) {
  if (!devices().devices.empty()) GTEST_SKIP() << "there is one";
  try {
    device();
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_device);
  }
}

}  // namespace
}  // namespace tidemark::cuda
