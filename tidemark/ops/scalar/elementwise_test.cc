#include "tidemark/ops/scalar/elementwise.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/run_kernel.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The bytes, which must be 0 and 1.
std::vector<int> truths(const Literal& l) {
  TM_CHECK(l.dtype == DType::boolean);
  std::vector<int> values;
  for (std::byte b : l.bytes) values.push_back(static_cast<int>(b));
  return values;
}

Literal result(const Op& op, const std::vector<Literal>& operands) { return run(op, operands).front(); }

TEST(Elementwise, BroadcastsOperandsAsNumPyDoes) {
  const Literal x = literal_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values_of<float>(result(op::add, {x, literal_of<float>({3}, {10, 20, 30})})),
              ElementsAre(11, 22, 33, 14, 25, 36));
  EXPECT_THAT(values_of<float>(result(op::add, {literal_of<float>({2, 1}, {10, 20}), x})),
              ElementsAre(11, 12, 13, 24, 25, 26));
  EXPECT_THAT(values_of<float>(result(op::mul, {x, literal_of<float>({}, {2})})),
              ElementsAre(2, 4, 6, 8, 10, 12));
  const Literal outer =
      result(op::sub, {literal_of<float>({2, 1}, {1, 2}), literal_of<float>({1, 3}, {1, 2, 3})});
  EXPECT_EQ(outer.shape, (Shape{2, 3}));
  EXPECT_THAT(values_of<float>(outer), ElementsAre(0, -1, -2, 1, 0, -1));
  EXPECT_THAT(
      values_of<float>(result(op::add, {literal_of<float>({0, 3}, {}), literal_of<float>({3}, {1, 2, 3})})),
      ElementsAre());
}

TEST(Elementwise, ShapesThatDoNotBroadcastPointAtTheUsersLine) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {2, 3}}), y = builder.input({DType::f32, {4}});
  builder.set_where({"train.cpp", 88});
  try {
    add(x, y);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(error.where(), SourceLine("train.cpp", 88));
    EXPECT_THAT(error.what(), HasSubstr("add: shapes (2, 3) and (4) do not broadcast"));
  }
}

TEST(Elementwise, MixedDtypesAskForACast) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {2}}), y = builder.input({DType::f64, {2}});
  builder.set_where({"train.cpp", 89});
  try {
    mul(x, y);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::dtype_mismatch);
    EXPECT_EQ(error.where(), SourceLine("train.cpp", 89));
    EXPECT_THAT(error.parts().help, HasSubstr("cast"));
  }
}

TEST(Elementwise, DtypesAnOpDoesNotTakeAreNamed) {
  Graph graph;
  Builder builder(graph);
  const Var i = builder.input({DType::i32, {2}}), b = builder.input({DType::boolean, {2}});
  EXPECT_THROW(exp(i), Error);
  EXPECT_THROW(add(b, b), Error);
  EXPECT_THROW(logical_and(i, i), Error);
  EXPECT_NO_THROW(equal(b, b));
}

TEST(Elementwise, IntegersWrapAndDivideDownwards) {
  constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min();
  const Literal x = literal_of<std::int32_t>({6}, {7, -7, 7, -7, low, 5});
  const Literal y = literal_of<std::int32_t>({6}, {2, 2, -2, -2, -1, 0});
  EXPECT_THAT(values_of<std::int32_t>(result(op::div, {x, y})), ElementsAre(3, -4, -4, 3, low, -1));
  EXPECT_THAT(values_of<std::int32_t>(result(op::mod, {x, y})), ElementsAre(1, 1, -1, -1, 0, 5));
  EXPECT_THAT(values_of<std::int32_t>(result(op::neg, {x})), ElementsAre(-7, 7, -7, 7, low, -5));
  EXPECT_THAT(values_of<std::uint8_t>(result(op::add, {literal_of<std::uint8_t>({2}, {250, 1}),
                                                       literal_of<std::uint8_t>({2}, {10, 2})})),
              ElementsAre(4, 3));
}

template <class T>
void expect_quotients_and_remainders_to_agree(const std::vector<T>& numbers) {
  std::vector<T> x, y;
  for (T a : numbers) {
    for (T b : numbers) x.push_back(a), y.push_back(b);
  }
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  const Literal a = literal_of<T>(shape, x), b = literal_of<T>(shape, y);
  const Literal q = result(op::div, {a, b}), r = result(op::mod, {a, b});
  EXPECT_EQ(values_of<T>(result(op::add, {result(op::mul, {b, q}), r})), x);
  const std::vector<T> remainders = values_of<T>(r);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool between =
        y[i] > 0 ? remainders[i] >= 0 && remainders[i] < y[i] : remainders[i] <= 0 && remainders[i] > y[i];
    EXPECT_TRUE(y[i] == 0 ? remainders[i] == x[i] : between) << +x[i] << " by " << +y[i];
  }
}

TEST(Elementwise, QuotientTimesDivisorAndRemainderAreTheNumberForAllIntegers) {
  using Wide = std::numeric_limits<std::int64_t>;
  using Narrow = std::numeric_limits<std::int32_t>;
  expect_quotients_and_remainders_to_agree<std::int64_t>({Wide::min(), Wide::min() + 1, -7, -2, -1, 0, 1, 2,
                                                          7, (std::int64_t{1} << 53) + 1, Wide::max() - 1,
                                                          Wide::max()});
  expect_quotients_and_remainders_to_agree<std::int32_t>(
      {Narrow::min(), Narrow::min() + 1, -7, -2, -1, 0, 1, 2, 7, Narrow::max() - 1, Narrow::max()});
  expect_quotients_and_remainders_to_agree<std::uint8_t>({0, 1, 2, 7, 127, 128, 254, 255});
}

TEST(Elementwise, ModuloTakesTheSignOfTheDivisor) {
  const std::vector<double> z =
      values_of<double>(result(op::mod, {literal_of<double>({5}, {5.5, -5.5, 5.5, -5.5, 1}),
                                         literal_of<double>({5}, {2, 2, -2, -2, inf})}));
  EXPECT_THAT(z, ElementsAre(1.5, 0.5, -0.5, -1.5, 1));
}

TEST(Elementwise, NaNGoesThroughMaximumAndMinimum) {
  const Literal x = literal_of<double>({4}, {nan, 1, -inf, 3}), y = literal_of<double>({4}, {1, nan, 2, inf});
  const std::vector<double> high = values_of<double>(result(op::maximum, {x, y}));
  const std::vector<double> low = values_of<double>(result(op::minimum, {x, y}));
  EXPECT_TRUE(std::isnan(high[0]) && std::isnan(high[1]) && std::isnan(low[0]) && std::isnan(low[1]));
  EXPECT_EQ(high[2], 2);
  EXPECT_EQ(high[3], inf);
  EXPECT_EQ(low[2], -inf);
  EXPECT_EQ(low[3], 3);
}

TEST(Elementwise, RoundGoesToEven) {
  EXPECT_THAT(values_of<float>(
                  result(op::round, {literal_of<float>({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388609.f})})),
              ElementsAre(0, 2, 2, -0.f, -2, 8388609.f));
}

TEST(Elementwise, ComparisonsYieldBool) {
  const Literal x = literal_of<float>({3}, {1, 2, NAN}), y = literal_of<float>({3}, {2, 2, 2});
  EXPECT_THAT(truths(result(op::less, {x, y})), ElementsAre(1, 0, 0));
  EXPECT_THAT(truths(result(op::less_equal, {x, y})), ElementsAre(1, 1, 0));
  EXPECT_THAT(truths(result(op::greater, {x, y})), ElementsAre(0, 0, 0));
  EXPECT_THAT(truths(result(op::greater_equal, {x, y})), ElementsAre(0, 1, 0));
  EXPECT_THAT(truths(result(op::equal, {x, y})), ElementsAre(0, 1, 0));
  EXPECT_THAT(truths(result(op::not_equal, {x, y})), ElementsAre(1, 0, 1));
}

TEST(Elementwise, LogicWorksOnBool) {
  const Literal x = literal_of(DType::boolean, {4}, {0, 0, 1, 1}),
                y = literal_of(DType::boolean, {4}, {0, 1, 0, 1});
  EXPECT_THAT(truths(result(op::logical_and, {x, y})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(truths(result(op::logical_or, {x, y})), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(truths(result(op::logical_xor, {x, y})), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(truths(result(op::logical_not, {x})), ElementsAre(1, 1, 0, 0));
}

}  // namespace
}  // namespace tidemark
