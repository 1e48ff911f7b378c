// Functions of scalars as operations, and functions of tensors in code of scalars, each against the same
// formula written on its own side.
#include <gtest/gtest.h>

#include "tidemark/bridge/scalar_op.h"
#include "tidemark/bridge/tensor_function.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/scalar/tape.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using scalars::Tape;

Real banana(std::span<const Real> x) {
  const Real bend = x[1] - x[0] * x[0];
  return 100 * bend * bend + (1 - x[0]) * (1 - x[0]);
}

const Op& banana_op() {
  static const Op& op = scalar_op("banana", banana);
  return op;
}

Tensor banana_of_tensors(Tensor p) {
  const Tensor x = p.at(0), y = p.at(1);
  const Tensor bend = y - x * x;
  return 100 * bend * bend + square(1 - x);
}

TEST(ScalarOp, HasTheValueAndTheGradientOfItsFunction) {
  const Tensor p = tensor<double>({-1.2, 1.0});
  const auto loss = [](Tensor x) { return call(banana_op(), {x}).front(); };
  EXPECT_DOUBLE_EQ(loss(p).item(), banana_of_tensors(p).item());
  const std::vector<double> slope = grad(loss)(p).to_vector(),
                            expected = grad(banana_of_tensors)(p).to_vector();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(slope[i], expected[i], 1e-12 * std::abs(expected[i]));
  const Tensor along = tensor<double>({0.3, -2.0});
  EXPECT_NEAR(jvp(loss, p, along).second.item(), jvp(banana_of_tensors, p, along).second.item(), 1e-9);
}

TEST(ScalarOp, GoesOverCasesAndSharesWhatHasNone) {
  const Op& line = scalar_op("line",
                             [](std::span<const Real> x, std::span<const Real> w) {
                               return std::vector<Real>{x[0] * w[0] + x[1] * w[1], x[0] * x[1] * w[0]};
                             },
                             {.results = 2});
  const Tensor x = reshape(tensor<float>({1, 2, 3, 4, 5, 6}), {3, 2}), w = tensor<float>({10, 100});
  const Tensor y = call(line, std::vector<Tensor>{x, w}).front();
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_EQ(y.to_vector(), (std::vector<double>{210, 20, 430, 120, 650, 300}));
  const auto loss = [&](Tensor a, Tensor b) { return sum(call(line, std::vector<Tensor>{a, b}).front()); };
  const auto [by_x, by_w] = grad<0, 1>(loss)(x, w);
  EXPECT_EQ(by_x.to_vector(), (std::vector<double>{30, 110, 50, 130, 70, 150}));
  EXPECT_EQ(by_w.to_vector(), (std::vector<double>{9 + 2 + 12 + 30, 12}));
}

TEST(ScalarOp, HasTheSameBitsCompiledAndWithinABudget) {
  const auto loss = [](Tensor x) {
    Tensor h = x;
    for (int i = 0; i < 4; ++i) {
      const Tensor y = call(banana_op(), {h}).front();
      h = sin(h + 0.001 * reshape(y, {-1, 1}));
    }
    return sum(h);
  };
  const Tensor x = random_uniform(key(1), {512, 2}, -1, 1, DType::f64);
  const Tensor eager = grad(loss)(x);
  const auto compiled = compile(grad(loss));
  const Tensor free = compiled(x);
  const Bytes least = compiled.smallest(x).memory;
  const auto tight = compile(grad(loss), {.memory = least});
  EXPECT_EQ(free.to_vector(), eager.to_vector());
  EXPECT_EQ(tight(x).to_vector(), eager.to_vector());
}

TEST(ScalarOp, MistakesNameTheOperation) {
  const auto message = [](auto&& make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("bridge_test.cc"), std::string::npos) << error.what();
      return error.what();
    }
    return "no error";
  };
  const Op& two = scalar_op("two_of_three",
                            [](std::span<const Real> x) {
                              return std::vector<Real>{x[0], x[0]};
                            },
                            {.results = 3});
  EXPECT_NE(message([&] {
              call(two, {ones({2, 1}, DType::f64)});
            }).find("the function returned 2 numbers"),
            std::string::npos);
  EXPECT_NE(message([&] {
              call(banana_op(), {tensor<std::int32_t>({1, 2})});
            }).find("operand 0 is of i32"),
            std::string::npos);
  EXPECT_NE(message([&] { call(banana_op(), {ones({}, DType::f64)}); }).find("no dimensions"),
            std::string::npos);
  const auto twice = [](Tensor x) { return call(banana_op(), {x}).front(); };
  EXPECT_NE(
      message([&] { hvp(twice, ones({2}, DType::f64), ones({2}, DType::f64)); }).find("banana_gradient"),
      std::string::npos);
}

TEST(TensorFunction, IsAStatementOfATape) {
  const Tensor weights = reshape(tensor<double>({1, -2, 0.5, 3, 0.25, -1}), {2, 3});
  const TensorFunction layer([weights](Tensor x) { return tanh(matmul(reshape(x, {1, 2}), weights)); }, {2});
  Tape tape;
  const std::vector<double> at = {0.3, -0.7};
  const std::vector<Real> x = tape.inputs(at);
  const Real scaled = x[0] * 2;
  const std::vector<Real> h = layer(std::vector<Real>{scaled, x[1]});
  ASSERT_EQ(h.size(), 3u);
  const Real y = h[0] * h[1] + h[2] * x[0];
  tape.reverse(y);
  const auto on_tensors = [&](Tensor p) {
    const Tensor both = p * tensor<double>({2, 1});
    const Tensor r = reshape(tanh(matmul(reshape(both, {1, 2}), weights)), {3});
    return r.at(0) * r.at(1) + r.at(2) * p.at(0);
  };
  const std::vector<double> expected = grad(on_tensors)(tensor<double>(at)).to_vector();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(tape.gradient(x[i]), expected[i], 1e-14);
  EXPECT_EQ(layer(std::vector<Real>{1.0, 2.0})[0].id(), 0u);
  EXPECT_THROW(layer(std::vector<Real>{1.0}), Error);
}

}  // namespace
}  // namespace tidemark
