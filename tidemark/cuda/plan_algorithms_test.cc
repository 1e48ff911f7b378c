#include "tidemark/cuda/plan_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/run_on_device.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/runtime/device.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

constexpr ProductAlgorithm some = {1, 0xffffffffffffffff, 3, 0, 5, 6, 7, 0x8000000000000000};

std::string error_of_plan(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_kernel);
    return error.what();
  }
  return "";
}

TEST(PlanAlgorithms, TextsComeBackAndOthersAreRefused) {
  EXPECT_EQ(product_algorithm_of(to_text(some)), some);
  std::string text = to_text(some);
  EXPECT_EQ(text.size(), 128u);
  EXPECT_EQ(product_algorithm_of(text.substr(1)), std::nullopt);
  text[17] = 'g';
  EXPECT_EQ(product_algorithm_of(text), std::nullopt);
  text[17] = '-';
  EXPECT_EQ(product_algorithm_of(text), std::nullopt);
}

TEST(PlanAlgorithms, WhatIsRecordedIsTakenAndWhatIsUsedIsNoted) {
  PlanAlgorithms none({}, "gpu");
  EXPECT_FALSE(none.are_recorded());
  EXPECT_EQ(none.recorded("a"), std::nullopt);
  none.note("a", some);
  const PlannedAlgorithms used = none.used();
  EXPECT_EQ(used.machine, "gpu");
  ASSERT_EQ(used.entries.size(), 1u);

  const PlanAlgorithms again(used, "gpu");
  EXPECT_TRUE(again.are_recorded());
  EXPECT_EQ(again.recorded("a"), some);
  EXPECT_THAT(error_of_plan([&] { (void)again.recorded("b"); }),
              ::testing::HasSubstr("none for its product `b`"));
  EXPECT_THAT(error_of_plan([&] { again.refuse("a"); }), ::testing::HasSubstr("cannot run on `gpu`"));
}

TEST(PlanAlgorithms, ThoseOfAnotherMachineAndWhatAreNoneAreRefused) {
  EXPECT_THAT(error_of_plan([] {
                PlanAlgorithms({.machine = "one", .entries = {{"a", to_text(some)}}}, "two");
              }),
              ::testing::HasSubstr("a plan with algorithms of `one` on `two`"));
  EXPECT_THAT(error_of_plan([] {
                PlanAlgorithms({.machine = "one", .entries = {{"a", "7"}}}, "one");
              }),
              ::testing::HasSubstr("none of cuBLASLt's"));
  const PlanAlgorithms without({.machine = "one"}, "two");
  EXPECT_FALSE(without.are_recorded());
}

TEST(PlanAlgorithms, APlanThatWasSavedRunsWithItsAlgorithmsOrSaysWhyNot) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  const std::shared_ptr<Device> gpu = device();
  const auto f = [](Tensor a, Tensor b) { return matmul(tanh(matmul(a, b)), b); };
  const Tensor a = random_normal(key(1), {640, 512}), b = random_normal(key(2), {512, 512});
  auto function = compile(f, {.device = gpu});
  const Tensor result = function(a, b);
  const Plan plan = plan_from_json(function.plan().to_json());
  ASSERT_FALSE(plan.algorithms.empty());
  EXPECT_THAT(plan.algorithms.machine, ::testing::HasSubstr("cuBLASLt"));
  const Graph& graph = function.plan().graph;
  const auto literal = [](const Tensor& x) { return literal_of(x.dtype(), x.shape(), x.to_vector()); };
  const std::vector<Literal> inputs = {literal(a), literal(b)};
  EXPECT_EQ(bit_difference(DeviceRun(*gpu, graph, plan).run(inputs), {literal(result)}), "");

  Plan other = plan;
  other.algorithms.machine = "NVIDIA something else";
  EXPECT_THAT(error_of_plan([&] { DeviceRun(*gpu, graph, other); }),
              ::testing::HasSubstr("NVIDIA something else"));
  other = plan;
  for (auto& entry : other.algorithms.entries) entry.algorithm = std::string(128, 'f');
  EXPECT_THAT(error_of_plan([&] { DeviceRun(*gpu, graph, other); }), ::testing::HasSubstr("cannot run on"));
  other = plan;
  other.algorithms.entries.pop_back();
  if (!other.algorithms.empty())
    EXPECT_THAT(error_of_plan([&] { DeviceRun(*gpu, graph, other); }),
                ::testing::HasSubstr("none for its product"));
}

}  // namespace
}  // namespace tidemark::cuda
