#include "tidemark/base/number.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/base/attrs.h"
#include "tidemark/base/dtype.h"

namespace tidemark {
namespace {

constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;  // the first whole number that no double holds
using Wide = std::numeric_limits<std::int64_t>;

TEST(Number, KeepsAllDigitsOfWholeNumbers) {
  for (std::int64_t n : {odd, -odd, Wide::max(), Wide::min(), std::int64_t{0}}) {
    EXPECT_TRUE(Number(n).is_whole());
    EXPECT_EQ(Number(n).as<std::int64_t>(), n);
    EXPECT_EQ(to_string(Number(n)), std::to_string(n));
    std::byte stored[8];
    write_element(DType::i64, n, stored);
    EXPECT_EQ(read_element(DType::i64, stored).whole(), n);
  }
  EXPECT_FALSE(Number(0.5).is_whole());
  EXPECT_EQ(Number(true).as<int>(), 1);
  EXPECT_EQ(Number('a').as<int>(), 97);
  EXPECT_EQ(Number(std::uint8_t{200}).as<int>(), 200);
}

TEST(Number, KnowsWhatItFits) {
  EXPECT_TRUE(Number(odd).fits<std::int64_t>());
  EXPECT_FALSE(Number(odd).fits<double>());
  EXPECT_TRUE(Number(odd - 1).fits<double>());
  EXPECT_FALSE(Number((1 << 24) + 1).fits<float>());
  EXPECT_FALSE(Number(Wide::max()).fits<double>());
  EXPECT_TRUE(Number(Wide::min()).fits<double>());
  EXPECT_FALSE(Number(Wide::max()).fits<float>());
  EXPECT_FALSE(Number(std::uint64_t{1} << 63).fits<std::int64_t>());
  EXPECT_FALSE(Number(256).fits<std::uint8_t>());
  EXPECT_FALSE(Number(-1).fits<std::uint8_t>());
  EXPECT_TRUE(Number(255.0).fits<std::uint8_t>());
  EXPECT_FALSE(Number(0.5).fits<std::int32_t>());
  EXPECT_FALSE(Number(0x1p63).fits<std::int64_t>());
  EXPECT_TRUE(Number(-0x1p63).fits<std::int64_t>());
  EXPECT_FALSE(Number(0x1p31).fits<std::int32_t>());
  EXPECT_FALSE(Number(std::numeric_limits<double>::infinity()).fits<std::int64_t>());
  EXPECT_FALSE(Number(std::numeric_limits<double>::quiet_NaN()).fits<std::int64_t>());
  EXPECT_TRUE(Number(std::numeric_limits<double>::quiet_NaN()).fits<float>());
  EXPECT_FALSE(Number(2).fits<bool>());
  EXPECT_TRUE(Number(1).fits<bool>());
}

TEST(Number, IsCutOffAtTheBoundsOfAnIntegerTypeWhereItWasNoInteger) {
  EXPECT_EQ(Number(1e300).as<std::int64_t>(), Wide::max());
  EXPECT_EQ(Number(-1e300).as<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(Number(std::numeric_limits<double>::quiet_NaN()).as<std::int64_t>(), 0);
  EXPECT_EQ(Number(300.5).as<std::uint8_t>(), 255);
}

TEST(Number, IsRoundedOnceTo16Bits) {
  // 2^60 + 2^52 + 1 lies just above the middle of two neighbours of bf16; by way of f64 it would round to the
  // middle.
  const std::int64_t above = (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1;
  Literal literal = scalar_literal(DType::bf16, above);
  std::uint16_t bits = 0;
  std::memcpy(&bits, literal.bytes.data(), 2);
  EXPECT_EQ(bits, BFloat16(0x1p60f).bits + 1);
}

}  // namespace
}  // namespace tidemark
