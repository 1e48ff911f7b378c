#include "tests/support/literals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tidemark/base/philox.h"

namespace tidemark::testing {

Literal literal_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  TM_CHECK(static_cast<std::int64_t>(values.size()) == element_count(shape));
  Literal literal{dtype, shape,
                  std::vector<std::byte>(values.size() * static_cast<std::size_t>(size_of(dtype)))};
  dispatch(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        element = T(static_cast<float>(values[i]));
      } else {
        element = static_cast<T>(values[i]);
      }
      std::memcpy(literal.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return literal;
}

std::vector<double> values_of(const Literal& literal) {
  std::vector<double> values(static_cast<std::size_t>(element_count(literal.shape)));
  dispatch(literal.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, literal.bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        values[i] = static_cast<double>(static_cast<float>(element));
      } else {
        values[i] = static_cast<double>(element);
      }
    }
  });
  return values;
}

Literal draw(const Sample::Operand& operand, std::uint64_t seed) {
  const Philox random{seed};
  std::vector<double> values(static_cast<std::size_t>(operand.type.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto words = random(i);
    const double unit = unit_double(words[0], words[1]);
    double value = operand.low + (operand.high - operand.low) * unit;
    if (operand.type.dtype == DType::boolean) {
      value = words[2] & 1u;
    } else if (is_integer(operand.type.dtype)) {
      value = std::floor(operand.low + (operand.high - operand.low + 1) * unit);
      if (operand.type.dtype == DType::u8) value = std::abs(value);
    }
    if (operand.nonzero && std::abs(value) < 0.25) value = value < 0 ? value - 0.5 : value + 0.5;
    if (operand.nonzero && is_integer(operand.type.dtype))
      value = value < 0 ? std::floor(value) : std::ceil(value);
    values[i] = value;
  }
  if (operand.diagonal != 0 && operand.type.count() > 0) {
    const auto n = static_cast<std::size_t>(operand.type.shape.back());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i / n % n == i % n) values[i] += operand.diagonal;
    }
  }
  return literal_of(operand.type.dtype, operand.type.shape, values);
}

Literal random_literal(DType dtype, const Shape& shape, std::uint64_t seed, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto words = Philox{seed}(i);
    values[i] = low + (high - low) * unit_double(words[0], words[1]);
    if (!is_float(dtype)) values[i] = std::trunc(values[i]);
  }
  return literal_of(dtype, shape, values);
}

Literal counting(DType dtype, const Shape& shape, std::int64_t seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const std::int64_t v = (i * 7 + seed * 5 + i / 9) % 9 - 4;
    values.push_back(static_cast<double>(dtype == DType::boolean ? v > 0 : dtype == DType::u8 ? v + 4 : v));
  }
  return literal_of(dtype, shape, values);
}

std::string bit_difference(const Literal& a, const Literal& b, NaNs nans) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.bytes.size() != b.bytes.size()) return "the types differ";
  if (a.bytes == b.bytes) return "";
  const auto size = static_cast<std::size_t>(size_of(a.dtype));
  const std::vector<double> left = values_of(a), right = values_of(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (std::memcmp(&a.bytes[i * size], &b.bytes[i * size], size) == 0) continue;
    if (nans == NaNs::alike && std::isnan(left[i]) && std::isnan(right[i])) continue;
    return fmt::format("element {} is {} and {}", i, left[i], right[i]);
  }
  return "";
}

std::string bit_difference(const std::vector<Literal>& a, const std::vector<Literal>& b, NaNs nans) {
  if (a.size() != b.size()) return fmt::format("{} and {} results", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string difference = bit_difference(a[i], b[i], nans);
    if (!difference.empty()) return fmt::format("result {}: {}", i, difference);
  }
  return "";
}

double distance(const std::vector<double>& a, const std::vector<double>& expected) {
  TM_CHECK(a.size() == expected.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
    if (!(d <= most)) most = d;
  }
  return most;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "element " << i;
    }
  }
}

}  // namespace tidemark::testing
