#include "tidemark/cuda/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tidemark::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> add(Hazards& hazards, std::vector<Access> accesses) { return hazards.add(accesses); }

TEST(Hazards, ReadersFollowWritersAndWritersFollowReaders) {
  Hazards hazards;
  EXPECT_THAT(add(hazards, {{0, 100, true}}), IsEmpty());
  EXPECT_THAT(add(hazards, {{0, 50}}), ElementsAre(0));
  EXPECT_THAT(add(hazards, {{50, 100}}), ElementsAre(0));
  EXPECT_THAT(add(hazards, {{20, 80, true}}), ElementsAre(2, 1));         // they follow 0
  EXPECT_THAT(add(hazards, {{0, 20}, {80, 90}}), ElementsAre(0));         // what 3 left as it was
  EXPECT_THAT(add(hazards, {{200, 300, true}}), IsEmpty());               // nobody's memory
  EXPECT_THAT(add(hazards, {{79, 81, true}}), ElementsAre(4, 3));         // 4 reads 80, 3 wrote 79
  EXPECT_THAT(add(hazards, {{20, 30}, {20, 30, true}}), ElementsAre(3));  // in place
}

TEST(Hazards, NothingPassesABarrier) {
  Hazards hazards;
  add(hazards, {{0, 10, true}});
  add(hazards, {{0, 10}});
  add(hazards, {{20, 30, true}});
  EXPECT_THAT(hazards.add_barrier(), ElementsAre(2, 1));
  EXPECT_THAT(add(hazards, {{0, 10}}), ElementsAre(3));
  EXPECT_THAT(add(hazards, {{0, 5, true}}), ElementsAre(4));
  EXPECT_THAT(add(hazards, {}), ElementsAre(3));
}

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  return std::ranges::any_of(a, [&](const Access& x) {
    return std::ranges::any_of(b, [&](const Access& y) {
      return (x.writes || y.writes) && std::max(x.first, y.first) < std::min(x.last, y.last);
    });
  });
}

// Against the definition: reachable is exactly what a chain of conflicts, and of what it is told, leads to,
// and no edge is idle.
TEST(Hazards, OfRandomCommandsAreThoseOfTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::size_t count = 90;
    const int memory = 20 + round * 10;
    const auto draw = [&](int below) {
      return static_cast<std::uint64_t>(random() % static_cast<unsigned>(below));
    };
    Hazards hazards;
    std::vector<std::vector<Access>> commands;
    std::vector<std::vector<bool>> reach(count, std::vector<bool>(count)), wanted = reach;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Access> accesses;
      const bool barrier = draw(40) == 0;
      for (std::uint64_t a = 0; a < 1 + draw(3); ++a) {
        const std::uint64_t first = draw(memory);
        accesses.push_back({first, first + draw(9), draw(3) == 0});
      }
      if (barrier) accesses = {{0, 1000, true}};
      commands.push_back(accesses);
      std::vector<std::size_t> also;  // which it is told to follow
      if (i > 0 && draw(5) == 0) also = {draw(static_cast<int>(i)), draw(static_cast<int>(i))};
      const std::vector<std::size_t> before = barrier ? hazards.add_barrier() : hazards.add(accesses, also);
      for (const std::size_t b : before) {
        ASSERT_LT(b, i);
        EXPECT_FALSE(reach[i][b]) << "an edge that others imply";
        reach[i][b] = true;
        for (std::size_t j = 0; j < b; ++j) reach[i][j] = reach[i][j] || reach[b][j];
      }
      for (std::size_t j = 0; j < i; ++j) {
        const bool is_told = std::ranges::find(also, j) != also.end();
        if (!conflict(commands[i], commands[j]) && !barrier && !is_told && commands[j][0].last != 1000)
          continue;
        wanted[i][j] = true;
        for (std::size_t k = 0; k < j; ++k) wanted[i][k] = wanted[i][k] || wanted[j][k];
      }
      ASSERT_EQ(reach[i], wanted[i]) << "round " << round << ", command " << i;
    }
  }
}

TEST(Hazards, StaySmallForManyCommands) {
  Hazards hazards;
  for (std::size_t i = 0; i < 20000; ++i) {
    const std::uint64_t at = 64 * (i % 100);
    const std::vector<std::size_t> before = add(hazards, {{at, at + 64, true}});
    if (i >= 4097 && i % 4096 > 100) {
      ASSERT_THAT(before, ElementsAre(i - 100));
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
