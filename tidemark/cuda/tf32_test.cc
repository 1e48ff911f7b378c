// Products of f32 in TF32, where they are asked for.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/tiny_models.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/product_form.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/runtime/device.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using namespace tidemark::literals;

TEST(Tf32, APlanNamesItsArithmeticAndIsForThatAlone) {
  const Graph graph = prepare_graph(tiny::gpt(2).step, {}, nullptr, {}, cuda_tf32_target());
  const Plan plan = make_plan(graph, cuda_tf32_target(), {.machine = &h200_machine()});
  EXPECT_EQ(plan.target, "cuda_tf32");
  EXPECT_TRUE(problems(graph, plan, cuda_tf32_target()).empty());
  EXPECT_FALSE(problems(graph, plan, cuda_target()).empty());
}

TEST(Tf32, ProductsOfF32AreNineTimesAsFastAndNothingElseIs) {
  const auto seconds = [](const Target& target, DType dtype) {
    const auto f = [](Tensor a, Tensor b) { return matmul(a, b); };
    const Tensor a = zeros({4096, 4096}, dtype);
    const Graph graph = *trace_call(f, std::tuple(a, a), {}).graph;
    const Machine& machine = h200_machine();
    return make_plan(graph, target, {.machine = &machine}).seconds - machine.overhead;
  };
  const double bytes = 3.0 * 4 * 4096 * 4096;
  const double moved = bytes / h200_machine()[WorkKind::contraction].bytes.at(bytes);
  EXPECT_NEAR(
      (seconds(cuda_target(), DType::f32) - moved) / (seconds(cuda_tf32_target(), DType::f32) - moved), 9,
      1e-6);
  for (const DType dtype : {DType::bf16, DType::f64})
    EXPECT_EQ(seconds(cuda_target(), dtype), seconds(cuda_tf32_target(), dtype));
}

TEST(Tf32, ChoicesOfAlgorithmsAreApart) {
  ProductForm form = matrix_product({.m = 64,
                                     .n = 64,
                                     .k = 64,
                                     .lhs_row = 64,
                                     .lhs_depth = 1,
                                     .rhs_depth = 64,
                                     .rhs_column = 1,
                                     .leading = 64});
  const std::string plain = key_of(form);
  form.tf32 = true;
  EXPECT_NE(key_of(form), plain);
}

TEST(Tf32, TheCpuRefusesIt) {
  const auto f = compile([](Tensor a) { return matmul(a, a); }, {.tf32 = true});
  EXPECT_EQ(code_of([&] { f(zeros({4, 4})); }), ErrorCode::bad_plan_option);
}

TEST(Tf32, ProductsAreRoundedAsTensorCoresDoAndTheSameAtEveryBudget) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  const auto f = [](Tensor a, Tensor b) {
    Tensor x = a;
    for (int i = 0; i < 6; ++i) x = tanh(matmul(x, b));
    return grad([&](Tensor w) { return sum(square(matmul(tanh(matmul(x, w)), w))); })(b);
  };
  const Tensor a = random_normal(key(1), {512, 512}), b = random_normal(key(2), {512, 512}) * 0.05;
  auto exact = compile(f, {.device = device()});
  auto free = compile(f, {.device = device(), .tf32 = true});
  const std::vector<double> expected = exact(a, b).to_vector(), rounded = free(a, b).to_vector();
  EXPECT_NE(rounded, expected) << "nothing was rounded";
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    apart = std::max(apart, std::abs(expected[i] - rounded[i]));
  }
  EXPECT_LT(apart, 1e-2 * largest);
  EXPECT_NE(free.plan().summary().find("TF32"), std::string::npos);
  EXPECT_EQ(exact.plan().summary().find("TF32"), std::string::npos);
  for (const int percent : {90, 75, 65}) {
    auto less = compile(
        f, {.memory = Bytes(free.plan().peak().count * percent / 100), .device = device(), .tf32 = true});
    try {
      for (int round = 0; round < 3; ++round) EXPECT_EQ(less(a, b).to_vector(), rounded) << percent << "%";
    } catch (const InfeasibleBudget&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
