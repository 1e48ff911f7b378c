// Formulas of the special functions of <cmath> (C++17), of the form of formulas.h. Orders and degrees are
// operands without a slope. Slopes are written so that nothing cancels and nothing is divided by zero where
// the slope itself is finite (DLMF: 10.6, 10.29, 10.51 of Bessel functions, 14.10 and 18.9 of polynomials,
// 19.25 of elliptic integrals, 25.4 of zeta).
#pragma once
#include "tidemark/scalar/dual.h"
#include "tidemark/scalar/elliptic.h"
#include "tidemark/scalar/formulas.h"
#include "tidemark/scalar/zeta_slope.h"

#ifdef __cpp_lib_math_special_functions

namespace tidemark::scalars::own {

template <class T>
unsigned order_of(const T& n) {
  return static_cast<unsigned>(plain(n));
}
// The formula F of these operands, with their derivatives where they have some.
template <class F, class T, class... Orders>
T value_of(const T& x, Orders... orders) {
  return evaluate<F>(constant_like(x, orders)..., x);
}

// The k-th derivative of Legendre's polynomial of degree n: (2k-1)!! C(n - k, k + 1/2)(x), Gegenbauer's
// polynomial by its recurrence.
template <class T>
T legendre_derivative(unsigned n, unsigned k, const T& x) {
  if (k > n) return zero_like(x);
  double scale = 1;
  for (unsigned i = 1; i <= k; ++i) scale *= 2 * i - 1;
  const double alpha = k + 0.5;
  T before = zero_like(x), now = constant_like(x, scale);
  for (unsigned j = 1; j <= n - k; ++j) {
    const T next =
        (constant_like(x, 2 * (j + alpha - 1)) * x * now - constant_like(x, j + 2 * alpha - 2) * before) /
        constant_like(x, j);
    before = now, now = next;
  }
  return now;
}

// Of three operands every one is asked for its slope.
struct OrdersAreConstants {
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T&, const T&) {
    return zero_like(g);
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T&, const T&, const T&) {
    return zero_like(g);
  }
};

struct Legendre {
  template <class T>
  static T value(const T& n, const T& x) {
    return std::legendre(order_of(n), x);
  }
  template <class T>
  static T pull_y(const T& g, const T& n, const T& x, const T&) {
    return g * legendre_derivative(order_of(n), 1, x);
  }
};
struct AssocLegendre : OrdersAreConstants {  // (1 - x²)^(m/2) times the m-th derivative of a polynomial
  template <class T>
  static T value(const T& n, const T& m, const T& x) {
    return std::assoc_legendre(order_of(n), order_of(m), x);
  }
  template <class T>
  static T pull_z(const T& g, const T& n, const T& m, const T& x, const T&) {
    const unsigned degree = order_of(n), order = order_of(m);
    if (order == 0) return g * legendre_derivative(degree, 1, x);
    const T square = one_like(x) - x * x;
    const T power = order == 2 ? one_like(x) : pow(square, constant_like(x, 0.5 * order - 1));
    return g * (power * (square * legendre_derivative(degree, order + 1, x) -
                         m * x * legendre_derivative(degree, order, x)));
  }
};
struct SphLegendre : OrdersAreConstants {  // of an angle
  template <class T>
  static T value(const T& n, const T& m, const T& angle) {
    return std::sph_legendre(order_of(n), order_of(m), angle);
  }
  template <class T>
  static T pull_z(const T& g, const T& n, const T& m, const T& angle, const T&) {
    const unsigned degree = order_of(n), order = order_of(m);
    if (order > degree) return zero_like(g);
    const double l = degree, k = order;
    const auto other = [&](double by, double square) {
      return square == 0 ? zero_like(angle)
                         : constant_like(angle, std::sqrt(square)) * value_of<SphLegendre>(angle, l, k + by);
    };
    const T above = other(1, (l - k) * (l + k + 1));
    if (order == 0) return g * above;
    return g * (constant_like(g, 0.5) * (above - other(-1, (l + k) * (l - k + 1))));
  }
};
struct AssocLaguerre : OrdersAreConstants {
  template <class T>
  static T value(const T& n, const T& m, const T& x) {
    return std::assoc_laguerre(order_of(n), order_of(m), x);
  }
  template <class T>
  static T pull_z(const T& g, const T& n, const T& m, const T& x, const T&) {
    if (order_of(n) == 0) return zero_like(g);
    return -(g * value_of<AssocLaguerre>(x, plain(n) - 1.0, plain(m) + 1.0));
  }
};
struct Laguerre {
  template <class T>
  static T value(const T& n, const T& x) {
    return std::laguerre(order_of(n), x);
  }
  template <class T>
  static T pull_y(const T& g, const T& n, const T& x, const T&) {
    if (order_of(n) == 0) return zero_like(g);
    return -(g * value_of<AssocLaguerre>(x, plain(n) - 1.0, 1.0));
  }
};
struct Hermite {
  template <class T>
  static T value(const T& n, const T& x) {
    return std::hermite(order_of(n), x);
  }
  template <class T>
  static T pull_y(const T& g, const T& n, const T& x, const T&) {
    if (order_of(n) == 0) return zero_like(g);
    return g * (constant_like(x, 2.0 * plain(n)) * value_of<Hermite>(x, plain(n) - 1.0));
  }
};

// ---- Bessel functions. Between the orders 0 and 1 there is none below, and the other recurrence is taken.

struct CylBesselJ {
  template <class T>
  static T value(const T& order, const T& x) {
    return std::cyl_bessel_j(order, x);
  }
  template <class T>
  static T pull_y(const T& g, const T& order, const T& x, const T& z) {
    const double n = plain(order);
    const T above = value_of<CylBesselJ>(x, n + 1);
    if (n == 0) return -(g * above);
    if (n >= 1) return g * (constant_like(x, 0.5) * (value_of<CylBesselJ>(x, n - 1) - above));
    if (equal(x, zero_like(x))) return g / x;  // infinite
    return g * (order / x * z - above);
  }
};
struct CylNeumann {
  template <class T>
  static T value(const T& order, const T& x) {
    return std::cyl_neumann(order, x);
  }
  template <class T>
  static T pull_y(const T& g, const T& order, const T& x, const T& z) {
    const double n = plain(order);
    const T above = value_of<CylNeumann>(x, n + 1);
    if (n == 0) return -(g * above);
    if (n >= 1) return g * (constant_like(x, 0.5) * (value_of<CylNeumann>(x, n - 1) - above));
    return g * (order / x * z - above);
  }
};
struct CylBesselI {
  template <class T>
  static T value(const T& order, const T& x) {
    return std::cyl_bessel_i(order, x);
  }
  template <class T>
  static T pull_y(const T& g, const T& order, const T& x, const T& z) {
    const double n = plain(order);
    const T above = value_of<CylBesselI>(x, n + 1);
    if (n == 0) return g * above;
    if (n >= 1) return g * (constant_like(x, 0.5) * (value_of<CylBesselI>(x, n - 1) + above));
    if (equal(x, zero_like(x))) return g / x;  // infinite
    return g * (order / x * z + above);
  }
};
struct CylBesselK {  // the same of an order and of its negative
  template <class T>
  static T value(const T& order, const T& x) {
    return std::cyl_bessel_k(order, x);
  }
  template <class T>
  static T pull_y(const T& g, const T& order, const T& x, const T&) {
    const double n = plain(order);
    const T both = value_of<CylBesselK>(x, std::fabs(n - 1)) + value_of<CylBesselK>(x, n + 1);
    return -(g * (constant_like(x, 0.5) * both));
  }
};
template <class F>
struct SphericalPull {
  template <class T>
  static T pull_y(const T& g, const T& order, const T& x, const T&) {
    const double n = plain(order);
    const T above = value_of<F>(x, n + 1);
    if (n == 0) return -(g * above);
    const T below = value_of<F>(x, n - 1);
    return g * ((order * below - constant_like(x, n + 1) * above) / constant_like(x, 2 * n + 1));
  }
};
struct SphBessel : SphericalPull<SphBessel> {
  template <class T>
  static T value(const T& order, const T& x) {
    return std::sph_bessel(order_of(order), x);
  }
};
struct SphNeumann : SphericalPull<SphNeumann> {
  template <class T>
  static T value(const T& order, const T& x) {
    return std::sph_neumann(order_of(order), x);
  }
};

// ---- integrals and sums

struct Expint {
  template <class T>
  static T value(const T& x) {
    return std::expint(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return exp(x) / x;
  }
};
struct Beta {
  template <class T>
  static T value(const T& x, const T& y) {
    return std::beta(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T& z) {
    return g * (z * (digamma(x) - digamma(x + y)));
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T& z) {
    return g * (z * (digamma(y) - digamma(x + y)));
  }
};
struct RiemannZeta {
  template <class T>
  static T value(const T& s) {
    return std::riemann_zeta(s);
  }
  template <class T>
  static T slope(const T& s, const T&) {
    return zeta_slope(s);
  }
};

// Of the modulus and the angle; of the third kind, of the characteristic between them.
struct Ellint1 {
  template <class T>
  static T value(const T& k, const T& angle) {
    return std::ellint_1(k, angle);
  }
  template <class T>
  static T pull_x(const T& g, const T& k, const T& angle, const T&) {
    return g * elliptic_by_modulus(k, zero_like(k), angle).first.slope;
  }
  template <class T>
  static T pull_y(const T& g, const T& k, const T& angle, const T&) {
    return g / elliptic_root(k, angle);
  }
};
struct Ellint2 {
  template <class T>
  static T value(const T& k, const T& angle) {
    return std::ellint_2(k, angle);
  }
  template <class T>
  static T pull_x(const T& g, const T& k, const T& angle, const T&) {
    return g * elliptic_by_modulus(k, zero_like(k), angle).second.slope;
  }
  template <class T>
  static T pull_y(const T& g, const T& k, const T& angle, const T&) {
    return g * elliptic_root(k, angle);
  }
};
struct Ellint3 {
  template <class T>
  static T value(const T& k, const T& nu, const T& angle) {
    return std::ellint_3(k, nu, angle);
  }
  template <class T>
  static T pull_x(const T& g, const T& k, const T& nu, const T& angle, const T&) {
    return g * elliptic_by_modulus(k, nu, angle).third.slope;
  }
  template <class T>
  static T pull_y(const T& g, const T& k, const T& nu, const T& angle, const T&) {
    return g * elliptic_by_characteristic(k, nu, angle).third.slope;
  }
  template <class T>
  static T pull_z(const T& g, const T& k, const T& nu, const T& angle, const T&) {
    using std::sin;
    const T sine = sin(angle);
    return g / ((one_like(nu) - nu * sine * sine) * elliptic_root(k, angle));
  }
};
template <class T>
T right_angle(const T& like) {
  return constant_like(like, std::numbers::pi / 2);
}
struct CompEllint1 {
  template <class T>
  static T value(const T& k) {
    return std::comp_ellint_1(k);
  }
  template <class T>
  static T slope(const T& k, const T&) {
    return elliptic_by_modulus(k, zero_like(k), right_angle(k)).first.slope;
  }
};
struct CompEllint2 {
  template <class T>
  static T value(const T& k) {
    return std::comp_ellint_2(k);
  }
  template <class T>
  static T slope(const T& k, const T&) {
    return elliptic_by_modulus(k, zero_like(k), right_angle(k)).second.slope;
  }
};
struct CompEllint3 {
  template <class T>
  static T value(const T& k, const T& nu) {
    return std::comp_ellint_3(k, nu);
  }
  template <class T>
  static T pull_x(const T& g, const T& k, const T& nu, const T&) {
    return g * elliptic_by_modulus(k, nu, right_angle(k)).third.slope;
  }
  template <class T>
  static T pull_y(const T& g, const T& k, const T& nu, const T&) {
    return g * elliptic_by_characteristic(k, nu, right_angle(k)).third.slope;
  }
};

}  // namespace tidemark::scalars::own

#endif
