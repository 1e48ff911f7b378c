// The special functions of C++: values of double to the bit, slopes by differences, second derivatives by
// differences of slopes, and what there is where formulas divide by zero.
#include "tidemark/scalar/special_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "tidemark/base/philox.h"
#include "tidemark/scalar/scalar.h"

#ifdef __cpp_lib_math_special_functions

namespace tidemark::scalars {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double sample(double low, double high, std::uint64_t i, std::uint64_t stream = 0) {
  const auto words = Philox{23}(i, stream);
  return low + (high - low) * unit_double(words[0], words[1]);
}
void expect_close(double is, double should, double tolerance, double at) {
  EXPECT_NEAR(is, should, tolerance * (1 + std::fabs(should))) << "at " << at;
}

template <class F>
double slope(const F& f, double x) {
  Tape tape;
  const Real at = tape.input(x);
  const Real y = f(at);
  tape.reverse(y);
  return tape.gradient(at);
}

// One function of one number in a range, by a tape, by a Dual, and twice.
template <class F>
void try_function(const char* name, const F& f, double low, double high, double tolerance = 1e-7) {
  SCOPED_TRACE(name);
  const double h = 1e-5 * (high - low);
  for (int i = 0; i < 40; ++i) {
    const double x = sample(low + 2 * h, high - 2 * h, i);
    Tape tape;
    const Real at = tape.input(x);
    const Real y = f(at);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(y.value()), std::bit_cast<std::uint64_t>(f(x))) << x;
    const double is = slope(f, x);
    // Differences of fourth order.
    const double near = (f(x + h) - f(x - h)) / (2 * h), far = (f(x + 2 * h) - f(x - 2 * h)) / (4 * h);
    expect_close(is, (4 * near - far) / 3, tolerance, x);
    const Dual<1> dual = f(Dual<1>::variable(x));
    EXPECT_EQ(dual.value(), f(x));
    EXPECT_EQ(dual.slope(), is) << x;
    BasicTape<Dual<1>> second;
    const auto twice = second.input(Dual<1>::variable(x));
    const BasicReal<Dual<1>> z = f(twice);
    second.reverse(z);
    EXPECT_EQ(second.gradient(twice).value(), is) << x;
    expect_close(second.gradient(twice).slope(), (slope(f, x + h) - slope(f, x - h)) / (2 * h),
                 10 * tolerance, x);
  }
}

TEST(SpecialFunctions, Polynomials) {
  for (unsigned n = 0; n < 6; ++n) {
    try_function(
        "legendre", [n](const auto& x) { return std::legendre(n, x); }, -1, 1);
    try_function(
        "laguerre", [n](const auto& x) { return std::laguerre(n, x); }, 0, 5);
    try_function(
        "hermite", [n](const auto& x) { return std::hermite(n, x); }, -2, 2);
    for (unsigned m = 0; m <= n + 1; ++m) {
      SCOPED_TRACE(m);
      try_function(
          "assoc_laguerre", [=](const auto& x) { return std::assoc_laguerre(n, m, x); }, 0, 5);
      try_function(
          "assoc_legendre", [=](const auto& x) { return std::assoc_legendre(n, m, x); }, -0.9, 0.9);
      if (m <= n)
        try_function(
            "sph_legendre", [=](const auto& x) { return std::sph_legendre(n, m, x); }, 0, 3);
    }
  }
}

TEST(SpecialFunctions, OfBessel) {
  for (const double order : {0.0, 0.3, 1.0, 1.7, 2.0, 5.0}) {
    SCOPED_TRACE(order);
    try_function(
        "cyl_bessel_j", [=](const auto& x) { return std::cyl_bessel_j(order, x); }, 0.5, 9);
    try_function(
        "cyl_neumann", [=](const auto& x) { return std::cyl_neumann(order, x); }, 2, 9);
    try_function(
        "cyl_bessel_i", [=](const auto& x) { return std::cyl_bessel_i(order, x); }, 0.5, 3);
    try_function(
        "cyl_bessel_k", [=](const auto& x) { return std::cyl_bessel_k(order, x); }, 2, 5);
  }
  for (unsigned n = 0; n < 4; ++n) {
    try_function(
        "sph_bessel", [n](const auto& x) { return std::sph_bessel(n, x); }, 0.5, 9);
    try_function(
        "sph_neumann", [n](const auto& x) { return std::sph_neumann(n, x); }, 2, 9);
  }
}

TEST(SpecialFunctions, IntegralsAndSums) {
  try_function(
      "expint", [](const auto& x) { return std::expint(x); }, 0.2, 4);
  try_function(
      "expint", [](const auto& x) { return std::expint(x); }, -4, -0.2);
  try_function(
      "riemann_zeta", [](const auto& s) { return std::riemann_zeta(s); }, 1.2, 6);
  try_function(
      "riemann_zeta", [](const auto& s) { return std::riemann_zeta(s); }, 0.05, 0.9);
  try_function(
      "riemann_zeta", [](const auto& s) { return std::riemann_zeta(s); }, -6, -0.05);
  try_function(
      "beta", [](const auto& x) { return std::beta(x, 1.7); }, 0.3, 4);
  try_function(
      "beta", [](const auto& y) { return std::beta(0.6, y); }, 0.3, 4);
  try_function(
      "beta", [](const auto& x) { return std::beta(x, x * 0.5); }, 0.3, 4);
}

TEST(SpecialFunctions, EllipticIntegrals) {
  try_function(
      "comp_ellint_1", [](const auto& k) { return std::comp_ellint_1(k); }, -0.9, 0.9);
  try_function(
      "comp_ellint_2", [](const auto& k) { return std::comp_ellint_2(k); }, -0.9, 0.9);
  for (const double nu : {-0.5, 0.0, 0.25, 0.6}) {
    SCOPED_TRACE(nu);
    try_function(
        "comp_ellint_3", [=](const auto& k) { return std::comp_ellint_3(k, nu); }, -0.9, 0.9);
    for (const double angle : {0.4, 1.2, 2.8, -4.0}) {
      SCOPED_TRACE(angle);
      try_function(
          "ellint_1", [=](const auto& k) { return std::ellint_1(k, angle); }, -0.9, 0.9);
      try_function(
          "ellint_2", [=](const auto& k) { return std::ellint_2(k, angle); }, -0.9, 0.9);
      try_function(
          "ellint_3", [=](const auto& k) { return std::ellint_3(k, nu, angle); }, -0.9, 0.9);
      try_function(
          "ellint_3", [=](const auto& n) { return std::ellint_3(0.5, n, angle); }, -0.5, 0.7);
    }
  }
  try_function(
      "comp_ellint_3", [](const auto& nu) { return std::comp_ellint_3(0.5, nu); }, -0.5, 0.7);
  try_function(
      "ellint_1", [](const auto& angle) { return std::ellint_1(0.6, angle); }, -1.4, 1.4);
  try_function(
      "ellint_2", [](const auto& angle) { return std::ellint_2(0.6, angle); }, -1.4, 1.4);
  try_function(
      "ellint_3", [](const auto& angle) { return std::ellint_3(0.6, 0.3, angle); }, -1.4, 1.4);
}

TEST(SpecialFunctions, SlopesAreThereWhereTheirFormulasWouldDivideByZero) {
  const auto at = [](const auto& f, double x) { return slope(f, x); };
  EXPECT_EQ(at([](const auto& x) { return std::legendre(5, x); }, 1), 15);
  EXPECT_EQ(at([](const auto& x) { return std::legendre(4, x); }, -1), -10);
  EXPECT_EQ(at([](const auto& x) { return std::assoc_legendre(3, 2, x); }, 1), -30);
  EXPECT_EQ(at([](const auto& x) { return std::assoc_legendre(3, 3, x); }, 1), 0);
  EXPECT_EQ(at([](const auto& x) { return std::assoc_legendre(1, 1, x); }, 1), -infinity);
  EXPECT_EQ(at([](const auto& x) { return std::cyl_bessel_j(0, x); }, 0), 0);
  EXPECT_EQ(at([](const auto& x) { return std::cyl_bessel_j(1, x); }, 0), 0.5);
  EXPECT_EQ(at([](const auto& x) { return std::cyl_bessel_j(0.5, x); }, 0), infinity);
  EXPECT_EQ(at([](const auto& x) { return std::cyl_bessel_i(1, x); }, 0), 0.5);
  EXPECT_NEAR(at([](const auto& x) { return std::sph_bessel(1, x); }, 0), 1.0 / 3, 1e-15);
  EXPECT_EQ(at([](const auto& x) { return std::sph_bessel(2, x); }, 0), 0);
  EXPECT_EQ(at([](const auto& k) { return std::ellint_1(k, 1.0); }, 0), 0);
  EXPECT_EQ(at([](const auto& k) { return std::comp_ellint_2(k); }, 0), 0);
  // k/2 · (1 - sin 2 / 2): nothing cancels where k is small.
  const double k = 1e-9, wanted = k / 2 * (1 - std::sin(2.0) / 2);
  EXPECT_NEAR(at([](const auto& m) { return std::ellint_1(m, 1.0); }, k), wanted, 1e-15 * wanted);
  EXPECT_NEAR(at([](const auto& s) { return std::riemann_zeta(s); }, 0),
              -0.5 * std::log(2 * std::numbers::pi), 1e-14);
  EXPECT_NEAR(at([](const auto& s) { return std::riemann_zeta(s); }, 2), -0.93754825431584375370, 1e-14);
}

}  // namespace
}  // namespace tidemark::scalars

// A program's own, of before there were any: they are called as ever.
namespace somebodys {

template <class T>
T hermite(unsigned n, T x) {
  return n * x;
}
template <class T>
T beta(T x, T y) {
  return x - y;
}

TEST(SpecialFunctions, GiveWayToAProgramsOwn) {
  const tidemark::Real x = 3;
  EXPECT_EQ(value(hermite(2u, x)), 6);
  EXPECT_EQ(value(beta(x, x)), 0);
}

}  // namespace somebodys

namespace tidemark::scalars {
namespace {

TEST(SpecialFunctions, AreFoundByTheirArgumentsAndMixWithExpressions) {
  Tape tape;
  const Real x = tape.input(0.4), y = tape.input(1.3);
  const Real z = beta(x + 1, 2 * y) * legendre(3, x * y) + ellint_3(x, 0.2, y) - cyl_bessel_j(2, y / x);
  EXPECT_EQ(tape.statements(), 3u);
  tape.reverse(z);
  const auto plain = [](double a, double b) {
    return std::beta(a + 1, 2 * b) * std::legendre(3, a * b) + std::ellint_3(a, 0.2, b) -
           std::cyl_bessel_j(2, b / a);
  };
  EXPECT_EQ(z.value(), plain(0.4, 1.3));
  const double h = 1e-6;
  EXPECT_NEAR(tape.gradient(x), (plain(0.4 + h, 1.3) - plain(0.4 - h, 1.3)) / (2 * h), 1e-8);
  EXPECT_NEAR(tape.gradient(y), (plain(0.4, 1.3 + h) - plain(0.4, 1.3 - h)) / (2 * h), 1e-8);
}

}  // namespace
}  // namespace tidemark::scalars

#endif
