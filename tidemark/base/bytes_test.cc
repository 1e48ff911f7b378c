#include "tidemark/base/bytes.h"

#include <gtest/gtest.h>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

using namespace literals;

TEST(Bytes, LiteralsCountInPowersOf1024) {
  EXPECT_EQ((3_B).count, 3);
  EXPECT_EQ((2_KiB).count, 2048);
  EXPECT_EQ((512_MiB).count, 512 * 1024 * 1024);
  EXPECT_EQ((4_GiB).count, std::int64_t{4} << 30);
  EXPECT_EQ(1_KiB + 1_KiB, 2_KiB);
  EXPECT_EQ(1_MiB - 1_KiB, Bytes(1047552));
  EXPECT_LT(1023_KiB, 1_MiB);
  Bytes sum = 1_B;
  sum += 2_B;
  sum -= 1_B;
  EXPECT_EQ(sum, 2_B);
}

TEST(Bytes, TextHasTwoDigitsAndAUnit) {
  EXPECT_EQ(to_string(0_B), "0 B");
  EXPECT_EQ(to_string(1023_B), "1023 B");
  EXPECT_EQ(to_string(1536_B), "1.50 KiB");
  EXPECT_EQ(to_string(64_MiB), "64.00 MiB");
  EXPECT_EQ(to_string(Bytes(std::int64_t{5} << 40)), "5.00 TiB");
  EXPECT_EQ(to_string(Bytes(-2048)), "-2.00 KiB");
}

TEST(Bytes, ParsesNumbersWithUnits) {
  EXPECT_EQ(parse_bytes("4096"), 4096_B);
  EXPECT_EQ(parse_bytes("64MiB"), 64_MiB);
  EXPECT_EQ(parse_bytes(" 1.5 GiB "), Bytes(1610612736));
  EXPECT_EQ(parse_bytes("2GB"), Bytes(2000000000));
  EXPECT_EQ(parse_bytes("3kB"), Bytes(3000));
  EXPECT_EQ(parse_bytes("1K"), 1_KiB);
  EXPECT_EQ(parse_bytes("0"), 0_B);
}

TEST(Bytes, WholeNumbersAreExact) {
  EXPECT_EQ(parse_bytes("9007199254740993").count, 9007199254740993);
  EXPECT_EQ(parse_bytes("9223372036854775807").count, 9223372036854775807);
  EXPECT_EQ(parse_bytes("8388607TiB").count, std::int64_t{8388607} << 40);
  EXPECT_THROW(parse_bytes("9223372036854775808"), Error);
  EXPECT_THROW(parse_bytes("18446744073709551616"), Error);
}

TEST(Bytes, RefusesEverythingElse) {
  for (const char* text :
       {"", "x", "-1", "1 furlong", "1e400", "nan", "inf", "8388608TiB", "1e19", "12 34", "1GiBx", "GiB"}) {
    EXPECT_THROW(parse_bytes(text), Error) << text;
  }
}

TEST(Bytes, TextReadsBackWhenItIsExact) {
  for (std::int64_t n : {std::int64_t{1}, std::int64_t{1024}, std::int64_t{3} << 30, std::int64_t{1} << 40}) {
    EXPECT_EQ(parse_bytes(to_string(Bytes(n))).count, n);
  }
}

TEST(Bytes, AlignsUp) {
  EXPECT_EQ(align_up(0, 64), 0);
  EXPECT_EQ(align_up(1, 64), 64);
  EXPECT_EQ(align_up(64, 64), 64);
  EXPECT_EQ(align_up(65, 64), 128);
}

}  // namespace
}  // namespace tidemark
