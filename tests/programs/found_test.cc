// What random programs have found, as the small programs they were made into.
#include <gtest/gtest.h>

#include "tests/programs/check.h"
#include "tests/support/random_programs.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

std::string bits(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()), static_cast<std::size_t>(tensor.type().bytes())};
}

GraphCase case_of(std::string_view text) {
  GraphCase program{parse(text, {.find = find_op}), {}};
  for (const Input& input : program.graph.inputs()) {
    const Type& type = program.graph.type(input.value);
    program.inputs.push_back(random_literal(type.dtype, type.shape, input.value.index));
  }
  return program;
}

// Autodiff takes the gradient of softmax apart to differentiate it again; the step that is computed again
// must be the one that was kept.
TEST(Found, TheGradientOfALoopHasItsBitsHoweverManyStatesAreKept) {
  const Tensor x = tensor_of(random_literal(DType::f32, {3, 67}, 3)), gain = ones({67}), bias = zeros({67});
  const auto gradient_with = [&](std::optional<Bytes> memory) {
    const auto inner = [&](const Tensor& v) {
      return sum(square(softmax(v * 3))) + sum(tanh(layer_norm(v, gain, bias)) * v);
    };
    const auto step = [&](const Tensor& u) { return tanh(u + grad(inner)(u) * 2); };
    const auto f = [&](const Tensor& u) { return sum(square(repeat(6, step, u, {.memory = memory}))); };
    return bits(compile(grad(f))(x));
  };
  const std::string all = gradient_with({});
  for (std::int64_t states : {1, 2, 4}) EXPECT_EQ(gradient_with(Bytes(states * 3 * 67 * 4)), all) << states;
}

// The states of the smaller loop count, too: with the memory of one state of the larger it keeps several.
TEST(Found, LoopsOfSeveralSizesFitInTheirSmallestBudget) {
  const char* const text =
      R"(graph(%0: f32[1, 7, 7, 1], %1: f32[7], %2: f32[], %3: f32[3, 2], %4: f32[3, 2]) -> (f32[1, 4, 2]) {
  %5 = cast(%1) {dtype = i64} : i64[7]
  %6 = clamp(%5) {high = 3.0} : i64[7]
  %7 = clamp(%6) {high = 6.0} : i64[7]
  %8 = scatter_add(%1, %7, %1) : f32[7]
  %9 = reshape(%0) {shape = [49]} : f32[49]
  %10 = slice(%9) {start = [0], limit = [18], step = [1]} : f32[18]
  %11 = reshape(%10) {shape = [3, 6]} : f32[3, 6]
  %12 = clamp(%4) {low = -0.5, high = 0.5} : f32[3, 2]
  %13 = clamp(%3) {low = 0.5, high = 1.5} : f32[3, 2]
  %14 = constant() {value = f32[] 0.0} : f32[]
  %15 = pad(%8, %14) {low = [0], high = [11], interior = [0]} : f32[18]
  %16 = reshape(%15) {shape = [3, 6]} : f32[3, 6]
  %17, %18 = group_norm_params(%11, %12, %13, %16) {groups = 2} : f32[6], f32[6]
  %19 = reshape(%17) {shape = [6, 1]} : f32[6, 1]
  %20, %21 = loop(%19, %0, %19) {trips = 1, carries = 1, scanned = 1} [
    graph(%0: f32[6, 1], %1: f32[7, 7, 1], %2: f32[6, 1]) -> (f32[6, 1], f32[6]) {
      %3 = constant() {value = f32[6, 1] [0.63331, -0.4635519, 0.53663045, -0.72284245, 0.8414872, 0.08483243]} : f32[6, 1]
      %4 = add(%0, %3) : f32[6, 1]
      %5 = tanh(%2) : f32[6, 1]
      %6 = reshape(%4) {shape = [6]} : f32[6]
      %7 = tanh(%6) : f32[6]
      return %5, %7
    }
  ] : f32[6, 1], f32[1, 6]
  %22 = broadcast(%2) {shape = [7, 7, 2]} : f32[7, 7, 2]
  %23, %24, %25 = loop(%20, %22, %22) {trips = 7, carries = 2, scanned = 1} [
    graph(%0: f32[6, 1], %1: f32[7, 7, 2], %2: f32[7, 2]) -> (f32[6, 1], f32[7, 7, 2], f32[7, 7, 2]) {
      %3 = constant() {value = f32[6, 1] [-0.7351394, 0.7176176, 0.6977852, -0.85968345, 0.47050574, -0.48590192]} : f32[6, 1]
      %4 = sign(%1) : f32[7, 7, 2]
      %5 = reshape(%0) {shape = [6]} : f32[6]
      %6 = constant() {value = f32[] 0.0} : f32[]
      %7 = pad(%5, %6) {low = [0], high = [92], interior = [0]} : f32[98]
      %8 = reshape(%7) {shape = [7, 7, 2]} : f32[7, 7, 2]
      %9 = tanh(%8) : f32[7, 7, 2]
      %10 = tanh(%4) : f32[7, 7, 2]
      return %3, %9, %10
    }
  ] : f32[6, 1], f32[7, 7, 2], f32[7, 7, 7, 2]
  %26 = reshape(%25) {shape = [686]} : f32[686]
  %27 = slice(%26) {start = [0], limit = [24], step = [1]} : f32[24]
  %28 = reshape(%27) {shape = [3, 4, 2]} : f32[3, 4, 2]
  %29 = reduce_var(%28) {axes = [0], keep = true} : f32[1, 4, 2]
  return %29
})";
  EXPECT_EQ(gradient_difference(case_of(text), {.budget = 0}), "");
}

// How much a loop may keep was decided with all inputs donated; then some were not, for a loop that can fail
// behind what writes there, and a budget above the smallest was refused.
TEST(Found, LoopsWithDonatedStateFitInEveryBudgetAboveTheSmallest) {
  const GraphCase program = case_of(R"(graph(%0: f64[64, 1], %1: f64[], %2: i64[]) -> (f64[]) {
  %3, %4, %5 = while_loop(%2, %0) {carries = 2, max_steps = 10} [
    graph(%0: i64[], %1: f64[64, 1]) -> (bool[]) {
      %2 = constant() {value = i64[] 2} : i64[]
      %3 = less(%0, %2) : bool[]
      return %3
    },
    graph(%0: i64[], %1: f64[64, 1]) -> (i64[], f64[64, 1]) {
      %2 = constant() {value = f64[] 0.5} : f64[]
      %3 = broadcast(%2) {shape = [64, 1]} : f64[64, 1]
      %4 = constant() {value = i64[] 1} : i64[]
      %5 = add(%0, %4) : i64[]
      return %5, %3
    }
  ] : i64[], f64[64, 1], i64[]
  %6 = sin(%4) : f64[64, 1]
  %7 = reduce_sum(%6) {axes = [0, 1]} : f64[]
  %8 = add(%1, %7) : f64[]
  return %8
})");
  for (int budget = 0; budget < budget_steps; ++budget)
    EXPECT_EQ(gradient_difference(program, {.budget = budget, .donated = 7}), "") << budget;
}

// The cost of a factorisation is no whole number of operations.
TEST(Found, PlansWithAnyCostsPassTheVerifier) {
  const auto f = [](const Tensor& a, const Tensor& s) {
    return sum(sin(sin(clamp(cholesky(a + eye(4, DType::f64) * 5), -4, 4)))) + s + s * s;
  };
  const Tensor a = zeros({4, 4}, DType::f64), s = scalar(1, DType::f64);
  EXPECT_EQ(bits(compile(f)(a, s)), bits(f(a, s)));
  EXPECT_EQ(bits(compile(grad(f))(a, s)), bits(grad(f)(a, s)));
}

TEST(Found, BooleansArePadded) {
  const auto f = [](const Tensor& x) { return pad(x > 0, {1}, {2}); };
  const Tensor x = tensor<float>({1, -1, 2});
  EXPECT_EQ(f(x).to_vector(), (std::vector<double>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(compile(f)(x).to_vector(), f(x).to_vector());
}

}  // namespace
}  // namespace tidemark::testing
