#include "tidemark/plan/report/size_formulas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SizedPeak made_of(std::int64_t parameters, std::int64_t activations, std::string at = "contract (net.cc:7)") {
  SizedPeak peak{.at = std::move(at)};
  peak.bytes[static_cast<std::size_t>(PeakRole::parameters)] = parameters;
  peak.bytes[static_cast<std::size_t>(PeakRole::activations)] = activations;
  return peak;
}

const std::vector<SizeAxis> batch_and_width = {{.name = "batch", .least = 1, .most = 64, .degree = 1},
                                               {.name = "width", .least = 64, .most = 1024, .step = 64}};

TEST(SizeFormulas, OneRegimeIsOneFormulaToTheByte) {
  const SizeFormulas found = size_formulas(batch_and_width, [](std::span<const std::int64_t> s) {
    return made_of(48 * s[1] * s[1] + 16 * s[1], 96 * s[0] * s[1]);
  });
  ASSERT_EQ(found.regimes.size(), 1u);
  EXPECT_TRUE(found.without.empty());
  const SizeRegime& regime = found.regimes[0];
  EXPECT_EQ(regime.most_off, 0);
  EXPECT_EQ(regime.fitted, 6);
  EXPECT_GE(regime.checked, 4);
  EXPECT_EQ(regime.fitted + regime.checked, found.plans);
  EXPECT_THAT(regime.at, ElementsAre("contract (net.cc:7)"));
  EXPECT_THAT(to_text(found),
              ::testing::AllOf(HasSubstr("batch 1 to 64, width 64 to 1024"),
                               HasSubstr("stored activations  96 B · batch · width\n"),
                               HasSubstr("parameters          16 B · width + 48 B · width²\n"),
                               HasSubstr("exact, to the byte, in "), HasSubstr("contract (net.cc:7)")));
}

TEST(SizeFormulas, ABorderIsFoundWhereItIs) {
  // From a batch of 23 on another step has the peak, with a jump.
  const auto peak_at = [](std::span<const std::int64_t> s) {
    return s[0] < 23 ? made_of(4096 * s[1], 64 * s[0] * s[1], "update (net.cc:9)")
                     : made_of(4096 * s[1], 512 * s[0] * s[1]);
  };
  const SizeFormulas found = size_formulas(batch_and_width, peak_at);
  ASSERT_EQ(found.regimes.size(), 2u);
  EXPECT_EQ(found.regimes[0].box[0], (SizeRange{23, 64}));
  EXPECT_EQ(found.regimes[1].box[0], (SizeRange{1, 22}));
  EXPECT_EQ(found.regimes[1].box[1], (SizeRange{64, 1024}));
  EXPECT_THAT(found.regimes[1].at, ElementsAre("update (net.cc:9)"));
  for (const SizeRegime& regime : found.regimes) EXPECT_EQ(regime.most_off, 0);
  const std::int64_t below[] = {22, 640}, above[] = {23, 640};
  EXPECT_EQ(found.regime_of(below), &found.regimes[1]);
  EXPECT_EQ(found.regime_of(above), &found.regimes[0]);
}

TEST(SizeFormulas, ABendOfArgumentsIsABorderHoweverSmall) {
  // A table with at least 512 rows, next to much else.
  const SizeFormulas found =
      size_formulas({{.name = "context", .least = 64, .most = 2048}}, [](std::span<const std::int64_t> s) {
        return made_of(64 * std::max<std::int64_t>(512, s[0]), (1 << 28) + 1000 * s[0]);
      });
  ASSERT_EQ(found.regimes.size(), 2u);
  EXPECT_NEAR(static_cast<double>(found.regimes[0].box[0].least), 512, 8);
}

TEST(SizeFormulas, CurvedBordersAreCoveredWithinHalfAPercent) {
  const auto peak_at = [](std::span<const std::int64_t> s) {
    SizedPeak peak = made_of(100'000 * s[1], 4000 * s[0] * s[1]);
    peak.bytes[static_cast<std::size_t>(PeakRole::workspaces)] =
        std::min<std::int64_t>(2'000'000, 200 * s[0] * s[1]);
    return peak;
  };
  const SizeFormulas found = size_formulas(batch_and_width, peak_at);
  ASSERT_FALSE(found.regimes.empty());
  std::minstd_rand random(5);
  int inside = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t sizes[] = {1 + static_cast<std::int64_t>(random() % 64),
                                  64 + static_cast<std::int64_t>(random() % 16) * 64};
    const SizeRegime* regime = found.regime_of(sizes);
    if (regime == nullptr) continue;
    ++inside;
    const auto peak = static_cast<double>(peak_at(sizes).peak());
    EXPECT_NEAR(static_cast<double>(regime->peak.at(sizes)), peak, 0.02 * peak);
  }
  EXPECT_GT(inside, 100);
}

TEST(SizeFormulas, WhatFollowsNoPolynomialIsSaidToHaveNone) {
  std::minstd_rand random(1);
  const SizeFormulas found = size_formulas(
      {{.name = "batch", .least = 1, .most = 64, .degree = 1}},
      [&](std::span<const std::int64_t>) {
        return made_of(0, 1'000'000 + static_cast<std::int64_t>(random() % 1'000'000));
      },
      30);
  EXPECT_FALSE(found.without.empty());
  EXPECT_THAT(to_text(found), HasSubstr("no formula for"));
}

TEST(SizeFormulas, OneSizeIsItsOwnFormula) {
  const SizeFormulas found = size_formulas({{.name = "batch", .least = 8, .most = 8, .degree = 1}},
                                           [](std::span<const std::int64_t>) { return made_of(3, 4); });
  ASSERT_EQ(found.regimes.size(), 1u);
  EXPECT_THAT(to_text(found), HasSubstr("batch 8\n"));
}

}  // namespace
}  // namespace tidemark
