#include "tidemark/base/repeatable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tidemark {
namespace {

constexpr double close = 4 * std::numeric_limits<double>::epsilon();

TEST(RepeatableMath, IsCloseToTheCLibrary) {
  for (double x = -700; x < 700; x += 0.37) {
    EXPECT_NEAR(repeatable::exp(x) / std::exp(x), 1, close) << x;
  }
  for (double x = 1e-300; x < 1e300; x *= 1.73) {
    EXPECT_NEAR(repeatable::log(x), std::log(x), close * std::abs(std::log(x))) << x;
    EXPECT_NEAR(repeatable::log2(x), std::log2(x), close * std::abs(std::log2(x))) << x;
  }
  for (double x = 0.5; x < 2; x += 0.00137) {
    EXPECT_NEAR(repeatable::log(x), std::log(x), close * std::abs(std::log(x))) << x;
    EXPECT_NEAR(repeatable::pow(x, 2.3) / std::pow(x, 2.3), 1, 2 * close) << x;
  }
}

TEST(RepeatableMath, KnowsTheEdges) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(repeatable::exp(0), 1);
  EXPECT_EQ(repeatable::exp(-infinity), 0);
  EXPECT_EQ(repeatable::exp(-1e4), 0);
  EXPECT_EQ(repeatable::exp(1e4), infinity);
  EXPECT_EQ(repeatable::exp(infinity), infinity);
  EXPECT_TRUE(std::isnan(repeatable::exp(std::nan(""))));
  EXPECT_EQ(repeatable::log(1), 0);
  EXPECT_EQ(repeatable::log(0), -infinity);
  EXPECT_EQ(repeatable::log(infinity), infinity);
  EXPECT_TRUE(std::isnan(repeatable::log(-1)));
  for (int e = -1000; e <= 1000; ++e) EXPECT_EQ(repeatable::log2(std::ldexp(1, e)), e);
}

// The bits themselves: a machine on which these differ makes other plans.
TEST(RepeatableMath, HasTheSameBitsEverywhere) {
  std::uint64_t exps = 0, logs = 0, pows = 0;
  const auto mix = [](std::uint64_t& sum, double x) {
    sum = (sum ^ std::bit_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  };
  for (int i = 1; i <= 20'000; ++i) {
    const double x = i * 0x1p-7;
    mix(exps, repeatable::exp(-x));
    mix(logs, repeatable::log(x));
    mix(pows, repeatable::pow(x, 0.7));
  }
  EXPECT_EQ(exps, 4141437743300588497u);
  EXPECT_EQ(logs, 4438081586749934519u);
  EXPECT_EQ(pows, 4011420196629600376u);
}

}  // namespace
}  // namespace tidemark
