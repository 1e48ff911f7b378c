#include "tidemark/solve/search_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stop_token>
#include <vector>

#include "tidemark/solve/work.h"

namespace tidemark {
namespace {

TEST(SearchControl, EndsWorkWhenItsClockSaysSo) {
  double now = 100;
  SearchControl control({.seconds = 2, .clock = [&] { return now; }});
  Work work{1'000'000, &control};
  EXPECT_TRUE(work.spend(SearchControl::look_every));
  now = 101.9;
  EXPECT_TRUE(work.spend(SearchControl::look_every));
  now = 102;
  EXPECT_FALSE(work.spend(SearchControl::look_every));
  EXPECT_EQ(work.left, 0);
  EXPECT_TRUE(control.time_is_up());
  EXPECT_LE(control.seconds_left(), 0);
}

TEST(SearchControl, LooksAtNoClockWithoutALimit) {
  int looks_at_the_clock = 0;
  SearchControl control({.progress = [](const PlanProgress&) { return true; },
                         .clock =
                             [&] {
                               ++looks_at_the_clock;
                               return 0.0;
                             }});
  Work work{1'000'000'000, &control};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(work.spend(10'000));
  EXPECT_FALSE(control.time_is_up());
  EXPECT_EQ(control.seconds_left(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(looks_at_the_clock, 0);
  EXPECT_GE(control.looks(), 100);
}

TEST(SearchControl, SaysHowFarItIsAndNeverLess) {
  std::vector<double> seen;
  SearchControl control({.progress = [&](const PlanProgress& p) {
    seen.push_back(p.done);
    return true;
  }});
  control.enter("budget", 100'000);
  for (int i = 0; i < 60; ++i) control.spent(1'000);
  control.enter("floor", 200'000);  // more than was thought
  for (int i = 0; i < 500; ++i) control.spent(1'000);
  control.finish();
  control.finish();
  ASSERT_GT(seen.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_LT(seen[seen.size() - 2], 1);
  EXPECT_EQ(seen.back(), 1);
  EXPECT_EQ(std::ranges::count(seen, 1), 1);
}

TEST(SearchControl, StopsWhenTheCallbackOrATokenAsks) {
  SearchControl told({.progress = [](const PlanProgress& p) { return p.done < 0.5; }});
  told.enter("budget", 10'000);
  EXPECT_FALSE(told.spent(4'000));
  EXPECT_THROW(told.spent(4'000), PlanningStopped);

  std::stop_source source;
  SearchControl asked({.stop = source.get_token()});
  EXPECT_FALSE(asked.spent(1'000'000));
  source.request_stop();
  EXPECT_THROW(asked.spent(1'000'000), PlanningStopped);
}

TEST(SearchControl, SharesItsTime) {
  double now = 0;
  SearchControl control({.seconds = 10, .clock = [&] { return now; }});
  {
    const TimeShare half(&control, 0.5);
    {
      const TimeShare fifth(&control, 0.2);
      now = 1;
      EXPECT_TRUE(control.time_is_up());
    }
    EXPECT_FALSE(control.time_is_up());
    now = 5;
    EXPECT_TRUE(control.time_is_up());
  }
  EXPECT_FALSE(control.time_is_up());
  now = 10;
  EXPECT_TRUE(control.time_is_up());
  const TimeShare of_nothing(nullptr, 0.5);
}

}  // namespace
}  // namespace tidemark
