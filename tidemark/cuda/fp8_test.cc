// Large products of 16-bit floats in fp8, where they are asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/literals.h"
#include "tests/support/run_on_device.h"
#include "tests/support/tiny_models.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/product_form.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/quantization/fp8.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/runtime/device.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using namespace tidemark::literals;

constexpr double infinity = std::numeric_limits<double>::infinity();

#define TM_NEEDS_FP8()                                                                        \
  do {                                                                                        \
    if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason; \
    if (!device()->fp8_target(false)) GTEST_SKIP() << "this GPU multiplies nothing in fp8";   \
  } while (false)

std::map<std::string_view, int> ops_of(const Graph& graph) {
  std::map<std::string_view, int> counts;
  for (const Node& node : graph.nodes()) {
    ++counts[node.op->name];
    for (const Graph& region : node.regions) {
      for (const auto& [name, count] : ops_of(region)) counts[name] += count;
    }
  }
  return counts;
}

Graph prepared(const Graph& step, const Target& target) {
  return prepare_graph(step, {}, nullptr, {}, target);
}

// Two blocks of a Llama as wide as that of a billion parameters: its products are large, and gain.
Graph wide_llama() {
  const nn::LlamaConfig config{
      .layers = 2, .width = 2048, .heads = 32, .kv_heads = 32, .hidden = 5632, .vocabulary = 1024};
  const Tensor tokens = Tensor::of_type({DType::i32, {1, 4096}});
  const nn::LossGraph loss = nn::loss_graph(
      DType::bf16, [&] { return nn::Llama::init(key(0), config); },
      [](const nn::Llama& model, Tensor in, Tensor next) { return model.loss(in, next); }, tokens, tokens);
  return nn::training_step(loss, nn::OptimizerKind::adamw, DType::bf16);
}

TEST(Fp8, APlanOfALargeModelHasProductsInFp8AndNamesItsArithmetic) {
  const Graph step = wide_llama(), graph = prepared(step, cuda_fp8_target());
  const std::map<std::string_view, int> ops = ops_of(graph);
  // Gate, up and down: forward and both gradients. What is counted for the others is near to what is won.
  EXPECT_GE(ops.at("fp8_product"), 2 * 9);
  EXPECT_EQ(ops_of(prepared(step, cuda_target())).count("fp8_product"), 0u);
  const Plan plan = make_plan(graph, cuda_fp8_target(), {.machine = &h200_machine()});
  EXPECT_EQ(plan.target, "cuda_fp8");
  EXPECT_TRUE(problems(graph, plan, cuda_fp8_target()).empty());
  EXPECT_FALSE(problems(graph, plan, cuda_target()).empty());
  const Graph exact = prepared(step, cuda_target());
  EXPECT_LT(plan.seconds, make_plan(exact, cuda_target(), {.machine = &h200_machine()}).seconds);
}

// One block of a GPT-2.
Graph gpt2_block(std::int64_t width, std::int64_t heads, std::int64_t batch) {
  const nn::GptConfig config{.layers = 1, .width = width, .heads = heads, .vocabulary = 1024};
  const Tensor tokens = Tensor::of_type({DType::i32, {batch, 1024}});
  const nn::LossGraph loss = nn::loss_graph(
      DType::bf16, [&] { return nn::Gpt::init(key(0), config); },
      [](const nn::Gpt& model, Tensor in, Tensor next) { return model.loss(in, next); }, tokens, tokens);
  return nn::training_step(loss, nn::OptimizerKind::adamw, DType::bf16);
}

TEST(Fp8, ProductsOfTheLargestGpt2AreInFp8AndThoseOfTheSmallestStay) {
  const std::map<std::string_view, int> large = ops_of(prepared(gpt2_block(1600, 25, 8), cuda_fp8_target()));
  // Into heads, up and down: forward and both gradients, but one. Out of heads: they lie between the rows.
  EXPECT_EQ(large.at("fp8_product"), 8);
  EXPECT_EQ(large.at("contract"), 4);
  // On an H200 its products take 1.24 times as long in bf16, and codes of their operands more than is won.
  EXPECT_EQ(ops_of(prepared(gpt2_block(768, 12, 16), cuda_fp8_target())).count("fp8_product"), 0u);
}

TEST(Fp8, SmallModelsAreLeftAlone) {
  const Graph step = tiny::gpt(2).step;
  EXPECT_EQ(ops_of(prepared(step, cuda_fp8_target())), ops_of(prepared(step, cuda_target())));
}

Call product_call(const std::vector<Type>& in, const std::vector<Type>& out, const Attrs& attrs) {
  return {.op = &op::fp8_product, .in = in, .out = out, .attrs = &attrs};
}

TEST(Fp8, TheLibraryTakesWhatItCanAndTheCpuTheRest) {
  const auto route = [](std::int64_t m, std::int64_t n, std::int64_t k, Fp8ProductAttrs form) {
    form.shape = {m, n};
    const Attrs attrs = pack(form);
    const Type scale{DType::f32, {}};
    const std::vector<Type> in = {{DType::u8, {m, k}}, {DType::u8, {n, k}}, scale, scale},
                            out = {{form.dtype, form.shape}};
    return route_of(product_call(in, out, attrs));
  };
  EXPECT_EQ(route(64, 32, 16, {}), Route::library);
  EXPECT_EQ(route(64, 32, 16, {.lhs = "e5m2", .dtype = DType::f16}), Route::library);
  EXPECT_EQ(route(64, 32, 16, {.lhs = "e5m2", .rhs = "e5m2"}), Route::host);
  EXPECT_EQ(route(64, 32, 16, {.dtype = DType::f32}), Route::host);
  EXPECT_EQ(route(64, 32, 24, {}), Route::host);
  EXPECT_EQ(route(0, 32, 16, {}), Route::host);
}

TEST(Fp8, BothOperandsLieWithTheirDepthLastAndChoicesOfAlgorithmsAreApart) {
  const Attrs attrs = pack(Fp8ProductAttrs{.shape = {64, 32}});
  const Type scale{DType::f32, {}};
  const std::vector<Type> in = {{DType::u8, {64, 48}}, {DType::u8, {32, 48}}, scale, scale},
                          out = {{DType::bf16, {64, 32}}};
  const ProductForm form = *product_form(product_call(in, out, attrs));
  EXPECT_TRUE(form.left.transposed);
  EXPECT_FALSE(form.right.transposed);
  EXPECT_EQ(form.left.leading, 48);
  EXPECT_EQ(form.right.leading, 48);
  ProductForm other = form;
  other.fp8->lhs = Fp8Format::e5m2;
  EXPECT_NE(key_of(form), key_of(other));
  other.fp8.reset();
  EXPECT_NE(key_of(form), key_of(other));
}

TEST(Fp8, OnlyLaterGpusHaveIt) {
  EXPECT_FALSE(has_fp8({8, 0}));
  EXPECT_FALSE(has_fp8({8, 6}));
  EXPECT_TRUE(has_fp8({8, 9}));
  EXPECT_TRUE(has_fp8({9, 0}));
  EXPECT_TRUE(has_fp8({10, 0}));
}

TEST(Fp8, TheCpuRefusesIt) {
  for (const bool tf32 : {false, true}) {
    const auto f = compile([](Tensor a) { return matmul(a, a); }, {.tf32 = tf32, .fp8 = true});
    EXPECT_EQ(code_of([&] { f(zeros({4, 4})); }), ErrorCode::bad_plan_option);
  }
}

constexpr std::int64_t wide = 4096;  // products of such matrices gain

Tensor numbers(std::uint64_t seed, double deviation, DType dtype) {
  return cast(random_normal(key(static_cast<std::int64_t>(seed)), {wide, wide}) * deviation, dtype);
}

Tensor layers(Tensor w, Tensor x) {
  for (int i = 0; i < 3; ++i) x = tanh(matmul(x, w));
  return mean(square(cast(x, DType::f32))) * 4096;  // gradients of f16 would be too small without
}

// What the tests on a GPU rely on.
TEST(Fp8, LayersOfWideMatricesAreInFp8) {
  const Tensor w = zeros({wide, wide}, DType::bf16);
  const Graph graph = *trace_call(value_and_grad(layers), std::tuple(w, w), {}).graph;
  EXPECT_EQ(ops_of(prepared(graph, cuda_fp8_target())).at("fp8_product"), 8);
}

TEST(Fp8, GradientsAreNearAndTheSameAtEveryBudget) {
  TM_NEEDS_FP8();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor x = numbers(1, 1, dtype), w = numbers(2, 0.02, dtype);
    auto exact = compile(value_and_grad(layers), {.device = device()});
    auto free = compile(value_and_grad(layers), {.device = device(), .fp8 = true});
    const auto [expected_loss, expected] = exact(w, x);
    const auto [loss, gradient] = free(w, x);
    EXPECT_NEAR(loss.to_vector()[0], expected_loss.to_vector()[0], 0.03 * expected_loss.to_vector()[0]);
    const std::vector<double> right = expected.to_vector(), given = gradient.to_vector();
    EXPECT_NE(right, given) << "nothing was rounded";
    double squares = 0, off = 0;
    for (std::size_t i = 0; i < right.size(); ++i)
      squares += right[i] * right[i], off += (right[i] - given[i]) * (right[i] - given[i]);
    EXPECT_LT(std::sqrt(off / squares), 0.3);
    EXPECT_NE(free.plan().summary().find("in fp8"), std::string::npos);
    EXPECT_EQ(exact.plan().summary().find("in fp8"), std::string::npos);
    for (const int percent : {90, 75, 60}) {
      auto less = compile(
          value_and_grad(layers),
          {.memory = Bytes(free.plan().peak().count * percent / 100), .device = device(), .fp8 = true});
      try {
        for (int round = 0; round < 3; ++round)
          EXPECT_EQ(less(w, x).second.to_vector(), given) << percent << "%";
      } catch (const InfeasibleBudget&) {
        continue;
      }
    }
  }
}

// A loop's reverse computes its steps again where memory is short.
TEST(Fp8, LoopsHaveTheSameBitsAtEveryBudget) {
  TM_NEEDS_FP8();
  const auto f = [](Tensor w, Tensor x) {
    x = repeat(
        6, [&](Tensor v) { return tanh(matmul(v, w)); }, x);
    return mean(square(cast(x, DType::f32)));
  };
  const Tensor x = numbers(1, 1, DType::bf16), w = numbers(2, 0.02, DType::bf16);
  auto free = compile(value_and_grad(f), {.device = device(), .fp8 = true});
  const std::vector<double> given = free(w, x).second.to_vector();
  for (const int percent : {80, 60, 50}) {
    auto less =
        compile(value_and_grad(f),
                {.memory = Bytes(free.plan().peak().count * percent / 100), .device = device(), .fp8 = true});
    try {
      EXPECT_EQ(less(w, x).second.to_vector(), given) << percent << "%";
    } catch (const InfeasibleBudget&) {
      continue;
    }
  }
}

TEST(Fp8, ZerosAndWhatIsNoNumberStayWhatTheyAre) {
  TM_NEEDS_FP8();
  constexpr std::int64_t rows = wide, n = wide;
  auto product = compile([](Tensor a, Tensor b) { return matmul(a, b); }, {.device = device(), .fp8 = true});
  const Tensor w = numbers(2, 1, DType::bf16);
  for (const double x : product(zeros({rows, n}, DType::bf16), w).to_vector()) ASSERT_EQ(x, 0);
  std::vector<float> some(rows * n, 0.5f);
  some[3 * n + 7] = std::numeric_limits<float>::quiet_NaN();
  some[5 * n + 9] = static_cast<float>(infinity);
  const Tensor x = cast(tensor(some, {rows, n}), DType::bf16);
  const std::vector<double> y = product(x, w).to_vector();
  EXPECT_GE(ops_of(product.plan().graph).at("fp8_product"), 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool touched = r == 3 || r == 5;
    for (std::int64_t c = 0; c < n; ++c)
      ASSERT_EQ(std::isfinite(y[static_cast<std::size_t>(r * n + c)]), !touched) << r << ", " << c;
  }
}

TEST(Fp8, TheErrorIsMeasuredNextToProductsInTheirOwnDtype) {
  TM_NEEDS_FP8();
  const Tensor x = numbers(1, 1, DType::bf16), w = numbers(2, 0.02, DType::bf16);
  auto step = compile(value_and_grad(layers), {.device = device(), .fp8 = true});
  const GradientError error = step.gradient_error(w, x);
  EXPECT_GT(error.largest, 1e-4);
  EXPECT_LT(error.largest, 0.3);
  EXPECT_NE(error.text().find("in fp8"), std::string::npos);
  auto exact = compile(value_and_grad(layers), {.device = device()});
  EXPECT_EQ(exact.gradient_error(w, x).largest, 0);
}

// By the library and by the CPU's kernel, of any codes that are numbers, in both formats.
TEST(Fp8, ProductsByTheLibraryAreThoseOfTheDefinition) {
  TM_NEEDS_FP8();
  constexpr std::int64_t m = 64, n = 48, k = 256;
  const auto codes = [](std::int64_t rows, std::uint64_t seed) {
    return random_literal(DType::u8, {rows, k}, seed, 0, 80);
  };
  const std::vector<Literal> all = {codes(m, 1), codes(n, 2), literal_of(DType::f32, {}, {0.25}),
                                    literal_of(DType::f32, {}, {0x1p-6})};
  ThreadPool pool(1);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const auto& [lhs, rhs] : {std::pair("e4m3", "e4m3"), {"e5m2", "e4m3"}, {"e4m3", "e5m2"}}) {
      for (const bool adds : {false, true}) {
        Graph graph;
        Builder builder(graph);
        std::vector<Literal> inputs = all;
        if (adds) inputs.push_back(random_literal(dtype, {m, n}, 3, 0, 100));
        std::vector<Var> operands;
        for (const Literal& input : inputs)
          operands.emplace_back(builder, graph.add_input({input.dtype, input.shape}));
        const Attrs attrs = pack(Fp8ProductAttrs{.lhs = lhs, .rhs = rhs, .dtype = dtype, .shape = {m, n}});
        graph.add_output(ids_of(builder.call(op::fp8_product, operands, attrs)).front());
        const Plan plan = make_plan(graph, cuda_target());
        const std::shared_ptr<Device> gpu = device();
        DeviceRun run(*gpu, graph, plan);
        const std::vector<double> got = values_of(run.run(inputs)[0]),
                                  expected = values_of(interpret(graph, inputs, pool)[0]);
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], 0.01 * expected[i])
              << lhs << " " << rhs << " " << adds << " " << i;
      }
    }
  }
}

// A row, on the way to the result.
TEST(Fp8, WhatIsAddedIsAddedByTheLibrary) {
  TM_NEEDS_FP8();
  const auto with_row = [](Tensor a, Tensor b, Tensor row) { return matmul(a, b) + row; };
  const Tensor a = numbers(1, 1, DType::bf16), b = numbers(2, 1, DType::bf16),
               row = cast(arange(wide, DType::f32), DType::bf16);
  auto exact = compile(with_row, {.device = device()});
  auto coded = compile(with_row, {.device = device(), .fp8 = true});
  const std::vector<double> right = exact(a, b, row).to_vector(), given = coded(a, b, row).to_vector();
  EXPECT_GE(ops_of(coded.plan().graph).at("fp8_product"), 1);
  double apart = 0;
  for (std::size_t i = 0; i < right.size(); ++i) apart = std::max(apart, std::abs(right[i] - given[i]));
  EXPECT_LT(apart, 64);  // of numbers up to 4096, and sums of 4096 products of standard deviation 1
}

}  // namespace
}  // namespace tidemark::cuda
