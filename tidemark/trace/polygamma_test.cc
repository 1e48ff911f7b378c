#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using testing::expect_gradient;

TEST(Polygamma, IsWhatLgammaHasAsDerivatives) {
  const Tensor x = tensor<double>({-2.3, -0.4, 0.3, 1.0, 1.4616, 2.5, 9.5, 40.0});
  const auto first = grad([](Tensor u) { return sum(lgamma(u)); });
  const auto second = grad([&](Tensor u) { return sum(first(u)); });
  const auto third = grad([&](Tensor u) { return sum(second(u)); });
  const auto fourth = grad([&](Tensor u) { return sum(third(u)); });
  EXPECT_EQ(first(x).to_vector(), digamma(x).to_vector());
  EXPECT_EQ(second(x).to_vector(), polygamma(1, x).to_vector());
  EXPECT_EQ(third(x).to_vector(), polygamma(2, x).to_vector());
  EXPECT_EQ(fourth(x).to_vector(), polygamma(3, x).to_vector());
  EXPECT_EQ(polygamma(0, x).to_vector(), digamma(x).to_vector());
  const Tensor away = tensor<double>({-2.4, 0.7, 1.4, 2.5, 30.0});
  expect_gradient([](Tensor u) { return lgamma(u); }, away);
  expect_gradient([](Tensor u) { return digamma(u); }, away);
  expect_gradient([](Tensor u) { return polygamma(2, u); }, away, 1e-5, 1e-6);
}

TEST(Polygamma, RefusesOrdersThatItDoesNotHave) {
  const Tensor x = tensor<double>({1.5});
  EXPECT_EQ(code_of([&] { polygamma(-1, x); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { polygamma(101, x); }), ErrorCode::bad_attribute);
  EXPECT_TRUE(std::isfinite(polygamma(100, x).item()));
  EXPECT_EQ(code_of([&] { lgamma(tensor<std::int32_t>({1})); }), ErrorCode::dtype_mismatch);
  try {
    polygamma(-1, x);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("polygamma_test.cc"));
  }
}

TEST(Polygamma, TakesEveryFloatAndEmptyTensors) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const Tensor x = cast(tensor<double>({0.5, 3}), dtype);
    EXPECT_NEAR(lgamma(x).to_vector()[0], 0.5723649, 4e-3) << name_of(dtype);
    EXPECT_NEAR(polygamma(1, x).to_vector()[1], 0.39493406, 4e-3) << name_of(dtype);
  }
  EXPECT_EQ(digamma(zeros({0, 3})).shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace tidemark
