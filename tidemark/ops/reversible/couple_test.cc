#include "tidemark/ops/reversible/couple.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

// Of all sizes up to half the range, with zeros of both signs and the smallest numbers there are.
Literal drawn(std::mt19937_64& random, DType dtype, std::int64_t count, double range) {
  const double smallest = dtype == DType::f32 ? 0x1p-149 : 0x1p-1074;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double unit = 0.49 * range * (std::ldexp(static_cast<double>(random() >> 11), -52) - 1);
    const int exponent = static_cast<int>(random() % 60);
    values.push_back(i % 17 == 0   ? -0.0
                     : i % 19 == 0 ? smallest
                     : i % 3 == 0  ? std::ldexp(unit, -exponent)
                                   : unit);
  }
  return literal_of(dtype, {count}, values);
}

// What couple adds, uncouple takes away, to the bit; and nothing is far from where it was.
TEST(Couple, SumsAreUndoneToTheBit) {
  std::mt19937_64 random(7);
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double range : {1024.0, 4.0, 0x1p-64, 0x1p100}) {
      const Attrs grid = pack(GridAttrs{range});
      const double step = grid_step(dtype, range);
      for (const std::int64_t count : {0, 1, 3, 7, 8, 17, 1000, 40000}) {
        const Literal raw = drawn(random, dtype, count, range), t = drawn(random, dtype, count, range);
        const Literal x = run(op::to_grid, {raw}, grid).front();
        const Literal y = run(op::couple, {x, t}, grid).front();
        ASSERT_EQ(bit_difference(run(op::uncouple, {y, t}, grid).front(), x, NaNs::alike), "");
        ASSERT_EQ(run(op::to_grid, {x}, grid).front(), x) << "rounding once more changes nothing";
        const std::vector<double> before = values_of(raw), after = values_of(x), sums = values_of(y);
        for (std::size_t i = 0; i < before.size(); ++i) {
          ASSERT_LE(std::abs(after[i] - before[i]), step / 2);
          ASSERT_EQ(std::remainder(sums[i], step), 0);
        }
      }
    }
  }
}

TEST(Couple, FailsExactlyWhereTheSumCannotBeUndone) {
  const Attrs grid = pack(GridAttrs{1024});
  const auto fails = [&](double x, double t) {
    std::vector<double> xs(37, 1.0), ts(37, 0.5);
    xs[23] = x, ts[23] = t;
    const Literal a = literal_of(DType::f32, {37}, xs), b = literal_of(DType::f32, {37}, ts);
    return code_of([&] { (void)run(op::couple, {a, b}, grid); }) == ErrorCode::numeric;
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double step = grid_step(DType::f32, 1024);
  EXPECT_FALSE(fails(0, 0));
  EXPECT_FALSE(fails(-0.0, -0.0));
  EXPECT_FALSE(fails(1023, 1));
  EXPECT_FALSE(fails(1024, -1024));
  EXPECT_TRUE(fails(step, 1024)) << "one digit too many";
  EXPECT_TRUE(fails(nan, 0));
  EXPECT_TRUE(fails(0, nan));
  EXPECT_FALSE(fails(inf, 1)) << "an infinity stays one";
  EXPECT_TRUE(fails(1, -inf));
  EXPECT_TRUE(fails(1, 1e30));
}

}  // namespace
}  // namespace tidemark
