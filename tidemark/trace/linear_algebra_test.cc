#include "tidemark/trace/linear_algebra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using testing::expect_gradient;
using ::testing::HasSubstr;

Tensor random_matrices(const Shape& shape, std::int64_t seed = 1) {
  return random_normal(key(seed), shape, 0, 1, DType::f64);
}
double apart(const Tensor& x, const Tensor& y) {
  EXPECT_EQ(x.shape(), y.shape());
  return x.count() == 0 ? 0 : max(abs(x - y)).item();
}
Tensor turned(const Tensor& x) { return swap_axes(x, -1, -2); }

TEST(LinearAlgebra, InverseTimesTheMatrixIsTheIdentity) {
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{2, 3, 4, 4}, Shape{0, 0}, Shape{0, 3, 3}}) {
    const Tensor a = random_matrices(shape);
    EXPECT_LE(apart(matmul(a, inv(a)), broadcast(eye(shape.back(), DType::f64), shape)), 1e-11);
  }
  EXPECT_EQ(inv(ones({1, 1})).dtype(), DType::f32);
}

TEST(LinearAlgebra, QrOfTallAndWideMatrices) {
  for (const Shape& shape : {Shape{4, 4}, Shape{7, 3}, Shape{3, 7}, Shape{1, 5}, Shape{2, 3, 6},
                             Shape{0, 2, 4}, Shape{0, 3}, Shape{3, 0}}) {
    const Tensor a = random_matrices(shape);
    const auto [q, r] = qr(a);
    const std::int64_t rows = shape[shape.rank() - 2], least = std::min(rows, shape.back());
    EXPECT_EQ(q.shape().back(), least);
    EXPECT_LE(apart(matmul(q, r), a), 1e-14);
    Shape square = q.shape();
    square[square.rank() - 2] = least;
    EXPECT_LE(apart(matmul(turned(q), q), broadcast(eye(least, DType::f64), square)), 1e-14);
    EXPECT_LE(apart(r, triu(r)), 0);
    if (r.count() > 0) {
      EXPECT_GE(min(diagonal(r)).item(), 0);
    }
  }
}

TEST(LinearAlgebra, SolutionsOfLeastSquaresMeetTheNormalEquations) {
  const Tensor tall = random_matrices({2, 7, 3}), b = random_matrices({2, 7, 4}, 2);
  const Tensor residual = matmul(tall, lstsq(tall, b)) - b;
  EXPECT_LE(max(abs(matmul(turned(tall), residual))).item(), 1e-12);
  EXPECT_LE(apart(lstsq(tall.at(0), b.at(0)), lstsq(tall, b).at(0)), 1e-14);
  // With more unknowns: solved, and nothing of x is in the null space.
  const Tensor wide = random_matrices({3, 7}), c = random_matrices({3}, 2);
  const Tensor x = lstsq(wide, c);
  EXPECT_EQ(x.shape(), (Shape{7}));
  EXPECT_LE(apart(matmul(wide, x), c), 1e-13);
  EXPECT_LE(apart(matmul(matmul(pinv(wide), wide), x), x), 1e-13);
  // Leading dimensions broadcast, a batch may be empty.
  EXPECT_EQ(lstsq(tall, b.at(0)).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(lstsq(random_matrices({0, 7, 3}), b.at(0)).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(lstsq(tall, random_matrices({7})).shape(), (Shape{2, 3}));
  EXPECT_EQ(solve(random_matrices({0, 3, 3}), random_matrices({3})).shape(), (Shape{0, 3}));
}

// Matrices of a rank below both sides: products of thinner ones.
Tensor of_rank(std::int64_t rank, std::int64_t rows, std::int64_t columns, int seed = 1) {
  const Tensor left = random_matrices({2, rows, rank}, seed);
  return matmul(left, random_matrices({2, rank, columns}, seed + 1));
}

TEST(LinearAlgebra, OfSmallerRankTheSmallestSolutionIsFound) {
  for (const auto& [rows, columns] : {std::pair(7, 4), std::pair(4, 7), std::pair(5, 5)}) {
    const Tensor a = of_rank(2, rows, columns), b = random_matrices({2, rows, 3}, 5), x = lstsq(a, b);
    EXPECT_LE(max(abs(matmul(turned(a), matmul(a, x) - b))).item(), 1e-11) << "the normal equations";
    EXPECT_LE(apart(matmul(pinv(a), b), x), 1e-11);
    EXPECT_LE(apart(matmul(matmul(pinv(a), a), x), x), 1e-11) << "nothing in the null space";
  }
  const Tensor zero = zeros({3, 2}, DType::f64);
  EXPECT_EQ(pinv(zero).to_vector(), std::vector<double>(6, 0));
  EXPECT_EQ(lstsq(zero, ones({3}, DType::f64)).to_vector(), std::vector<double>(2, 0));
  EXPECT_EQ(pinv(zeros({0, 2}, DType::f64)).shape(), (Shape{2, 0}));
  // What counts as rank is the caller's to say.
  const Tensor graded = diag(tensor({1.0, 1e-3, 1e-20}));
  EXPECT_LE(apart(pinv(graded), diag(tensor({1.0, 1e3, 0.0}))), 1e-9);
  EXPECT_LE(apart(pinv(graded, {.rcond = 1e-2}), diag(tensor({1.0, 0.0, 0.0}))), 1e-14);
  EXPECT_LE(apart(pinv(graded, {.rcond = 0}) * 1e-20, diag(tensor({1e-20, 1e-17, 1.0}))), 1e-12);
}

TEST(LinearAlgebra, OfSmallerRankGradientsAreThoseAlongMatricesOfThatRank) {
  // a(x, y) = x y has the same rank for all x and y, so that differences are derivatives.
  const Tensor y = random_matrices({2, 4}, 3), b = random_matrices({5, 2}, 5);
  const auto inverse = [&](Tensor x) { return pinv(matmul(x, y)); };
  const auto inverse_wide = [&](Tensor x) { return pinv(turned(matmul(x, y))); };
  const auto solution = [&](Tensor x) { return lstsq(matmul(x, y), b); };
  const Tensor x = random_matrices({5, 2});
  expect_gradient(inverse, x, 1e-5, 1e-5);
  expect_gradient(inverse_wide, x, 1e-5, 1e-5);
  expect_gradient(solution, x, 1e-5, 1e-5);
  expect_gradient([&](Tensor z) { return lstsq(matmul(x, y), z); }, b, 1e-5, 1e-6);
  const auto slope = [&](Tensor z) {
    return grad([&](Tensor t) { return testing::weighted_sum(sin(inverse(t))); })(z);
  };
  expect_gradient(slope, x, 1e-5, 1e-4);
  // Equal singular values are no hurdle, as they are for vectors of svd.
  expect_gradient([](Tensor z) { return pinv(z); }, eye(3, DType::f64), 1e-5, 1e-6);
}

TEST(LinearAlgebra, PseudoInversesMeetPenrosesConditions) {
  for (const Tensor& a : {random_matrices({6, 3}), random_matrices({3, 6}), random_matrices({2, 4, 4}),
                          of_rank(2, 6, 4), of_rank(1, 3, 5), of_rank(3, 4, 4)}) {
    const Tensor p = pinv(a), ap = matmul(a, p), pa = matmul(p, a);
    EXPECT_LE(apart(matmul(ap, a), a), 1e-12);
    EXPECT_LE(apart(matmul(pa, p), p), 1e-11);
    EXPECT_LE(apart(ap, turned(ap)), 1e-12);
    EXPECT_LE(apart(pa, turned(pa)), 1e-12);
  }
}

TEST(LinearAlgebra, DeterminantsAgreeWithTheirLogarithms) {
  const Tensor a = random_matrices({6, 5, 5});
  const auto [sign, log] = slogdet(a);
  EXPECT_LE(apart(det(a), sign * exp(log)), 1e-12);
  EXPECT_LE(apart(det(matmul(a, a)), square(det(a))), 1e-10);
  EXPECT_EQ(det(random_matrices({0, 0})).item(), 1);
}

TEST(LinearAlgebra, PowersAndNorms) {
  const Tensor a = random_matrices({2, 3, 3});
  EXPECT_LE(apart(matrix_power(a, 5), matmul(a, matmul(a, matmul(a, matmul(a, a))))), 1e-12);
  EXPECT_LE(apart(matrix_power(a, -2), inv(matmul(a, a))), 1e-9);
  EXPECT_LE(apart(matrix_power(a, 0), broadcast(eye(3, DType::f64), {2, 3, 3})), 0);
  EXPECT_EQ(matrix_power(a, 1).to_vector(), a.to_vector());
  const Tensor b = reshape(tensor<double>({3, 0, 0, 0, -4, 0}), {2, 3});
  EXPECT_NEAR(matrix_norm(b).item(), 5, 1e-14);
  EXPECT_NEAR(matrix_norm(b, MatrixNorm::nuclear).item(), 7, 1e-14);
  EXPECT_NEAR(matrix_norm(b, MatrixNorm::spectral).item(), 4, 1e-14);
  const Tensor c = reshape(tensor<double>({1, -2, 3, 4}), {2, 2});
  EXPECT_EQ(matrix_norm(c, MatrixNorm::one).item(), 6);
  EXPECT_EQ(matrix_norm(c, MatrixNorm::infinity).item(), 7);
  for (const MatrixNorm kind : {MatrixNorm::frobenius, MatrixNorm::nuclear, MatrixNorm::spectral,
                                MatrixNorm::one, MatrixNorm::infinity}) {
    EXPECT_EQ(matrix_norm(a, kind).shape(), (Shape{2}));
    EXPECT_EQ(matrix_norm(zeros({4, 0}, DType::f64), kind).item(), 0);
  }
}

TEST(LinearAlgebra, GradientsOfEveryFunction) {
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}}) {
    const Tensor a = random_matrices(shape) + eye(shape.back(), DType::f64);
    expect_gradient([](Tensor x) { return inv(x); }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return det(x); }, a);
    expect_gradient([](Tensor x) { return slogdet(x).log_magnitude; }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return slogdet(x).sign; }, a);  // 0
    expect_gradient([](Tensor x) { return matrix_power(x, 3); }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return eigh(x).values; }, a);
    expect_gradient([](Tensor x) { return eigh(x).vectors; }, a, 1e-5, 1e-6);
  }
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 2, 3}}) {
    const Tensor a = random_matrices(shape);
    expect_gradient([](Tensor x) { return qr(x).q; }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return qr(x).r; }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return svd(x).u; }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return svd(x).s; }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return svd(x).vt; }, a, 1e-5, 1e-6);
    expect_gradient([](Tensor x) { return pinv(x); }, a, 1e-5, 1e-5);
    for (const MatrixNorm kind : {MatrixNorm::frobenius, MatrixNorm::nuclear, MatrixNorm::spectral,
                                  MatrixNorm::one, MatrixNorm::infinity}) {
      expect_gradient([=](Tensor x) { return matrix_norm(x, kind); }, a, 1e-5, 1e-6);
    }
    const Tensor b = random_matrices({shape[shape.rank() - 2], 2}, 2);
    expect_gradient([&](Tensor x) { return lstsq(x, b); }, a, 1e-5, 1e-5);
    expect_gradient([&](Tensor x) { return lstsq(a, x); }, b, 1e-5, 1e-6);
  }
}

TEST(LinearAlgebra, SecondDerivatives) {
  const auto twice = [](const auto& f, const Tensor& a) {
    const auto first = [f](Tensor x) {
      return grad([f](Tensor y) { return testing::weighted_sum(sin(f(y))); })(x);
    };
    expect_gradient(first, a, 1e-5, 2e-5);
  };
  const Tensor a = random_matrices({3, 3}, 4) + eye(3, DType::f64), tall = random_matrices({4, 2}, 4);
  twice([](Tensor x) { return det(x); }, a);
  twice([](Tensor x) { return slogdet(x).log_magnitude; }, a);
  twice([](Tensor x) { return inv(x); }, a);
  twice([](Tensor x) { return eigh(x).values; }, a);
  twice([](Tensor x) { return eigh(x).vectors; }, a);
  twice([](Tensor x) { return qr(x).q; }, tall);
  twice([](Tensor x) { return svd(x).u; }, tall);
  twice([](Tensor x) { return svd(x).s; }, tall);
  twice([](Tensor x) { return svd(x).vt; }, tall);
  twice([&](Tensor x) { return lstsq(x, random_matrices({4})); }, tall);
  twice([&](Tensor x) { return lstsq(x, random_matrices({2})); }, turned(tall));
}

TEST(LinearAlgebra, TheGradientOfADeterminantIsRightWhereItIsZero) {
  const auto f = [](Tensor x) { return det(x); };
  const Tensor singular = reshape(tensor<double>({1, 2, 4, 2, 4, 8, 1, 1, 1}), {3, 3});
  EXPECT_EQ(det(singular).item(), 0);
  expect_gradient(f, singular, 1e-3);
  EXPECT_EQ(grad(f)(zeros({1, 1}, DType::f64)).item(), 1);
  EXPECT_LE(max(abs(grad(f)(zeros({4, 4}, DType::f64)))).item(), 1e-300);
  // That of the logarithm is not there.
  const auto log = [](Tensor x) { return slogdet(x).log_magnitude; };
  EXPECT_EQ(code_of([&] { grad(log)(singular); }), ErrorCode::numeric);
}

TEST(LinearAlgebra, EqualValuesHaveGradientsThroughValuesAlone) {
  const Tensor same = eye(3, DType::f64) * 2;
  const auto values = [](Tensor x) { return sum(square(eigh(x).values)); };
  EXPECT_LE(apart(grad(values)(same), same * 2), 1e-14);
  const auto nuclear = [](Tensor x) { return sum(svdvals(x)); };
  EXPECT_LE(apart(grad(nuclear)(same), eye(3, DType::f64)), 1e-14);
  const auto vectors = [](Tensor x) { return testing::weighted_sum(eigh(x).vectors); };
  EXPECT_TRUE(all_of(isfinite(grad(vectors)(same))).item() == 0) << "not unique, so not differentiable";
}

TEST(LinearAlgebra, CompiledInsideABudgetGivesTheSameBits) {
  const auto loss = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 4; ++i) {
      const auto [u, s, vt] = svd(y + eye(12, DType::f64) * (i + 1));
      const auto [q, r] = qr(matmul(u, vt) + y);
      const auto [values, vectors] = eigh(matmul(q, turned(y)));
      y = tanh(matmul(vectors, r)) + expand_dims(values + s, -1) * 0.1;
    }
    return sum(square(y)) + sum(slogdet(y).log_magnitude);
  };
  const auto gradient = value_and_grad(loss);
  const Tensor x = random_matrices({5, 12, 12});
  const auto [value, expected] = gradient(x);
  const auto roomy = compile(gradient);
  const auto [free_value, free_gradient] = roomy(x);
  const std::int64_t peak = roomy.prepare(types_of(x)).peak().count;
  EXPECT_EQ(free_value.item(), value.item());
  EXPECT_EQ(free_gradient.to_vector(), expected.to_vector());
  const auto tight = compile(gradient, {.memory = Bytes{peak * 8 / 10}});
  const auto [tight_value, tight_gradient] = tight(x);
  EXPECT_EQ(tight_value.item(), value.item());
  EXPECT_EQ(tight_gradient.to_vector(), expected.to_vector());
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LinearAlgebra, MistakesNameTheFunctionAndTheLine) {
  const Tensor wide = zeros({2, 3}, DType::f64), vector = zeros({3}, DType::f64);
  const Tensor half = zeros({2, 2}, DType::bf16), whole = zeros({2, 2}, DType::i32);
  const std::vector<std::pair<std::string, std::function<void(const Tensor&)>>> square = {
      {"inv", [](const Tensor& x) { inv(x); }},
      {"det", [](const Tensor& x) { det(x); }},
      {"slogdet", [](const Tensor& x) { slogdet(x); }},
      {"eigh", [](const Tensor& x) { eigh(x); }},
      {"matrix_power", [](const Tensor& x) { matrix_power(x, 2); }}};
  const std::vector<std::pair<std::string, std::function<void(const Tensor&)>>> any = {
      {"qr", [](const Tensor& x) { qr(x); }},
      {"svd", [](const Tensor& x) { svd(x); }},
      {"pinv", [](const Tensor& x) { pinv(x); }},
      {"lstsq", [](const Tensor& x) { lstsq(x, x); }},
      {"matrix_norm", [](const Tensor& x) { matrix_norm(x); }}};
  const auto refuses = [](const std::string& name, const auto& f, const Tensor& x, ErrorCode code) {
    EXPECT_EQ(code_of([&] { f(x); }), code) << name;
    const std::string said = message_of([&] { f(x); });
    EXPECT_THAT(said, HasSubstr(name));
    EXPECT_THAT(said, HasSubstr("linear_algebra_test.cc:"));
  };
  for (const auto& [name, f] : square) refuses(name, f, wide, ErrorCode::shape_mismatch);
  for (const auto* list : {&square, &any}) {
    for (const auto& [name, f] : *list) {
      refuses(name, f, vector, ErrorCode::shape_mismatch);
      refuses(name, f, half, ErrorCode::dtype_mismatch);
      refuses(name, f, whole, ErrorCode::dtype_mismatch);
    }
  }
  EXPECT_THAT(message_of([&] { lstsq(wide, vector); }), HasSubstr("lstsq: a matrix"));
  EXPECT_THAT(message_of([&] { inv(zeros({2, 2}, DType::f64)); }), HasSubstr("matrix 0 is singular"));
  EXPECT_THAT(message_of([&] { lstsq(wide, ones({2}, DType::f64), {.rcond = 1}); }), HasSubstr("rcond 1"));
  EXPECT_THAT(message_of([&] { pinv(wide, {.rcond = NAN}); }), HasSubstr("rcond nan"));
}

}  // namespace
}  // namespace tidemark
