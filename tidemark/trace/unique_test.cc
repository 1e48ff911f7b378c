#include "tidemark/trace/unique.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using testing::expect_gradient;

TEST(UniqueValues, AscendWithPlacesAndCounts) {
  const Tensor x = tensor<double>(std::vector<double>{3, 1, 3, 7, 1, 3}, {2, 3});
  const Unique u = unique(x, 5, -1);
  EXPECT_THAT(u.values.to_vector(), ElementsAre(1, 3, 7, -1, -1));
  EXPECT_EQ(u.count.item(), 3);
  EXPECT_EQ(u.count.dtype(), DType::i64);
  EXPECT_EQ(u.inverse.shape(), (Shape{2, 3}));
  EXPECT_THAT(u.inverse.to_vector(), ElementsAre(1, 0, 1, 2, 0, 1));
  EXPECT_THAT(u.counts.to_vector(), ElementsAre(2, 3, 1, 0, 0));
  EXPECT_EQ(take(u.values, u.inverse, 0).to_vector(), x.to_vector());
  EXPECT_THAT(unique(x).values.to_vector(), ElementsAre(1, 3, 7, 0, 0, 0));
  EXPECT_THAT(unique(scalar(4)).values.to_vector(), ElementsAre(4));
}

TEST(UniqueValues, AgreeWithAMap) {
  for (std::int64_t n : {1, 2, 17, 1000}) {
    const Tensor x = floor(sin(arange(n, DType::f64) * 1.7) * 9);
    std::map<double, std::int64_t> expected;
    for (double v : x.to_vector()) ++expected[v];
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::i32, DType::i64}) {
      const Unique u = unique(cast(x, dtype), 30, 99);
      EXPECT_EQ(u.values.dtype(), dtype);
      EXPECT_EQ(u.count.item(), static_cast<double>(expected.size()));
      const std::vector<double> values = u.values.to_vector(), counts = u.counts.to_vector();
      std::size_t i = 0;
      for (const auto& [value, count] : expected) {
        EXPECT_EQ(values[i], value);
        EXPECT_EQ(counts[i++], static_cast<double>(count));
      }
      for (; i < 30; ++i) EXPECT_EQ(values[i], 99);
    }
  }
  EXPECT_THAT(unique(tensor<std::uint8_t>({200, 3, 200}), 3, 7).values.to_vector(), ElementsAre(3, 200, 7));
  EXPECT_THAT(unique(tensor<double>({1, 2, 1}) > 1.5, 2).values.to_vector(), ElementsAre(0, 1));
}

// Nothing is mistaken for another value: the places of what was left out are beyond the values.
TEST(UniqueValues, BeyondTheCapacityAreCountedAndLeftOut) {
  const Tensor x = tensor<double>({5, 2, 9, 2, 7});
  const Unique u = unique(x, 2);
  EXPECT_THAT(u.values.to_vector(), ElementsAre(2, 5));
  EXPECT_EQ(u.count.item(), 4);
  EXPECT_THAT(u.counts.to_vector(), ElementsAre(2, 1));
  EXPECT_THAT(u.inverse.to_vector(), ElementsAre(1, 0, 3, 0, 2));
  EXPECT_EQ(code_of([&] { take(u.values, u.inverse, 0).to_vector(); }), ErrorCode::index_out_of_range);
}

TEST(UniqueValues, TakeNanAsOneValueAndZeroAsZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Unique u = unique(tensor<double>({nan, inf, -0.0, nan, -inf, 0.0, nan}), 6, 5);
  const std::vector<double> values = u.values.to_vector();
  EXPECT_EQ(u.count.item(), 4);
  EXPECT_EQ(values[0], -inf);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], inf);
  EXPECT_TRUE(std::isnan(values[3]));
  EXPECT_EQ(values[4], 5);
  EXPECT_THAT(u.counts.to_vector(), ElementsAre(1, 2, 1, 3, 0, 0));
}

TEST(UniqueValues, HaveGradientsAtTheirFirstOccurrence) {
  const Tensor x = tensor<double>({3, 1, 3, 7, 1});
  EXPECT_THAT(grad([](Tensor u) { return sum(square(unique(u, 4).values)); })(x).to_vector(),
              ElementsAre(6, 2, 0, 14, 0));
  expect_gradient([](Tensor u) { return unique(u, 5).values; }, tensor<double>({3, -1, 2, 7, 0.5}));
}

TEST(UniqueValues, TakeNothingAndRefuseNoRoom) {
  const Unique none = unique(zeros({0, 3}), 2, 8);
  EXPECT_THAT(none.values.to_vector(), ElementsAre(8, 8));
  EXPECT_EQ(none.count.item(), 0);
  EXPECT_EQ(none.inverse.shape(), (Shape{0, 3}));
  EXPECT_EQ(unique(zeros({0})).values.shape(), (Shape{0}));
  EXPECT_EQ(code_of([] { unique(zeros({3}), -1); }), ErrorCode::bad_attribute);
  EXPECT_NE(code_of([] { unique(tensor<std::uint8_t>({1}), 3, 300); }), ErrorCode{0});
  try {
    unique(zeros({3}), -1);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("unique_test.cc"));
  }
}

TEST(UniqueValues, AreTheSameCompiledAndOnThreads) {
  const Tensor x = floor(sin(arange(20000, DType::f32) * 1.7) * 500);
  const auto values = compile([](Tensor u) { return unique(u, 1500).values; });
  set_threads(1);
  const std::vector<double> one = unique(x, 1500).values.to_vector();
  for (int threads : {2, 3}) {
    set_threads(threads);
    EXPECT_EQ(unique(x, 1500).values.to_vector(), one);
    EXPECT_EQ(values(x).to_vector(), one);
  }
  set_threads(0);
}

}  // namespace
}  // namespace tidemark
