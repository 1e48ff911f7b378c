// Where Eigen is installed.
#include <gtest/gtest.h>

#if __has_include(<Eigen/Dense>)
#include <Eigen/Dense>

#include "tidemark/base/philox.h"
#include "tidemark/scalar/eigen.h"

namespace tidemark::scalars {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

Matrix<double> sample_matrix(int rows, int columns, std::uint64_t stream) {
  Matrix<double> m(rows, columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const auto words = Philox{5}(static_cast<std::uint64_t>(i * columns + j), stream);
      m(i, j) = 2 * unit_double(words[0], words[1]) - 1 + (i == j && rows == columns ? 3 : 0);
    }
  return m;
}

template <class T>
Matrix<T> inputs(BasicTape<double>& tape, const Matrix<double>& values) {
  return values.unaryExpr([&](double x) -> T { return tape.input(x); });
}
template <class M>
Matrix<double> gradient(const Tape& tape, const M& of) {
  return of.unaryExpr([&](const Real& x) -> double { return tape.gradient(x); });
}

TEST(Eigen, ProductsOfMatrices) {
  const Matrix<double> a = sample_matrix(7, 9, 1), b = sample_matrix(9, 5, 2), w = sample_matrix(7, 5, 3);
  Tape tape;
  const Matrix<Real> x = inputs<Real>(tape, a), y = inputs<Real>(tape, b);
  const Real loss = (x * y).cwiseProduct(w).sum();
  tape.reverse(loss);
  EXPECT_NEAR(loss.value(), (a * b).cwiseProduct(w).sum(), 1e-12);
  EXPECT_LT((gradient(tape, x) - w * b.transpose()).norm(), 1e-12);
  EXPECT_LT((gradient(tape, y) - a.transpose() * w).norm(), 1e-12);
  EXPECT_LT((value(x * y) - a * b).norm(), 1e-12);
  EXPECT_EQ(x.cast<double>(), a);
}

TEST(Eigen, PlainMatricesBesideMatricesOfReals) {
  const Matrix<double> a = sample_matrix(4, 4, 1), w = sample_matrix(4, 4, 3);
  Tape tape;
  const Matrix<Real> x = inputs<Real>(tape, a);
  const Real loss = (w * x + x * 2.0 + 0.5 * x + a * x.transpose()).trace() + x.squaredNorm() / 2;
  tape.reverse(loss);
  const Matrix<double> expected = w.transpose() + 2.5 * Matrix<double>::Identity(4, 4) + a + a;
  EXPECT_LT((gradient(tape, x) - expected).norm(), 1e-12);
}

TEST(Eigen, LargePlainMatricesTimesMatricesOfReals) {
  const Matrix<double> a = sample_matrix(30, 40, 1), w = sample_matrix(40, 20, 3);
  Tape tape;
  const Matrix<Real> x = inputs<Real>(tape, a);
  const Matrix<Real> y = x * w;
  const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> z =
      w.transpose() * x.transpose();
  const Vector<Real> row = a.transpose() * (x * w.col(0));
  const Real sum = y.sum() + z.sum() + row.sum();
  tape.reverse(sum);
  EXPECT_LT((value(y) - a * w).norm() + (value(z) - (a * w).transpose()).norm(), 1e-11);
  const Vector<double> ones = Vector<double>::Ones(30);
  const Matrix<double> expected =
      2 * ones * w.rowwise().sum().transpose() + a.rowwise().sum() * w.col(0).transpose();
  EXPECT_LT((gradient(tape, x) - expected).norm(), 1e-10);
  const Matrix<Dual<1>> u = a.cast<Dual<1>>() * w;
  EXPECT_LT((value(u) - a * w).norm(), 1e-11);
}

template <class T>
T size_of_solution(const Matrix<T>& a, const Vector<T>& b) {
  return a.partialPivLu().solve(b).norm();
}

TEST(Eigen, TheGradientOfTheNormOfASolution) {
  const Matrix<double> a = sample_matrix(6, 6, 1);
  const Vector<double> b = sample_matrix(6, 1, 2);
  Tape tape;
  const Matrix<Real> x = inputs<Real>(tape, a);
  const Vector<Real> y = inputs<Real>(tape, b);
  const Real size = size_of_solution(x, y);
  tape.reverse(size);
  const Vector<double> s = a.partialPivLu().solve(b);
  EXPECT_NEAR(size.value(), s.norm(), 1e-13);
  const Vector<double> by_b = a.transpose().partialPivLu().solve(s / s.norm());
  EXPECT_LT((gradient(tape, y) - by_b).norm(), 1e-12);
  EXPECT_LT((gradient(tape, x) + by_b * s.transpose()).norm(), 1e-12);

  Matrix<Dual<1>> u = a.cast<Dual<1>>();
  u(2, 3).slope() = 1;
  EXPECT_NEAR(size_of_solution<Dual<1>>(u, b.cast<Dual<1>>()).slope(), tape.gradient(x(2, 3)), 1e-13);
}

TEST(Eigen, FactorisationsOfEveryKind) {
  const Matrix<double> a = sample_matrix(5, 5, 1);
  const Vector<double> b = sample_matrix(5, 1, 2);
  const auto try_it = [&](const auto& f) {
    Tape tape;
    const Matrix<Real> x = inputs<Real>(tape, a);
    const Real y = f(x);
    tape.reverse(y);
    EXPECT_NEAR(y.value(), f(a), 1e-12);
    for (const auto& [i, j] : {std::pair(0, 0), std::pair(1, 3), std::pair(4, 2)}) {
      Matrix<double> up = a, down = a;
      up(i, j) += 1e-6, down(i, j) -= 1e-6;
      EXPECT_NEAR(tape.gradient(x(i, j)), (f(up) - f(down)) / 2e-6, 1e-7);
    }
  };
  try_it([](const auto& m) { return m.determinant(); });
  try_it([](const auto& m) { return m.inverse().sum(); });
  try_it([&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    using T = typename M::Scalar;
    return T((m * m.transpose()).eval().llt().solve(b.cast<T>()).sum());
  });
  try_it([&](const auto& m) {
    using M = std::decay_t<decltype(m)>;
    using T = typename M::Scalar;
    return T((m * m.transpose()).eval().ldlt().solve(b.cast<T>()).sum());
  });
  try_it([&](const auto& m) {
    using T = typename std::decay_t<decltype(m)>::Scalar;
    return T(m.householderQr().solve(b.cast<T>()).sum());
  });
  try_it([&](const auto& m) {
    using T = typename std::decay_t<decltype(m)>::Scalar;
    return T(m.fullPivLu().solve(b.cast<T>()).squaredNorm());
  });
  try_it([](const auto& m) {
    using T = typename std::decay_t<decltype(m)>::Scalar;
    Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(m * m.transpose());
    return T(solver.eigenvalues()(0));
  });
  try_it([](const auto& m) {
    using T = typename std::decay_t<decltype(m)>::Scalar;
    return T(m.array().exp().sum() + m.array().abs().maxCoeff() + m.template lpNorm<1>() +
             m.row(1).normalized()(2) + m.array().max(0.25).sum() + m.array().pow(2).sum() +
             m.array().tanh().mean());
  });
}

TEST(Eigen, SmallMatricesAndGeometry) {
  Tape tape;
  const Real angle = tape.input(0.3);
  Eigen::Matrix<Real, 3, 1> v(1.0, 2.0, 3.0);
  const Eigen::Matrix<Real, 3, 1> axis(0.0, 0.0, 1.0);
  const Eigen::Matrix<Real, 3, 1> turned = Eigen::AngleAxis<Real>(angle, axis) * v;
  tape.reverse(turned(0));
  EXPECT_NEAR(turned(0).value(), std::cos(0.3) - 2 * std::sin(0.3), 1e-15);
  EXPECT_NEAR(tape.gradient(angle), -std::sin(0.3) - 2 * std::cos(0.3), 1e-15);
  EXPECT_NEAR(v.cross(turned).dot(axis).value(), 5 * std::sin(0.3), 1e-14);
}

}  // namespace
}  // namespace tidemark::scalars
#else
TEST(Eigen, IsNotInstalledHere) { GTEST_SKIP() << "<Eigen/Dense> is not found: Debian's libeigen3-dev"; }
#endif
