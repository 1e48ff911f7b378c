#include "tidemark/plan/report/largest_size.h"

#include <gtest/gtest.h>

#include <set>

namespace tidemark {
namespace {

LargestSize within(const SizeSearch& search, std::int64_t limit) {
  return largest_size(search, [&](std::int64_t size) { return size <= limit; });
}

TEST(LargestSize, IsFoundFromAboveAndFromBelow) {
  for (const std::int64_t start : {1, 16, 500}) {
    const LargestSize found = within({.least = 1, .most = 1000, .start = start}, 37);
    EXPECT_EQ(found.fits, 37) << start;
    EXPECT_EQ(found.too_large, 38) << start;
  }
}

TEST(LargestSize, IsToldToAThirtySecond) {
  for (std::int64_t limit = 64; limit < 5000; limit += 97) {
    const SizeSearch search{.least = 1, .most = 1 << 20, .start = 100};
    const LargestSize found = within(search, limit);
    ASSERT_TRUE(found.fits && found.too_large) << limit;
    EXPECT_LE(*found.fits, limit);
    EXPECT_GT(*found.too_large, limit);
    EXPECT_LE(*found.too_large - *found.fits, limit / 32) << limit;
  }
}

TEST(LargestSize, IsAMultipleOfTheStep) {
  std::set<std::int64_t> asked;
  const LargestSize found =
      largest_size({.least = 64, .most = 65536, .step = 64, .start = 768}, [&](std::int64_t size) {
        asked.insert(size % 64);
        return size <= 1000;
      });
  EXPECT_EQ(found.fits, 960);
  EXPECT_EQ(found.too_large, 1024);
  EXPECT_EQ(asked, (std::set<std::int64_t>{0}));
}

TEST(LargestSize, MayBeTheLimitOrNone) {
  const LargestSize all = within({.least = 1, .most = 512, .start = 12}, 9999);
  EXPECT_EQ(all.fits, 512);
  EXPECT_FALSE(all.too_large);
  EXPECT_FALSE(within({.least = 4, .most = 512, .start = 12}, 3).fits);
}

TEST(LargestSize, GoesOnFromALargerSizeThatFitsAfterAll) {
  const LargestSize found = largest_size({.least = 1, .most = 1000, .start = 16}, [](std::int64_t size) {
    return size <= 24 || (size > 26 && size <= 30);
  });
  EXPECT_EQ(found.fits, 30);
}

}  // namespace
}  // namespace tidemark
