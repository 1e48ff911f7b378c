// What the tests of vmap share: examples, what each of them gives by itself, and comparing the two.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark::testing {

inline void expect_close(const Tensor& given, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(given.shape(), expected.shape());
  ASSERT_EQ(given.dtype(), expected.dtype());
  const std::vector<double> a = given.to_vector(), b = expected.to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) {
      ASSERT_TRUE(std::isnan(a[i])) << "element " << i;
    } else if (std::isinf(b[i])) {
      ASSERT_EQ(a[i], b[i]) << "element " << i;
    } else {
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
    }
  }
}
inline void expect_trees_close(const auto& given, const auto& expected, double tolerance = 1e-12) {
  const std::vector<Tensor> a = tensors_of(given), b = tensors_of(expected);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_close(a[i], b[i], tolerance);
}

// f of each example, stacked: what vmap is to give. Arguments that are not mapped are captured by f.
Tensor by_hand(const auto& f, const Tensor& x) {
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) parts.push_back(f(Tensor(x.at(i))));
  return stack(parts);
}
inline Tensor batch(const Shape& shape, std::int64_t seed = 3) {
  return random_normal(key(seed), shape, 0, 1, DType::f64);
}

}  // namespace tidemark::testing
