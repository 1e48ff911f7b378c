#include "tidemark/solve/remat/cover.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tidemark {
namespace {

double by_trying_all(const std::vector<Gain>& gains, double need) {
  double best = std::numeric_limits<double>::infinity();
  for (unsigned taken = 0; taken < 1u << gains.size(); ++taken) {
    double cost = 0, bytes = 0;
    for (std::size_t k = 0; k < gains.size(); ++k) {
      if (!(taken >> k & 1)) continue;
      cost += gains[k].cost;
      bytes += gains[k].bytes;
    }
    if (bytes >= need) best = std::min(best, cost);
  }
  return best;
}

TEST(RematCover, IsABoundAndCloseToTheBestChoice) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Gain> gains(1 + random() % 10);
    for (Gain& gain : gains)
      gain = {static_cast<double>(random() % 7), static_cast<double>(1 + random() % 9)};
    const double need = static_cast<double>(1 + random() % 40), best = by_trying_all(gains, need);
    std::int64_t visits = 0;
    const double parts = least_cover(gains, need, 0, visits), few = least_cover(gains, need, 3, visits),
                 many = least_cover(gains, need, 5'000, visits);
    if (best == std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(parts, best);
      continue;
    }
    EXPECT_LE(parts, few + 1e-9);
    EXPECT_LE(few, best + 1e-9);
    EXPECT_LE(many, best + 1e-9);
    EXPECT_GE(many, best * (1 - 1e-3));
    EXPECT_GT(visits, 0);
  }
}

}  // namespace
}  // namespace tidemark
