#include "tidemark/ops/normalization/normalize.h"

#include <cmath>

#include "tests/support/op_rules.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/group_norm.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/rms_norm.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

const std::pair<DType, double> dtypes[] = {
    {DType::f64, 1e-13}, {DType::f32, 2e-6}, {DType::bf16, 1e-2}, {DType::f16, 2e-3}};

// The plain formula on x (N, G, K, S), in double.
struct Plain {
  std::vector<double> y, mean, variance;
};
Plain plain(const NormForm& f, const std::vector<double>& x, const std::vector<double>& gain,
            const std::vector<double>& bias) {
  Plain p{.y = std::vector<double>(x.size()),
          .mean = std::vector<double>(static_cast<std::size_t>(f.rows())),
          .variance = std::vector<double>(static_cast<std::size_t>(f.rows()))};
  const auto each = [&](const auto& body) {
    std::size_t at = 0;
    for (std::int64_t n = 0; n < f.n; ++n) {
      for (std::int64_t g = 0; g < f.g; ++g) {
        for (std::int64_t k = 0; k < f.k; ++k) {
          for (std::int64_t s = 0; s < f.s; ++s, ++at) {
            body(at, static_cast<std::size_t>(f.across_batch ? g : n * f.g + g),
                 static_cast<std::size_t>(f.per_element ? s : g * f.k + k));
          }
        }
      }
    }
  };
  const double count = static_cast<double>(f.count());
  if (f.centered) each([&](std::size_t i, std::size_t row, std::size_t) { p.mean[row] += x[i] / count; });
  each([&](std::size_t i, std::size_t row, std::size_t) {
    p.variance[row] += std::pow(x[i] - p.mean[row], 2) / count;
  });
  each([&](std::size_t i, std::size_t row, std::size_t c) {
    p.y[i] = (x[i] - p.mean[row]) / std::sqrt(p.variance[row] + f.eps) * gain[c] + (f.centered ? bias[c] : 0);
  });
  return p;
}

void expect_plain(const Op& op, NormForm (*form_of)(const Call&), const Shape& shape, const Attrs& attrs,
                  double shift = 0) {
  for (auto [dtype, tolerance] : dtypes) {
    SCOPED_TRACE(fmt::format("{} {} {}", op.name, name_of(dtype), to_string(shape)));
    const Type x_type{dtype, shape};
    const NormForm form = form_of({.op = &op, .in = {&x_type, 1}, .attrs = &attrs});
    const Literal x = random_literal(dtype, shape, 1, shift - 2, shift + 2);
    const Literal gain = random_literal(dtype, form.affine, 2, -2, 2),
                  bias = random_literal(dtype, form.affine, 3, -2, 2);
    std::vector<Literal> operands = {x, gain};
    if (form.centered) operands.push_back(bias);
    const auto results = run(op, operands, attrs);
    const Plain want = plain(form, values_of(x), values_of(gain), values_of(bias));
    expect_near(values_of(results[0]), want.y, tolerance * (1 + std::abs(shift)));
    const double fine = dtype == DType::f64 ? 1e-13 : 2e-6;
    if (form.centered) expect_near(values_of(results[1]), want.mean, fine);
    std::vector<double> second;
    for (double v : want.variance) second.push_back(form.variance ? v : 1 / std::sqrt(v + form.eps));
    expect_near(values_of(results.back()), second, fine * (1 + std::abs(shift)));
    EXPECT_EQ(results.back().dtype, statistics_dtype(dtype));
  }
}

TEST(Normalize, LayerNormEqualsThePlainFormula) {
  for (std::int64_t n : {1, 3, 8, 37, 768})
    expect_plain(op::layer_norm, layer_norm_form, {5, n}, pack(LayerNormAttrs{}));
  expect_plain(op::layer_norm, layer_norm_form, {2, 3, 4, 5}, pack(LayerNormAttrs{.dims = 2, .eps = 0.1}));
}

TEST(Normalize, RmsNormEqualsThePlainFormula) {
  for (std::int64_t n : {1, 3, 8, 37, 768})
    expect_plain(op::rms_norm, rms_norm_form, {5, n}, pack(LayerNormAttrs{}));
}

TEST(Normalize, GroupNormEqualsThePlainFormula) {
  expect_plain(op::group_norm, group_norm_form, {3, 6, 7, 5}, pack(GroupNormAttrs{.groups = 2}));
  expect_plain(op::group_norm, group_norm_form, {3, 6}, pack(GroupNormAttrs{.groups = 3}));
}

TEST(Normalize, BatchNormEqualsThePlainFormula) {
  expect_plain(op::batch_norm, batch_norm_form, {4, 3, 7, 5}, pack(BatchNormAttrs{}));
  expect_plain(op::batch_norm, batch_norm_form, {64, 70}, pack(BatchNormAttrs{}));
}

TEST(Normalize, ALargeMeanDoesNotSwampTheVariance) {
  const Literal x = literal_of(DType::f32, {1, 4}, {10000, 10001, 10002, 10003});
  const Literal one = literal_of(DType::f32, {4}, {1, 1, 1, 1}),
                zero = literal_of(DType::f32, {4}, {0, 0, 0, 0});
  const double s = 1 / std::sqrt(1.25);
  expect_near(values_of(run(op::layer_norm, {x, one, zero}, pack(LayerNormAttrs{.eps = 0}))[0]),
              {-1.5 * s, -0.5 * s, 0.5 * s, 1.5 * s}, 1e-6);
}

TEST(Normalize, AConstantRowGivesTheBias) {
  const Literal x = literal_of(DType::f32, {2, 3}, {7, 7, 7, -1e4, -1e4, -1e4});
  const Literal gain = literal_of(DType::f32, {3}, {1, 2, 3}), bias = literal_of(DType::f32, {3}, {4, 5, 6});
  expect_near(values_of(run(op::layer_norm, {x, gain, bias}, pack(LayerNormAttrs{}))[0]), {4, 5, 6, 4, 5, 6},
              1e-6);
}

TEST(Normalize, SixteenBitGradientsRoundOnce) {
  const Shape shape = {5, 33};
  for (DType dtype : {DType::bf16, DType::f16}) {
    const Literal x = random_literal(dtype, shape, 1, -2, 2), g = random_literal(dtype, shape, 2, -2, 2),
                  gain = random_literal(dtype, {33}, 3, -2, 2);
    const Literal mean = random_literal(DType::f32, {5, 1}, 4, -2, 2),
                  rstd = random_literal(DType::f32, {5, 1}, 5, 0.5, 1.5);
    const auto wide = [](const Literal& l) { return literal_of(DType::f64, l.shape, values_of(l)); };
    const Attrs attrs = pack(LayerNormAttrs{});
    const auto narrow_dx = run(op::layer_norm_grad, {x, mean, rstd, gain, g}, attrs);
    const auto wide_dx =
        run(op::layer_norm_grad, {wide(x), wide(mean), wide(rstd), wide(gain), wide(g)}, attrs);
    EXPECT_EQ(narrow_dx[0].dtype, dtype);
    expect_near(values_of(narrow_dx[0]), values_of(wide_dx[0]), 5e-3);
    const auto narrow_params = run(op::layer_norm_params, {x, mean, rstd, g}, attrs);
    const auto wide_params = run(op::layer_norm_params, {wide(x), wide(mean), wide(rstd), wide(g)}, attrs);
    expect_near(values_of(narrow_params[0]), values_of(wide_params[0]), 5e-3);
    expect_near(values_of(narrow_params[1]), values_of(wide_params[1]), 5e-3);
  }
}

TEST(Normalize, RulesFollowTheExpansions) {
  for (const Op* op :
       {&op::layer_norm, &op::layer_norm_grad, &op::layer_norm_params, &op::rms_norm, &op::rms_norm_grad,
        &op::rms_norm_params, &op::group_norm, &op::group_norm_grad, &op::group_norm_params, &op::batch_norm,
        &op::batch_norm_grad, &op::batch_norm_params}) {
    expect_rules_follow_expansion(*op, 1e-9);
  }
}

TEST(Normalize, SaysWhatIsWrongWithItsOperands) {
  const Literal x = random_literal(DType::f32, {2, 6}), six = random_literal(DType::f32, {6}),
                five = random_literal(DType::f32, {5});
  EXPECT_EQ(code_of([&] {
              run(op::layer_norm, {x, six, five}, pack(LayerNormAttrs{}));
            }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] {
              run(op::layer_norm, {x, six}, pack(LayerNormAttrs{}));
            }),
            ErrorCode::wrong_operand_count);
  EXPECT_EQ(code_of([&] {
              run(op::layer_norm, {x, six, six}, pack(LayerNormAttrs{.dims = 3}));
            }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] {
              run(op::layer_norm, {x, six, six}, pack(LayerNormAttrs{.eps = -1}));
            }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] {
              run(op::rms_norm, {random_literal(DType::i32, {2, 6}), six}, pack(LayerNormAttrs{}));
            }),
            ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] {
              run(op::group_norm, {x, six, six}, pack(GroupNormAttrs{.groups = 4}));
            }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] {
              run(op::batch_norm, {six, six, six}, pack(BatchNormAttrs{}));
            }),
            ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
