#include "tidemark/autodiff/transforms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

void expect_near(const Tensor& given, const std::vector<double>& expected, double tolerance = 1e-12) {
  const std::vector<double> values = given.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
}

const Tensor point = tensor<double>({0.3, -1.2, 2.0});
Tensor smooth(Tensor x) { return sum(sin(x * x)); }

TEST(Transforms, GradIsTheGradient) {
  expect_near(grad(smooth)(point), {std::cos(0.09) * 0.6, std::cos(1.44) * -2.4, std::cos(4.0) * 4});
}

TEST(Transforms, ValueAndGradPassesOtherResultsThrough) {
  const auto f = [](Tensor x) { return std::pair(sum(x * x), x + 1); };
  const auto [value, gradient] = value_and_grad(f)(tensor<double>({1, 2}));
  EXPECT_EQ(value.first.item(), 5);
  expect_near(value.second, {2, 3});
  expect_near(gradient, {2, 4});
}

TEST(Transforms, GradTakesSeveralArguments) {
  const auto f = [](Tensor x, Tensor y, Tensor z) { return sum(x * y * z); };
  const auto [gx, gz] = grad<0, 2>(f)(tensor<double>({2}), tensor<double>({3}), tensor<double>({5}));
  expect_near(gx, {15});
  expect_near(gz, {6});
}

TEST(Transforms, JvpAndVjpAreTransposes) {
  const auto f = [](Tensor x) { return exp(x) * flip(x, {0}); };
  const Tensor v = tensor<double>({0.5, -1, 2}), w = tensor<double>({1, 0.25, -3});
  const auto [y, pushed] = jvp(f, point, v);
  const auto [same, pullback] = vjp(f, point);
  EXPECT_EQ(y.to_vector(), same.to_vector());
  EXPECT_NEAR(sum(pushed * w).item(), sum(v * pullback(w)).item(), 1e-12);
  expect_near(pullback(w * 2), (pullback(w) * 2).to_vector());
}

TEST(Transforms, DerivativesNestInAnyOrder) {
  const auto f = [](Tensor x) { return x * x * x * x; };  // of a scalar
  const auto d1 = [&](Tensor x) { return grad(f)(x); };
  const auto d2 = [&](Tensor x) { return grad(d1)(x); };
  const auto d3 = [&](Tensor x) { return jvp(d2, x, ones_like(x)).second; };
  const auto d4 = [&](Tensor x) { return grad(d3)(x); };
  const Tensor x = scalar(1.5, DType::f64);
  EXPECT_NEAR(d1(x).item(), 4 * 3.375, 1e-12);
  EXPECT_NEAR(d2(x).item(), 12 * 2.25, 1e-12);
  EXPECT_NEAR(d3(x).item(), 24 * 1.5, 1e-12);
  EXPECT_NEAR(d4(x).item(), 24, 1e-12);
}

TEST(Transforms, GradientsPassThroughCapturedValuesOfEnclosingTraces) {
  // d/da of (d/dx a x²) at x = 3: 2x = 6.
  const auto outer = [](Tensor a) {
    return grad([&](Tensor x) { return a * x * x; })(scalar(3, DType::f64));
  };
  EXPECT_NEAR(grad(outer)(scalar(5, DType::f64)).item(), 6, 1e-12);
}

TEST(Transforms, StopGradientCutsThePath) {
  EXPECT_EQ(grad([](Tensor x) { return x * stop_gradient(x); })(scalar(3, DType::f64)).item(), 3);
}

TEST(Transforms, CustomVjpReplacesTheDerivative) {
  const Tensor limit = scalar(1, DType::f64);
  const auto clipped =
      custom_vjp([](Tensor x) { return x * x; },
                 [&](Tensor x, Tensor, Tensor seed) { return minimum(seed * 2 * x, limit); });
  EXPECT_EQ(clipped(scalar(3, DType::f64)).item(), 9);
  EXPECT_EQ(grad(clipped)(scalar(3, DType::f64)).item(), 1);
  EXPECT_EQ(grad(clipped)(scalar(0.25, DType::f64)).item(), 0.5);
  EXPECT_NEAR(jvp(clipped, scalar(0.25, DType::f64), scalar(1, DType::f64)).second.item(), 0.5, 1e-12);
}

TEST(Transforms, CustomVjpChecksWhatThePullbackReturns) {
  const auto wrong =
      custom_vjp([](Tensor x) { return x * x; }, [](Tensor, Tensor, Tensor) { return zeros({7}); });
  EXPECT_THROW(wrong(scalar(3, DType::f64)), Error);
}

TEST(Transforms, GradientOfWhatDoesNotDependIsZero) {
  expect_near(grad([](Tensor x) { return sum(zeros_like(x)); })(point), {0, 0, 0});
}

}  // namespace
}  // namespace tidemark
