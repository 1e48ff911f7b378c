#include "tidemark/ops/quantization/fp8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/literals.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Fp8Format formats[] = {Fp8Format::e4m3, Fp8Format::e5m2};

// As the definition says, without bits of an f32.
double value_by_definition(Fp8Format format, int code) {
  const int digits = format == Fp8Format::e4m3 ? 3 : 2, bias = format == Fp8Format::e4m3 ? 7 : 15;
  const int exponent = (code & 0x7f) >> digits, fraction = code & ((1 << digits) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (format == Fp8Format::e4m3 && (code & 0x7f) == 0x7f) return nan;
  if (format == Fp8Format::e5m2 && exponent == 31) return fraction == 0 ? sign * infinity : nan;
  const double significand = std::ldexp(fraction, -digits);
  return sign *
         (exponent == 0 ? std::ldexp(significand, 1 - bias) : std::ldexp(1 + significand, exponent - bias));
}

TEST(Fp8, CodesStandForWhatTheDefinitionSays) {
  for (const Fp8Format format : formats) {
    for (int code = 0; code < 256; ++code) {
      const double expected = value_by_definition(format, code);
      const double got = fp8_value(format, static_cast<std::uint8_t>(code));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << code;
      } else {
        EXPECT_EQ(got, expected) << code;
        EXPECT_EQ(std::signbit(got), std::signbit(expected)) << code;
      }
    }
  }
}

TEST(Fp8, NumbersBecomeTheNearestCodeAndTheEvenOneOfTwo) {
  for (const Fp8Format format : formats) {
    const int last = format == Fp8Format::e4m3 ? 0x7e : 0x7b;
    for (int code = 0; code < last; ++code) {
      const auto here = static_cast<float>(value_by_definition(format, code));
      const auto next = static_cast<float>(value_by_definition(format, code + 1));
      const float middle = (here + next) / 2;
      const auto low = static_cast<std::uint8_t>(code), high = static_cast<std::uint8_t>(code + 1);
      EXPECT_EQ(fp8_code(format, here), low);
      EXPECT_EQ(fp8_code(format, std::nextafter(middle, 0.0f)), low);
      EXPECT_EQ(fp8_code(format, middle), code % 2 == 0 ? low : high);
      EXPECT_EQ(fp8_code(format, std::nextafter(middle, 1e9f)), high);
      EXPECT_EQ(fp8_code(format, -here), low | 0x80);
    }
    EXPECT_EQ(fp8_code(format, 1e6f), last);  // the largest number
    EXPECT_EQ(fp8_code(format, -1e30f), last | 0x80);
    for (const double none : {infinity, -infinity, nan}) {
      const float decoded = fp8_value(format, fp8_code(format, static_cast<float>(none)));
      EXPECT_TRUE(std::isnan(decoded)) << none;
    }
  }
}

float scale_of(Fp8Format format, const Literal& x) {
  const std::vector<Literal> made =
      run_kernel(op::fp8_scale, {x}, pack(Fp8ScaleAttrs{std::string(name_of(format))})).results;
  return static_cast<float>(values_of(made[0])[0]);
}

TEST(Fp8, TheScaleIsTheLeastPowerOfTwoThatFits) {
  const auto of = [](double x) {
    return scale_of(Fp8Format::e4m3, literal_of(DType::f32, {3}, {0, -x, x / 3}));
  };
  EXPECT_EQ(of(448), 1);
  EXPECT_EQ(of(std::nextafter(448.0f, 1e9f)), 2);
  EXPECT_EQ(of(225), 1);
  EXPECT_EQ(of(224), 0.5);
  EXPECT_EQ(of(1), 0x1p-8);
  EXPECT_EQ(of(1e-45), 0x1p-126);  // its inverse is a number
  EXPECT_EQ(of(3e38), 0x1p120);
  EXPECT_EQ(scale_of(Fp8Format::e5m2, literal_of(DType::bf16, {1}, {57344})), 1);
  EXPECT_EQ(scale_of(Fp8Format::e5m2, literal_of(DType::f16, {1}, {1})), 0x1p-15);
}

TEST(Fp8, NothingButZerosHasTheScaleOneAndWhatIsNoNumberHasNoPartInIt) {
  for (const Fp8Format format : formats) {
    EXPECT_EQ(scale_of(format, literal_of(DType::bf16, {4}, {0, 0, -0.0, 0})), 1);
    EXPECT_EQ(scale_of(format, literal_of(DType::bf16, {0}, {})), 1);
    EXPECT_EQ(scale_of(format, literal_of(DType::bf16, {2}, {nan, infinity})), 1);
    const Literal some = literal_of(DType::bf16, {4}, {nan, 0.25, -infinity, -3});
    EXPECT_EQ(scale_of(format, some), scale_of(format, literal_of(DType::bf16, {1}, {3})));
  }
}

// x (rows, depth) by y (columns, depth), each with its own scale.
std::vector<double> product_of(const Literal& x, const Literal& y) {
  const Attrs scale = pack(Fp8ScaleAttrs{}), codes = pack(Fp8CodesAttrs{});
  const Literal a = run_kernel(op::fp8_scale, {x}, scale).results[0];
  const Literal b = run_kernel(op::fp8_scale, {y}, scale).results[0];
  const Literal left = run_kernel(op::fp8_codes, {x, a}, codes).results[0];
  const Literal right = run_kernel(op::fp8_codes, {y, b}, codes).results[0];
  const Attrs attrs = pack(Fp8ProductAttrs{.dtype = x.dtype, .shape = {x.shape[0], y.shape[0]}});
  return values_of(run_kernel(op::fp8_product, {left, right, a, b}, attrs).results[0]);
}

TEST(Fp8, AProductIsAsCloseAsItsOperandsAre) {
  constexpr std::int64_t rows = 33, columns = 20, depth = 200;
  const Literal x = random_literal(DType::f32, {rows, depth}, 1, -40, 40);
  const Literal y = random_literal(DType::f32, {columns, depth}, 2, -1e-5, 1e-5);
  const std::vector<double> got = product_of(x, y), a = values_of(x), b = values_of(y);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double exact = 0, terms = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        const double term = a[i * depth + k] * b[j * depth + k];
        exact += term, terms += std::abs(term);
      }
      // Each operand is off by 2⁻⁴ of itself at most, or by 2⁻¹⁰ of its scale.
      EXPECT_NEAR(got[i * columns + j], exact, 0.14 * terms);
    }
  }
}

TEST(Fp8, WhatIsNoNumberTouchesItsOwnRowsAlone) {
  Literal x = random_literal(DType::bf16, {4, 8}, 1), y = random_literal(DType::bf16, {3, 8}, 2);
  std::vector<double> numbers = values_of(x);
  const std::vector<double> without = product_of(x, y);
  numbers[8] = nan, numbers[17] = infinity;
  const std::vector<double> got = product_of(literal_of(DType::bf16, {4, 8}, numbers), y);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool touched = i / 3 == 1 || i / 3 == 2;
    EXPECT_EQ(std::isnan(got[i]), touched) << i;
  }
  EXPECT_EQ(std::isnan(without[3]), false);
  const Literal zeros = literal_of(DType::bf16, {4, 8}, std::vector<double>(32, 0));
  for (const double z : product_of(zeros, y)) EXPECT_EQ(z, 0);
}

TEST(Fp8, MistakesAreRefused) {
  const Literal x = random_literal(DType::bf16, {4, 8}, 1), scale = literal_of(DType::f32, {}, {1});
  const auto code = [&](const Op& op, const std::vector<Literal>& operands, const Attrs& attrs) {
    return code_of([&] { run_kernel(op, operands, attrs); });
  };
  EXPECT_EQ(code(op::fp8_scale, {x}, pack(Fp8ScaleAttrs{"e3m4"})), ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::fp8_codes, {x, scale}, pack(Fp8CodesAttrs{.rows = 3})), ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::fp8_codes, {x, x}, pack(Fp8CodesAttrs{})), ErrorCode::dtype_mismatch);
  const Literal codes = random_literal(DType::u8, {4, 8}, 1, 0, 100),
                other = random_literal(DType::u8, {4, 7}, 1, 0, 100);
  const Attrs square = pack(Fp8ProductAttrs{.shape = {4, 4}});
  EXPECT_EQ(code(op::fp8_product, {codes, other, scale, scale}, square), ErrorCode::shape_mismatch);
  EXPECT_EQ(code(op::fp8_product, {codes, codes, scale, scale}, pack(Fp8ProductAttrs{.shape = {4, 5}})),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(code(op::fp8_product, {codes, codes, scale, scale, x}, square), ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
