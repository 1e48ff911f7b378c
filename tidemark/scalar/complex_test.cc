#include "tidemark/scalar/complex.h"

#include <gtest/gtest.h>

#include <bit>

#include "tidemark/base/philox.h"
#include "tidemark/scalar/scalar.h"

namespace tidemark::scalars {
namespace {

bool same(double x, double y) {
  return (x != x && y != y) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}
std::complex<double> sample(std::uint64_t i, std::uint64_t stream) {
  const auto words = Philox{3}(i, stream);
  return {2 * unit_double(words[0], words[1]) - 1, 2 * unit_double(words[2], words[3]) - 1};
}

// f of two complex numbers: bits of double, slopes of both modes against differences.
template <class F>
void try_it(const char* name, const F& f) {
  SCOPED_TRACE(name);
  using C = std::complex<double>;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const C at[2] = {sample(i, 0), sample(i, 1)};
    const C w = f(at[0], at[1]);
    Tape tape;
    const std::complex<Real> x(tape.input(at[0].real()), tape.input(at[0].imag()));
    const std::complex<Real> y(tape.input(at[1].real()), tape.input(at[1].imag()));
    const std::complex<Real> z = f(x, y);
    ASSERT_TRUE(same(z.real().value(), w.real()) && same(z.imag().value(), w.imag())) << at[0] << at[1];
    tape.reverse({{z.real(), 1.0}, {z.imag(), 0.25}});
    const double slopes[4] = {tape.gradient(x.real()), tape.gradient(x.imag()), tape.gradient(y.real()),
                              tape.gradient(y.imag())};
    for (int k = 0; k < 4; ++k) {
      C up[2] = {at[0], at[1]}, down[2] = {at[0], at[1]};
      const C h = k % 2 == 0 ? C(1e-6, 0) : C(0, 1e-6);
      up[k / 2] += h, down[k / 2] -= h;
      const C d = (f(up[0], up[1]) - f(down[0], down[1])) / 2e-6;
      const double expected = d.real() + 0.25 * d.imag();
      ASSERT_NEAR(slopes[k], expected, 2e-6 * (1 + std::fabs(expected) * std::fabs(expected)))
          << at[0] << at[1] << k;
      const auto dual = [&](const C& c, int part) {
        return std::complex<Dual<1>>(part == 0 ? Dual<1>::variable(c.real()) : Dual<1>(c.real()),
                                     part == 1 ? Dual<1>::variable(c.imag()) : Dual<1>(c.imag()));
      };
      const std::complex<Dual<1>> u = f(dual(at[0], k), dual(at[1], k - 2));
      ASSERT_TRUE(same(u.real().value(), w.real()) && same(u.imag().value(), w.imag()));
      ASSERT_NEAR(u.real().slope() + 0.25 * u.imag().slope(), slopes[k], 1e-10 * (1 + std::fabs(slopes[k])));
    }
    BasicTape<Dual<1>> second;
    using R = BasicReal<Dual<1>>;
    const std::complex<R> p(second.input(Dual<1>::variable(at[0].real())),
                            second.input(Dual<1>(at[0].imag())));
    const std::complex<R> q(second.input(Dual<1>(at[1].real())), second.input(Dual<1>(at[1].imag())));
    const std::complex<R> r = f(p, q);
    second.reverse({{r.real(), 1.0}, {r.imag(), 0.25}});
    ASSERT_TRUE(same(r.real().value().value(), w.real()));
    ASSERT_NEAR(second.gradient(q.imag()).value(), slopes[3], 1e-10 * (1 + std::fabs(slopes[3])));
  }
}

#define TRY(expression)                                                                    \
  try_it(#expression, []([[maybe_unused]] const auto& x, [[maybe_unused]] const auto& y) { \
    return std::decay_t<decltype(x)>(expression);                                          \
  })

TEST(Complex, Arithmetic) {
  TRY(x + y * x - x / y);
  TRY(2.0 * x + y / 3.0 - 1.0 / x);
  TRY(x * y.real() - std::abs(y.imag()) * x);
  TRY((x.real() + y.real()) * x - x / (1 + y.real() * y.real()));
  TRY(x * std::complex<double>(0, 1) + std::complex<double>(1, 2) / y);
  TRY(std::conj(x) * -y);
  try_it("updates", [](const auto& x, const auto& y) {
    auto z = x;
    z += y;
    z *= x;
    z -= 0.5;
    z /= y;
    z *= 1.5;
    return z;
  });
}

TEST(Complex, PartsAndPolarForm) {
  TRY(std::abs(x) + std::arg(y) + std::norm(x));
  TRY(std::polar(std::abs(x), y.real()));
  TRY(std::polar(1.0, x.imag()));
  TRY(std::real(x) * std::imag(y));
}

TEST(Complex, FunctionsHaveTheBitsOfDoubleAndHolomorphicDerivatives) {
  TRY(std::exp(x) + y);
  TRY(std::log(x) * y);
  TRY(std::log10(x));
  TRY(std::sqrt(x) - std::sqrt(y));
  TRY(std::sin(x) * std::cos(y));
  TRY(std::tan(x) + std::tanh(y));
  TRY(std::sinh(x) * std::cosh(y));
  TRY(std::asin(x) + std::acos(y));
  TRY(std::atan(x + 2.0) + std::asinh(y));
  TRY(std::acosh(x) + std::atanh(y + 2.0));
  TRY(std::pow(x, y));
  TRY(std::pow(x, 3) + std::pow(y, 0.5));
  TRY(std::pow(x, y.real()));
  TRY(std::pow(y.imag() * y.imag() + 1, x));
  TRY(exp(x * x) / (1.0 + exp(y)));
}

TEST(Complex, ARootOfAPolynomialByNewtonsMethod) {
  Tape tape;
  const Real c = tape.input(2);
  std::complex<Real> z(1, 1);
  for (int i = 0; i < 30; ++i) z -= (z * z * z - c) / (3.0 * z * z);
  const Real size = std::abs(z);
  tape.reverse(size);
  EXPECT_NEAR(size.value(), std::cbrt(2), 1e-14);
  EXPECT_NEAR(tape.gradient(c), std::cbrt(2) / 6, 1e-14);
}

TEST(Complex, PassiveNumbersTakeNoStatements) {
  Tape tape;
  std::complex<Real> z(1, 2);
  z = std::exp(z * z) / z;
  EXPECT_EQ(tape.statements(), 0u);
  EXPECT_EQ(std::abs(std::pow(std::complex<Real>(0), 2)), 0);
}

// A plain number beside a complex one has no part of zero: signs of zeros say on which side of a cut one is.
TEST(Complex, PlainNumbersBesideItAreReal) {
  const double parts[] = {0.0,         -0.0, 4, -4, 0.5, 1e300, std::numeric_limits<double>::infinity(),
                          std::nan("")};
  for (const double a : parts)
    for (const double b : parts) {
      const auto expect_same = [&](const auto& f) {
        const std::complex<double> z(a, b), w = f(z);
        const std::complex<Real> x(a, b), y = f(x);
        EXPECT_TRUE(same(y.real().value(), w.real()) && same(y.imag().value(), w.imag()))
            << z << ": " << w << " and " << y.real().value() << ' ' << y.imag().value();
      };
      expect_same([](const auto& z) { return std::sqrt(1.0 - z); });
      expect_same([](const auto& z) { return 2.0 * z; });
      expect_same([](const auto& z) { return 0.5 + z; });
      expect_same([](const auto& z) { return z * 2.0 - 1.0; });
      expect_same([](const auto& z) { return 1.0 / z; });
      expect_same([](const auto& z) { return std::proj(z); });
    }
  Tape tape;
  const Real x = tape.input(4), y = tape.input(0);
  const std::complex<Real> below = std::sqrt(1.0 - std::complex<Real>(x, y));
  tape.reverse(below.imag());
  EXPECT_DOUBLE_EQ(below.imag().value(), -std::sqrt(3));
  EXPECT_DOUBLE_EQ(tape.gradient(x), -0.5 / std::sqrt(3));
}

}  // namespace
}  // namespace tidemark::scalars
