// For tests of single ops: short names for dense test data, one op run on it with one and with two threads, and what
// to expect of the numbers.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/support/dense.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"

namespace tidemark::op_data {

inline constexpr auto& literal = testing::literal_from;  // (dtype, shape, numbers)
inline constexpr auto& doubles = testing::doubles_of;

// Numbers in [low, high), the same at every run.
inline std::vector<double> some_doubles(std::int64_t count, std::uint64_t seed = 1, double low = -2,
                                        double high = 2) {
  std::vector<double> list;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto words = Philox{seed}(static_cast<std::uint64_t>(i));
    list.push_back(low + (high - low) * unit_double(words[0], words[1]));
  }
  return list;
}
inline Literal some_literal(DType dtype, const Shape& shape, std::uint64_t seed = 1, double low = -2,
                            double high = 2) {
  return literal(dtype, shape, some_doubles(element_count(shape), seed, low, high));
}

// Runs with one thread and with two, expects equal bits, and returns the results.
inline std::vector<Literal> run(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs = {}) {
  static ThreadPool one(1), two(2);
  std::vector<Literal> results = interpret(op, operands, attrs, one);
  EXPECT_EQ(results, interpret(op, operands, attrs, two)) << op.name << " depends on the number of threads";
  return results;
}

inline std::vector<Literal> run(const Graph& graph, const std::vector<Literal>& operands) {
  static ThreadPool pool(2);
  return interpret(graph, operands, pool);
}

inline ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{0};
}

inline void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "element " << i;
    }
  }
}

}  // namespace tidemark::op_data
