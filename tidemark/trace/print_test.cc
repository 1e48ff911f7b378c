#include "tidemark/trace/print.h"

#include <gmock/gmock.h>

#include <limits>
#include <sstream>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

// Expected texts are what NumPy 2.4 prints of the same arrays.
constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

Tensor numbers(const std::vector<double>& values, const Shape& shape, DType dtype = DType::f64) {
  return cast(tensor(values, shape), dtype);
}

TEST(PrintedTensors, HaveTheirPointsBelowEachOther) {
  EXPECT_EQ(to_string(numbers({1, 2.25, -3.5, 0}, {2, 2})), "[[ 1.    2.25]\n [-3.5   0.  ]]");
  EXPECT_EQ(to_string(numbers({1, 2, 3}, {3})), "[1. 2. 3.]");
  EXPECT_EQ(to_string(numbers({nan, 1.5, -inf}, {3})), "[ nan  1.5 -inf]");
  EXPECT_EQ(to_string(numbers({nan, inf}, {2})), "[nan inf]");
  EXPECT_EQ(to_string(numbers({-0.0, 0.0}, {2})), "[-0.  0.]");
}

TEST(PrintedTensors, PartsOfThemToo) {
  Tensor x = tensor(std::vector<double>{1, 2.5, -3});
  EXPECT_EQ(fmt::format("{}", x.at(Range{0, 2})), "[1.  2.5]");
  EXPECT_EQ(fmt::format("{:.1}", x.at(1)), "2.5");
}

TEST(PrintedTensors, ShowAsManyDigitsAsTheirDtypeHas) {
  EXPECT_EQ(to_string(numbers({0.1, 1.0 / 3}, {2}, DType::f32)), "[0.1        0.33333334]");
  EXPECT_EQ(to_string(numbers({0.1, 1.0 / 3}, {2}, DType::f64)), "[0.1        0.33333333]");
  EXPECT_EQ(to_string(numbers({0.1, 1.0 / 3}, {2}, DType::f16)), "[0.1    0.3333]");
  EXPECT_EQ(to_string(numbers({0.1, 1.0 / 3}, {2}, DType::bf16)), "[0.1   0.334]");
  EXPECT_EQ(fmt::format("{:.2}", numbers({0.126, 10}, {2})), "[ 0.13 10.  ]");
}

TEST(PrintedTensors, TurnToPowersOfTenWhereColumnsWouldBeWide) {
  EXPECT_EQ(to_string(numbers({1.5, 1e10}, {2}, DType::f64)), "[1.5e+00 1.0e+10]");
  EXPECT_EQ(to_string(numbers({1e-5, 1}, {2}, DType::f64)), "[1.e-05 1.e+00]");
  EXPECT_EQ(to_string(numbers({0, 1e300, -5e-324}, {3}, DType::f64)), "[ 0.e+000  1.e+300 -5.e-324]");
  EXPECT_EQ(to_string(numbers({0.001, 1}, {2}, DType::f64)), "[0.001 1.   ]");
}

TEST(PrintedTensors, OfWholeNumbersAndTruthsAreAligned) {
  EXPECT_EQ(to_string(numbers({1, -20, 300}, {3}, DType::i32)), "[  1 -20 300]");
  EXPECT_EQ(to_string(numbers({1, 0}, {2}, DType::boolean)), "[ True False]");
}

TEST(PrintedTensors, OfNoElementsOrOneElement) {
  EXPECT_EQ(to_string(scalar(1)), "1.0");
  EXPECT_EQ(to_string(scalar(-2.5)), "-2.5");
  EXPECT_EQ(to_string(zeros({2, 0})), "[] f32[2, 0]");
  EXPECT_EQ(to_string(Tensor()), "empty");
}

TEST(PrintedTensors, OfManyElementsShowTheEnds) {
  EXPECT_EQ(to_string(arange(1001, DType::i32)), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(to_string(reshape(arange(2000, DType::i32), {200, 10}), {.edge = 1}),
            "[[   0 ...    9]\n ...\n [1990 ... 1999]]");
  EXPECT_EQ(to_string(reshape(arange(8, DType::i32), {2, 2, 2})), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
}

TEST(PrintedTensors, BreakLongRows) {
  EXPECT_EQ(
      to_string(arange(30, DType::i32), {.width = 40}),
      "[ 0  1  2  3  4  5  6  7  8  9 10 11 12\n 13 14 15 16 17 18 19 20 21 22 23 24 25\n 26 27 28 29]");
}

TEST(PrintedTensors, GoToStreamsAndAreTypesUnderATrace) {
  std::ostringstream out;
  out << numbers({1, 2}, {2});
  EXPECT_EQ(out.str(), "[1. 2.]");
  std::string traced;
  compile([&](Tensor x) {
    traced = to_string(x);
    return x;
  })(zeros({2, 3}));
  EXPECT_EQ(traced, "f32[2, 3] (traced)");
}

}  // namespace
}  // namespace tidemark
