// Affine couplings and other functions that can be undone up to rounding, as a user has them: undone only
// where lossy values are allowed, within the error, and reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;

struct Flow {
  std::vector<Tensor> in, scale, shift;
  Tensor turn;  // orthogonal
  TM_FIELDS(Flow, in, scale, shift, turn)

  static Flow init(int couplings, std::int64_t width = 16) {
    Flow flow;
    for (int i = 0; i < couplings; ++i) {
      flow.in.push_back(random_normal(key(3 * i), {width, 4 * width}, 0, 0.2));
      flow.scale.push_back(random_normal(key(3 * i + 1), {4 * width, width}, 0, 0.1));
      flow.shift.push_back(random_normal(key(3 * i + 2), {4 * width, width}, 0, 0.1));
    }
    // A reflection: I − 2vvᵀ/|v|².
    const Tensor v = random_normal(key(77), {width, 1});
    flow.turn = eye(width) - 2.0 * matmul(v, transpose(v)) / sum(square(v));
    return flow;
  }
};

// The negative log-likelihood under a standard normal distribution, as flows are trained.
Tensor flow_loss(const Flow& flow, const Tensor& x, double limit, bool mixed) {
  Tensor x1 = x, x2 = x * 0.5, volume = sum(x) * 0;
  for (std::size_t i = 0; i < flow.in.size(); ++i) {
    const auto parts = [&](const Tensor& h) {
      const Tensor inner = gelu(matmul(h, flow.in[i]));
      return std::pair(matmul(inner, flow.scale[i]), matmul(inner, flow.shift[i]));
    };
    const AffineHalves halves = affine_coupling(parts, {.limit = limit})(x1, x2);
    volume = volume + sum(halves.log_scale);
    x1 = halves.second, x2 = halves.first;
    if (mixed && i % 3 == 1) x1 = orthogonal_product(x1, flow.turn);
    if (mixed && i % 3 == 2) x2 = leaky_relu(x2, 0.8);
  }
  return 0.5 * sum(square(x1) + square(x2)) - volume;
}

std::vector<double> flow_joined(const Flow& flow) {
  std::vector<double> all;
  for (const auto* list : {&flow.in, &flow.scale, &flow.shift}) {
    for (const Tensor& w : *list) {
      const std::vector<double> part = w.to_vector();
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}
int computed_back(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op->undoes;
  return count;
}
auto flow_step(double limit, bool mixed) {
  return value_and_grad(
      [limit, mixed](const Flow& flow, const Tensor& x) { return flow_loss(flow, x, limit, mixed); });
}

TEST(Affine, CouplingsAreUndoneWithinTheErrorThatIsAllowed) {
  for (const bool mixed : {false, true}) {
    const Flow flow = Flow::init(5);
    const Tensor x = random_normal(key(99), {512, 16});
    const auto free = compile(flow_step(0.5, mixed));
    const auto [value, gradient] = free(flow, x);
    // No form has so small an error, and nothing is computed again: what is left is to undo.
    const CompileOptions options{
        .lossy = Lossy{.error = 1e-4}, .allow = {Choice::compress, Choice::invert}, .effort = 0.1};
    const Bytes least = compile(flow_step(0.5, mixed), options).smallest(flow, x).memory;
    CompileOptions tight_options = options;
    tight_options.memory = least;
    const auto tight = compile(flow_step(0.5, mixed), tight_options);
    const auto [same, gradients] = tight(flow, x);
    EXPECT_EQ(value.to_vector(), same.to_vector()) << "the forward pass keeps its bits";
    EXPECT_GE(computed_back(tight.plan().graph), 3) << tight.plan().summary();
    EXPECT_EQ(tight.arena_high_water().count, tight.plan().plan.arena_bytes);

    const GradientError error = tight.gradient_error(flow, x);
    EXPECT_EQ(error.undone.size(), static_cast<std::size_t>(computed_back(tight.plan().graph)));
    for (const DriftedValue& value_back : error.undone) {
      EXPECT_GT(value_back.bound, 0);
      EXPECT_LE(value_back.bound, 1e-4);
      EXPECT_LE(value_back.measured, value_back.bound);
    }
    EXPECT_LE(error.largest, 1e-3);
    EXPECT_THAT(error.text(), ::testing::HasSubstr("computed back"));
    const std::vector<double> right = flow_joined(gradient), given = flow_joined(gradients);
    double largest = 0;
    for (const double g : right) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(given[i], right[i], 1e-3 * largest);
  }
}

// Couplings with normalisations and bounded functions between them, as flows on data in (0, 1) have.
Tensor normalized_flow_loss(const Flow& flow, const Tensor& x) {
  Tensor x1 = tanh(x * 0.5, Within{3}), x2 = sigmoid(x, Within{5}), volume = sum(x) * 0;
  for (std::size_t i = 0; i < flow.in.size(); ++i) {
    const auto parts = [&](const Tensor& h) {
      const Tensor inner = gelu(matmul(h, flow.in[i]));
      return std::pair(matmul(inner, flow.scale[i]), matmul(inner, flow.shift[i]));
    };
    const AffineHalves halves = affine_coupling(parts, {.limit = 0.5})(x1, x2);
    const NormalizedFlow even =
        batch_norm_flow(halves.second, flow.in[i].at(0, Range{0, 16}) * 0.1 + 1, 0.25, {.gain = 2});
    volume = volume + sum(halves.log_scale) + 512.0 * sum(even.log_scale);
    x1 = i % 2 ? even.result : sinh(asinh(even.result, Within{8}), Within{3}), x2 = halves.first;
  }
  return 0.5 * sum(square(x1) + square(x2)) - volume;
}

TEST(Affine, ChainsGoOnThroughNormalisationsAndBoundedFunctions) {
  const Flow flow = Flow::init(6);
  const Tensor x = random_normal(key(99), {512, 16});
  const auto step = value_and_grad(normalized_flow_loss);
  const auto [value, gradient] = compile(step)(flow, x);
  const CompileOptions options{
      .lossy = Lossy{.error = 1e-3}, .allow = {Choice::compress, Choice::invert}, .effort = 0.1};
  CompileOptions exact_options = options;
  exact_options.lossy = {};
  exact_options.allow = {Choice::invert};
  const Bytes least = compile(step, options).smallest(flow, x).memory;
  const Bytes without = compile(step, exact_options).smallest(flow, x).memory;
  EXPECT_LT(least.count, without.count);
  CompileOptions tight_options = options;
  tight_options.memory = least;
  const auto tight = compile(step, tight_options);
  const auto [same, gradients] = tight(flow, x);
  EXPECT_EQ(value.to_vector(), same.to_vector()) << "the forward pass keeps its bits";
  int norms_undone = 0;
  for (const Node& node : tight.plan().graph.nodes()) norms_undone += node.op->undoes;
  EXPECT_GE(norms_undone, 8) << tight.plan().summary();
  const GradientError error = tight.gradient_error(flow, x);
  EXPECT_FALSE(error.undone.empty());
  for (const DriftedValue& value_back : error.undone) {
    EXPECT_LE(value_back.bound, 1e-3);
    EXPECT_LE(value_back.measured, value_back.bound);
  }
  EXPECT_LE(error.largest, 1e-2);
}

TEST(Affine, BoundedFunctionsAreTheFunctionsThemselves) {
  const Tensor x = tensor<double>({0.1, 0.5, 1.5, 2.0});
  EXPECT_EQ(exp(x, Within{2}).to_vector(), exp(x).to_vector());
  EXPECT_EQ(log(x, Within{3}).to_vector(), log(x).to_vector());
  EXPECT_EQ(tanh(x, Within{2}).to_vector(), tanh(x).to_vector());
  EXPECT_EQ(sigmoid(x, Within{2}).to_vector(), sigmoid(x).to_vector());
  EXPECT_EQ(softplus(x, Within{2}).to_vector(), softplus(x).to_vector());
  EXPECT_EQ(sinh(x, Within{2}).to_vector(), sinh(x).to_vector());
  EXPECT_EQ(asinh(x, Within{2}).to_vector(), asinh(x).to_vector());
  EXPECT_EQ(exp(tensor<double>({9.0}), Within{2}).to_vector(), exp(tensor<double>({9.0})).to_vector())
      << "nothing is clamped";
  for (const double range : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e6}) {
    EXPECT_EQ(code_of([&] { (void)exp(x, Within{range}); }), ErrorCode::bad_attribute) << range;
  }
  EXPECT_EQ(code_of([&] { (void)batch_norm_flow(x, 1.0, 0.0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)scale_and_shift(x, 1.0, 0.0, 0.5); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)scale_and_shift(x, zeros({3}, DType::f64), 0.0, 1); }),
            ErrorCode::shape_mismatch);
  const Tensor rows = random_normal(key(4), {64, 3}) * 2.0 + 5.0;
  const NormalizedFlow even = batch_norm_flow(rows, 1.5, 0.5, {.gain = 2});
  for (const double m : mean(even.result, {0}).to_vector()) EXPECT_NEAR(m, 0.5, 1e-5);
  for (const double v : var(even.result, {0}).to_vector()) EXPECT_NEAR(v, 2.25, 1e-3);
}

TEST(Affine, NothingIsUndoneUnlessLossyValuesAreAllowed) {
  const Flow flow = Flow::init(4);
  const Tensor x = random_normal(key(99), {512, 16});
  const auto free = compile(flow_step(1, true));
  const std::vector<double> exact = flow_joined(std::get<1>(free(flow, x)));
  const Bytes least = compile(flow_step(1, true), {.effort = 0.1}).smallest(flow, x).memory;
  const auto tight = compile(flow_step(1, true), {.memory = least, .effort = 0.1});
  EXPECT_EQ(flow_joined(std::get<1>(tight(flow, x))), exact);
  EXPECT_EQ(computed_back(tight.plan().graph), 0);
  const auto without = compile(flow_step(1, true), {.memory = least,
                                                    .lossy = Lossy{.error = 1e-3},
                                                    .allow = {Choice::recompute, Choice::compress},
                                                    .effort = 0.1});
  (void)without(flow, x);
  EXPECT_EQ(computed_back(without.plan().graph), 0);
}

// Errors grow by exp(3) from one coupling to the next: after a few the chain begins anew from a value that
// was kept, and with an error below rounding there is none.
TEST(Affine, ChainsEndWhereErrorsWouldGrowTooLarge) {
  const Flow flow = Flow::init(4);
  const Tensor x = random_normal(key(99), {512, 16});
  const auto lowered = [&](double limit, double error) {
    const CompileOptions options{
        .lossy = Lossy{.error = error}, .allow = {Choice::compress, Choice::invert}, .effort = 0.1};
    const Bytes least = compile(flow_step(limit, false), options).smallest(flow, x).memory;
    CompileOptions tight = options;
    tight.memory = least;
    const auto step = compile(flow_step(limit, false), tight);
    (void)step(flow, x);
    for (const DriftedValue& value : step.gradient_error(flow, x).undone) EXPECT_LE(value.bound, error);
    return computed_back(step.plan().graph);
  };
  const int few = lowered(3, 1e-4), many = lowered(0.1, 1e-4);
  EXPECT_LT(few, many);
  EXPECT_EQ(lowered(0.1, 1e-8), 0);
}

TEST(Affine, InverseGivesTheHalvesBack) {
  const Tensor x1 = random_normal(key(1), {64, 8}), x2 = random_normal(key(2), {64, 8});
  const auto block = affine_coupling([](const Tensor& h) { return std::pair(sin(h), cos(h)); }, {.limit = 2});
  const AffineHalves there = block(x1, x2), back = block.inverse(there.first, there.second);
  EXPECT_EQ(back.first.to_vector(), x1.to_vector());
  EXPECT_LE(max(abs(back.second - x2)).item(), 1e-5);
  EXPECT_LE(max(abs(there.log_scale + back.log_scale)).item(), 0);
  EXPECT_LE(max(abs(there.log_scale)).item(), 2);
}

TEST(Affine, LeakyReluAndProductsAsTheirDefinitions) {
  const Tensor x = random_normal(key(1), {5, 3, 4}), a = random_normal(key(2), {4, 4});
  EXPECT_EQ(leaky_relu(x, 0.1).to_vector(), select(x > 0, x, x * 0.1).to_vector());
  const std::vector<double> lower = triangular_product(x, a, 10).to_vector();
  EXPECT_EQ(lower, matmul(x, tril(a)).to_vector());
  EXPECT_EQ(triangular_product(x, a, 10, false).to_vector(),
            matmul(x, transpose(tril(transpose(a)))).to_vector());
  EXPECT_EQ(orthogonal_product(x, a).to_vector(), matmul(x, a).to_vector());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> odd = leaky_relu(tensor<double>({nan, -0.0, 0.0, -1.0}), 0.5).to_vector();
  EXPECT_TRUE(std::isnan(odd[0]));
  EXPECT_EQ(odd[3], -0.5);
}

TEST(Affine, WhatCannotBeUndoneIsRefused) {
  const Tensor x = ones({4, 3}), a = ones({3, 3});
  EXPECT_EQ(code_of([&] { (void)leaky_relu(x, 0); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)leaky_relu(x, -1); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)leaky_relu(x, std::nan("")); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)triangular_product(x, a, 0.5); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)triangular_product(x, a, std::numeric_limits<double>::infinity()); }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)orthogonal_product(x, ones({3, 4})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)orthogonal_product(x, ones({4, 4})); }), ErrorCode::shape_mismatch);
  const auto same = [](const Tensor& h) { return std::pair(h, h); };
  for (const double limit : {-1.0, 0.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(code_of([&] { (void)affine_coupling(same, {.limit = limit}); }), ErrorCode::bad_attribute);
  }
  EXPECT_EQ(code_of([&] { (void)affine_coupling(same)(x, ones({4, 2})); }), ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
