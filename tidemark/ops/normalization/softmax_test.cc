#include "tidemark/ops/normalization/softmax.h"

#include <cmath>

#include "tests/support/op_rules.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

// The plain formulas, line by line.
template <class F>
void for_each_line(const Shape& shape, int axis, const F& f) {
  const AxisCut cut = cut_at(shape, axis);
  for (std::int64_t o = 0; o < cut.outer; ++o) {
    for (std::int64_t i = 0; i < cut.inner; ++i) {
      std::vector<std::size_t> line;
      for (std::int64_t k = 0; k < cut.size; ++k)
        line.push_back(static_cast<std::size_t>((o * cut.size + k) * cut.inner + i));
      f(line);
    }
  }
}
std::vector<double> plain_softmax(const std::vector<double>& x, const Shape& shape, int axis, bool log) {
  std::vector<double> y(x.size());
  for_each_line(shape, axis, [&](const std::vector<std::size_t>& line) {
    double top = -inf, total = 0;
    for (std::size_t i : line) top = std::max(top, x[i]);
    for (std::size_t i : line) total += std::exp(x[i] - top);
    for (std::size_t i : line) y[i] = log ? x[i] - top - std::log(total) : std::exp(x[i] - top) / total;
  });
  return y;
}

const std::pair<DType, double> dtypes[] = {
    {DType::f64, 1e-14}, {DType::f32, 1e-6}, {DType::bf16, 5e-3}, {DType::f16, 6e-4}};

TEST(Softmax, EqualsThePlainFormulaForEveryDtypeAxisAndLength) {
  for (auto [dtype, tolerance] : dtypes) {
    for (std::int64_t size : {1, 2, 3, 7, 16, 33, 1000}) {
      for (int axis : {0, 1, 2}) {
        Shape shape = {3, 2, 5};
        shape[axis] = size;
        const Literal x = random_literal(dtype, shape, static_cast<std::uint64_t>(size), -5, 5);
        for (bool log : {false, true}) {
          const auto y = run(log ? op::log_softmax : op::softmax, {x}, pack(AxisAttrs{axis}))[0];
          expect_near(values_of(y), plain_softmax(values_of(x), shape, axis, log), tolerance);
        }
      }
    }
  }
}

TEST(Softmax, IsStableFarOut) {
  for (DType dtype : {DType::f64, DType::f32}) {
    const Literal x = literal_of(dtype, {2, 3}, {1e4, -1e4, 1e4, -1e4, -1e4, -1e4});
    expect_near(values_of(run(op::softmax, {x}, pack(AxisAttrs{1}))[0]),
                {0.5, 0, 0.5, 1. / 3, 1. / 3, 1. / 3}, 1e-6);
    expect_near(values_of(run(op::log_softmax, {x}, pack(AxisAttrs{1}))[0]),
                {-std::log(2), -2e4 - std::log(2), -std::log(2), -std::log(3), -std::log(3), -std::log(3)},
                1e-6);
  }
}

TEST(Softmax, GivesMaskedElementsNothing) {
  const Literal x = literal_of(DType::f32, {5}, {-inf, 1, -inf, 1, -inf});
  expect_near(values_of(run(op::softmax, {x}, pack(AxisAttrs{0}))[0]), {0, 0.5, 0, 0.5, 0}, 1e-6);
  expect_near(values_of(run(op::log_softmax, {x}, pack(AxisAttrs{0}))[0]),
              {-inf, -std::log(2), -inf, -std::log(2), -inf}, 1e-6);
}

TEST(Softmax, KeepsNanVisible) {
  const Literal x = literal_of(DType::f32, {6}, {0, 1, NAN, 1, 0, 2});
  for (double y : values_of(run(op::softmax, {x}, pack(AxisAttrs{0}))[0])) EXPECT_TRUE(std::isnan(y));
}

TEST(SoftmaxGrad, EqualsThePlainFormula) {
  const Shape shape = {3, 37, 5};
  for (auto [dtype, tolerance] : dtypes) {
    for (int axis : {0, 1, 2}) {
      const Literal x = random_literal(dtype, shape, 1, -2, 2), g = random_literal(dtype, shape, 2, -2, 2);
      const Literal y = run(op::softmax, {x}, pack(AxisAttrs{axis}))[0];
      const Literal z = run(op::log_softmax, {x}, pack(AxisAttrs{axis}))[0];
      const auto yn = values_of(y), zn = values_of(z), gn = values_of(g);
      std::vector<double> want(gn.size()), want_log(gn.size());
      for_each_line(shape, axis, [&](const std::vector<std::size_t>& line) {
        double dot = 0, total = 0;
        for (std::size_t i : line) dot += gn[i] * yn[i], total += gn[i];
        for (std::size_t i : line)
          want[i] = yn[i] * (gn[i] - dot), want_log[i] = gn[i] - std::exp(zn[i]) * total;
      });
      expect_near(values_of(run(op::softmax_grad, {y, g}, pack(AxisAttrs{axis}))[0]), want, tolerance);
      expect_near(values_of(run(op::log_softmax_grad, {z, g}, pack(AxisAttrs{axis}))[0]), want_log,
                  tolerance);
    }
  }
}

TEST(Softmax, RulesFollowTheExpansions) {
  for (const Op* op : {&op::softmax, &op::log_softmax, &op::softmax_grad, &op::log_softmax_grad}) {
    expect_rules_follow_expansion(*op);
  }
}

TEST(Softmax, NamesAnAxisOutOfRangeAndAnIntegerOperand) {
  EXPECT_EQ(code_of([] {
              run(op::softmax, {literal_of(DType::f32, {2}, {1, 2})}, pack(AxisAttrs{1}));
            }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] {
              run(op::softmax, {literal_of(DType::i32, {2}, {1, 2})}, pack(AxisAttrs{0}));
            }),
            ErrorCode::dtype_mismatch);
}

}  // namespace
}  // namespace tidemark
