#include "tidemark/base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tidemark {
namespace {

TEST(DType, NamesReadBack) {
  for (int i = 0; i < dtype_count; ++i)
    EXPECT_EQ(dtype_named(name_of(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_FALSE(dtype_named("f31"));
  EXPECT_FALSE(dtype_named(""));
}

TEST(DType, SizesAreThoseOfTheStorageTypes) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    dispatch(t, [&]<class T>() {
      EXPECT_EQ(size_of(t), static_cast<std::int64_t>(sizeof(T)));
      EXPECT_EQ(dtype_of<T>, t);
    });
  }
}

TEST(DType, FamiliesArePartitions) {
  int floats = 0, integers = 0;
  for (int i = 0; i < dtype_count; ++i)
    floats += is_float(static_cast<DType>(i)), integers += is_integer(static_cast<DType>(i));
  EXPECT_EQ(floats, 4);
  EXPECT_EQ(integers, 3);
  EXPECT_FALSE(is_integer(DType::boolean));
}

// The value of a 16-bit pattern by the definition of the format.
double value_of(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = (bits >> fraction_bits) & top, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == top) return fraction ? NAN : sign * INFINITY;
  const double significand = fraction + (exponent ? 1 << fraction_bits : 0);
  return sign * std::ldexp(significand, (exponent ? exponent : 1) - bias - fraction_bits);
}

template <class T>
void expect_every_pattern(int exponent_bits, int fraction_bits) {
  for (unsigned i = 0; i < 65536; ++i) {
    T x;
    x.bits = static_cast<std::uint16_t>(i);
    const double defined = value_of(x.bits, exponent_bits, fraction_bits);
    const float widened = static_cast<float>(x);
    if (std::isnan(defined)) {
      EXPECT_TRUE(std::isnan(widened)) << i;
      EXPECT_TRUE(std::isnan(static_cast<float>(T(widened)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(widened), defined) << i;
    ASSERT_EQ(std::signbit(widened), (i & 0x8000u) != 0) << i;
    ASSERT_EQ(T(widened).bits, x.bits) << i;
  }
}
TEST(Float16, EveryBitPatternHasItsValueAndReadsBack) { expect_every_pattern<Float16>(5, 10); }
TEST(BFloat16, EveryBitPatternHasItsValueAndReadsBack) { expect_every_pattern<BFloat16>(8, 7); }

// Rounding between each pair of neighbours: below, at and above the middle; ties go to the even pattern.
template <class T>
void expect_rounding_to_nearest_even(std::uint16_t largest_finite) {
  for (std::uint16_t i = 0; i < largest_finite; ++i) {
    T low, high;
    low.bits = i;
    high.bits = static_cast<std::uint16_t>(i + 1);
    const double a = static_cast<float>(low), b = static_cast<float>(high);
    const auto middle = static_cast<float>((a + b) / 2);  // exact: f32 has the bits to spare
    const std::uint16_t even = i % 2 == 0 ? low.bits : high.bits;
    ASSERT_EQ(T(middle).bits, even) << i;
    ASSERT_EQ(T(-middle).bits, even | 0x8000) << i;
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, low.bits) << i;
    ASSERT_EQ(T(std::nextafter(middle, INFINITY)).bits, high.bits) << i;
  }
}
TEST(Float16, RoundsToNearestEven) { expect_rounding_to_nearest_even<Float16>(0x7bff); }
TEST(BFloat16, RoundsToNearestEven) { expect_rounding_to_nearest_even<BFloat16>(0x7f7f); }

TEST(Float16, OverflowsAtTheMiddleAboveTheLargest) {
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Float16(std::ldexp(1.0f, -25)).bits, 0);
  EXPECT_EQ(Float16(-std::nextafter(std::ldexp(1.0f, -25), 1.0f)).bits, 0x8001);
}

TEST(BFloat16, OverflowsAtTheMiddleAboveTheLargest) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(-std::numeric_limits<float>::max()).bits, 0xff80);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7f7f7fffu)).bits, 0x7f7f);
}

TEST(Float16, NanStaysNanWhateverItsPayload) {
  for (std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::bit_cast<float>(bits))))) << bits;
    EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(bits))))) << bits;
  }
}

TEST(Float16, ComparesByValue) {
  EXPECT_EQ(Float16(0.0f), Float16(-0.0f));
  EXPECT_FALSE(Float16(NAN) == Float16(NAN));
  EXPECT_EQ(BFloat16(0.0f), BFloat16(-0.0f));
}

}  // namespace
}  // namespace tidemark
