#include "tidemark/base/pool_thrift.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

constexpr std::int64_t us = PoolThrift::microsecond;

TEST(PoolThrift, SharesWhileItPays) {
  PoolThrift thrift;
  for (std::int64_t now = 0; now < 10000 * us; now += 10 * us) {
    EXPECT_FALSE(thrift.alone(now));
    thrift.account(now, 8 * us, 2 * us);
  }
  EXPECT_EQ(thrift.patience(), 100 * us);
}

TEST(PoolThrift, AFewLossesAtTheStartAreBorne) {
  PoolThrift thrift;
  for (int i = 0; i < 20; ++i) thrift.account(i * us, 0, 4 * us);  // while the workers still wake up
  EXPECT_FALSE(thrift.alone(20 * us));
}

TEST(PoolThrift, ComputesAloneEightTimesAsLongAsWasLost) {
  PoolThrift thrift;
  thrift.account(0, 0, 4000 * us);
  EXPECT_TRUE(thrift.alone(31999 * us));
  EXPECT_FALSE(thrift.alone(32000 * us));
}

// The worst that other programs can do: every attempt is lost.
TEST(PoolThrift, LosesANinthOfTheTimeAtMost) {
  for (const std::int64_t loss : {5 * us, 100 * us, 4000 * us}) {
    PoolThrift thrift;
    std::int64_t now = 0, lost = 0;
    while (now < 10'000'000 * us) {
      if (!thrift.alone(now)) {
        now += loss, lost += loss;
        thrift.account(now, 0, loss);
      } else {
        now += 10 * us;
      }
    }
    EXPECT_LE(lost, now / 8) << loss;
  }
}

TEST(PoolThrift, ASavedGainCoversNoLongLoss) {
  PoolThrift thrift;
  for (int i = 0; i < 100000; ++i) thrift.account(0, 100 * us, 0);
  thrift.account(0, 0, 5000 * us);
  EXPECT_FALSE(thrift.alone(us)) << "once in a while";
  thrift.account(0, 0, 6000 * us);
  EXPECT_TRUE(thrift.alone(us)) << "a change of the machine's load shows soon";
}

TEST(PoolThrift, WatchingGetsShortWhenACoreWasLostAndLongAgainWhenSharingPays) {
  PoolThrift thrift;
  thrift.core_was_lost();
  EXPECT_EQ(thrift.patience(), 2 * us);
  for (int i = 0; i < 50; ++i) thrift.account(0, 10 * us, us);
  EXPECT_EQ(thrift.patience(), 100 * us);
  thrift.account(0, 10 * us, 50 * us);
  EXPECT_EQ(thrift.patience(), 2 * us) << "waiting so long means that somebody lost the core";
}

}  // namespace
}  // namespace tidemark
