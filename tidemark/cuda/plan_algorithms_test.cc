#include "tidemark/cuda/plan_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/errors.h"
#include "tests/support/run_on_device.h"
#include "tests/support/scratch_folder.h"
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
  none.note("a", to_text(some));
  const PlannedAlgorithms used = none.used();
  EXPECT_EQ(used.machine, "gpu");
  ASSERT_EQ(used.entries.size(), 1u);

  const PlanAlgorithms again(used, "gpu");
  EXPECT_TRUE(again.are_recorded());
  EXPECT_EQ(again.recorded("a"), to_text(some));
  EXPECT_THAT(error_of_plan([&] { (void)again.recorded("b"); }), ::testing::HasSubstr("none for `b`"));
  EXPECT_THAT(error_of_plan([&] { again.refuse("a", "cuDNN 90000"); }),
              ::testing::HasSubstr("cannot run on `gpu` with cuDNN 90000"));
}

TEST(PlanAlgorithms, ThoseOfAnotherMachineAreRefused) {
  EXPECT_THAT(error_of_plan([] {
                PlanAlgorithms({.machine = "one", .entries = {{"a", to_text(some)}}}, "two");
              }),
              ::testing::HasSubstr("a plan with algorithms of `one` on `two`"));
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
  ASSERT_FALSE(other.algorithms.empty());
  EXPECT_THAT(error_of_plan([&] { DeviceRun(*gpu, graph, other); }), ::testing::HasSubstr("and none for"));
}

// An image model's forward and backward convolutions, by engines that timing chose: from then on a plan that
// was saved has them, in a cache that knows of none.
TEST(PlanAlgorithms, APlanThatWasSavedConvolvesWithItsEnginesOrSaysWhyNot) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  const std::shared_ptr<Device> gpu = device();
  const auto loss = [](const std::vector<Tensor>& all) {
    const Tensor h = relu(conv(all[0], all[1], {.low = {1, 1}, .high = {1, 1}}));
    return sum(square(conv(h, all[2], {.stride = {2, 2}})));
  };
  const std::vector<Tensor> all = {random_normal(key(1), {8, 16, 24, 24}),
                                   random_normal(key(2), {32, 16, 3, 3}),
                                   random_normal(key(3), {16, 32, 1, 1})};
  const auto f = grad(loss);
  const char* const before = std::getenv("TIDEMARK_CUDA_CACHE");
  const std::string old = before ? before : "";
  Graph graph;
  Plan plan;
  std::vector<Literal> results;
  const auto literal = [](const Tensor& t) { return literal_of(t.dtype(), t.shape(), t.to_vector()); };
  {
    const ScratchFolder folder;
    ::setenv("TIDEMARK_CUDA_CACHE", folder.path().c_str(), 1);
    ::setenv("TIDEMARK_CUDA_TIMING", "1", 1);
    auto function = compile(f, {.device = gpu});
    const std::vector<Tensor> gradients = function(all);
    ::unsetenv("TIDEMARK_CUDA_TIMING");
    for (const Tensor& gradient : gradients) results.push_back(literal(gradient));
    plan = plan_from_json(function.plan().to_json());
    graph = function.plan().graph;
  }
  const ScratchFolder empty;
  ::setenv("TIDEMARK_CUDA_CACHE", empty.path().c_str(), 1);
  const auto is_convolution = [](const PlannedAlgorithms::Entry& e) {
    return e.form.starts_with("convolution");
  };
  EXPECT_GE(std::ranges::count_if(plan.algorithms.entries, is_convolution), 4);
  std::vector<Literal> inputs;
  for (const Tensor& input : all) inputs.push_back(literal(input));
  {
    DeviceRun again(*gpu, graph, plan);
    EXPECT_EQ(bit_difference(again.run(inputs), results), "");
  }
  const auto changed = [&](const std::function<void(PlannedAlgorithms::Entry&)>& change) {
    Plan other = plan;
    change(*std::ranges::find_if(other.algorithms.entries, is_convolution));
    return error_of_plan([&] { DeviceRun(*gpu, graph, other); });
  };
  EXPECT_THAT(changed([](auto& entry) { entry.algorithm = "cuDNN 1, engine 0"; }),
              ::testing::HasSubstr("the plan has `cuDNN 1, engine 0` for `convolution"));
  EXPECT_THAT(changed([](auto& entry) { entry.algorithm = "engine the first"; }),
              ::testing::HasSubstr("cannot run on"));
  EXPECT_THAT(changed([](auto& entry) {
                entry.algorithm.replace(entry.algorithm.find(", engine"), std::string::npos,
                                        ", engine 987654");
              }),
              ::testing::HasSubstr("engine 987654"));
  EXPECT_THAT(changed([](auto& entry) { entry.form += " and more"; }), ::testing::HasSubstr("and none for"));
  // A kernel of ours is a choice, too: it needs no library.
  Plan generated = plan;
  for (auto& entry : generated.algorithms.entries) {
    if (is_convolution(entry)) entry.algorithm = "generated";
  }
  DeviceRun ours(*gpu, graph, generated);
  EXPECT_EQ(ours.run(inputs).size(), results.size());
  before ? ::setenv("TIDEMARK_CUDA_CACHE", old.c_str(), 1) : ::unsetenv("TIDEMARK_CUDA_CACHE");
}

}  // namespace
}  // namespace tidemark::cuda
