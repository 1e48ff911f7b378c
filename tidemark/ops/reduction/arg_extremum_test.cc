#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/run_kernel.h"
#include "tidemark/base/philox.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

// As the words say: the first NaN, or else the first of the extreme values.
std::vector<double> by_definition(const std::vector<double>& x, const Shape& shape, int axis, bool largest) {
  std::int64_t outer = 1, inner = 1;
  const std::int64_t n = shape[axis];
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  std::vector<double> result;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < inner; ++c) {
      const auto at = [&](std::int64_t k) { return x[static_cast<std::size_t>((o * n + k) * inner + c)]; };
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < n && !std::isnan(at(best)); ++k) {
        if (std::isnan(at(k)) || (largest ? at(k) > at(best) : at(k) < at(best))) best = k;
      }
      result.push_back(static_cast<double>(best));
    }
  }
  return result;
}

// Small whole numbers, so that many are equal.
std::vector<double> numbers(std::int64_t count, std::uint32_t kinds, bool whole) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t word = Philox{5}(static_cast<std::uint64_t>(i))[0];
    x.push_back(static_cast<double>(word % kinds) - (whole ? 0 : kinds / 2));
  }
  return x;
}

void expect_definition(DType dtype, const Shape& shape, int axis, const std::vector<double>& values) {
  const Literal x = literal_of(dtype, shape, values);
  const std::vector<double> stored = values_of(x);
  const Attrs attrs = pack(AxisAttrs{axis});
  EXPECT_EQ(values_of(run(op::argmax, {x}, attrs)[0]), by_definition(stored, shape, axis, true))
      << name_of(dtype) << " " << to_string(shape) << " along " << axis;
  EXPECT_EQ(values_of(run(op::argmin, {x}, attrs)[0]), by_definition(stored, shape, axis, false))
      << name_of(dtype) << " " << to_string(shape) << " along " << axis;
}

TEST(ArgExtremum, FindsTheFirstOfEqualsInEveryDtypeAndAlongEveryAxis) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
    for (const Shape& shape : {Shape{3, 5000}, Shape{70, 37}, Shape{11, 600, 2}, Shape{4, 23, 19, 5}}) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        expect_definition(dtype, shape, axis, numbers(element_count(shape), 100, dtype == DType::u8));
        expect_definition(dtype, shape, axis, numbers(element_count(shape), 3, dtype == DType::u8));
      }
    }
  }
}

TEST(ArgExtremum, PrefersTheFirstNaNWhereverItStands) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (std::size_t place : {0, 1, 15, 16, 2047, 2048, 2049, 2110}) {
      std::vector<double> x = numbers(2111, 50, false);
      x[7] = infinity, x[9] = -infinity;
      x[place] = nan, x[2110] = nan;
      expect_definition(dtype, {1, 2111}, 1, x);
      std::vector<double> columns = numbers(40 * 53, 50, false);
      columns[place] = nan, columns[(place + 53 * 7) % columns.size()] = nan;
      expect_definition(dtype, {40, 53}, 0, columns);
    }
  }
}

TEST(ArgExtremum, TakesZerosOfEitherSignForEqual) {
  std::vector<double> x(100, 0.0);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -0.0;
  expect_definition(DType::f32, {100}, 0, x);
  expect_definition(DType::f32, {5, 20}, 0, x);
}

TEST(ArgExtremum, ReadsViews) {
  for (int axis : {0, 1, 2}) {
    expect_same_every_way(op::argmax, {counting(DType::f32, {9, 33, 40})}, pack(AxisAttrs{axis}));
    expect_same_every_way(op::argmin, {counting(DType::bf16, {9, 33, 40})}, pack(AxisAttrs{axis}));
  }
}

}  // namespace
}  // namespace tidemark
