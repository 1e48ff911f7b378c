// std::complex of Reals and Duals. The standard leaves open what std::complex of other numbers than float,
// double and long double is. Of what libstdc++ has for them, arithmetic works, but division, abs, log and
// others have other bits than those of double, and 2.0 * z does not compile. So: a specialization of the
// class, and functions whose values are those of std::complex<double> to the bit, and whose derivatives are
// holomorphic: two statements with the parts of f'(z).
#pragma once
#include <complex>

#include "tidemark/scalar/given.h"
#include "tidemark/scalar/std_functions.h"

namespace tidemark::scalars {

template <class R>
concept ComplexPart = is_real<R> || carries<R>;

// Of what complex numbers without the outermost derivatives are.
template <class R>
struct InnerOf {
  using Type = double;
};
template <class T>
struct InnerOf<BasicReal<T>> {
  using Type = T;
};
template <class R>
using InnerComplex = std::complex<typename InnerOf<R>::Type>;

template <ComplexPart R>
InnerComplex<R> inner(const std::complex<R>& z) {
  return {value(z.real()), value(z.imag())};
}

// An operand and the derivative of the result by it.
template <class R>
struct ComplexSlope {
  std::complex<R> operand;
  InnerComplex<R> slope;
};

template <class T, class... More>
std::complex<BasicReal<T>> given(const std::complex<T>& w, const ComplexSlope<BasicReal<T>>& first,
                                 const More&... more) {
  constexpr unsigned count = 2 + 2 * sizeof...(More);
  Given<T, count> real{{}, w.real(), {}, {}}, imaginary{{}, w.imag(), {}, {}};
  unsigned at = 0;
  const auto add = [&](const ComplexSlope<BasicReal<T>>& s) {
    real.ids[at] = imaginary.ids[at] = s.operand.real().id();
    real.ids[at + 1] = imaginary.ids[at + 1] = s.operand.imag().id();
    real.slopes[at] = imaginary.slopes[at + 1] = s.slope.real();
    imaginary.slopes[at] = s.slope.imag();
    real.slopes[at + 1] = -s.slope.imag();
    at += 2;
  };
  add(first);
  (add(more), ...);
  return {BasicReal<T>(real), BasicReal<T>(imaginary)};
}
template <Carrier D, class... More>
std::complex<D> given(const std::complex<double>& w, const ComplexSlope<D>& first, const More&... more) {
  D real(w.real()), imaginary(w.imag());
  const auto add = [&](const ComplexSlope<D>& s) {
    real.chain(s.slope.real(), s.operand.real());
    real.chain(-s.slope.imag(), s.operand.imag());
    imaginary.chain(s.slope.imag(), s.operand.real());
    imaginary.chain(s.slope.real(), s.operand.imag());
  };
  add(first);
  (add(more), ...);
  return {real, imaginary};
}

// f'(z), from z and w = f(z), written once for numbers of every kind.
namespace holomorphic {

#define TM_HOLOMORPHIC(Name, name, slope_of_it)                                \
  struct Name {                                                                \
    template <class C>                                                         \
    static C value(const C& z) {                                               \
      return name(z);                                                          \
    }                                                                          \
    template <class C>                                                         \
    static C slope([[maybe_unused]] const C& z, [[maybe_unused]] const C& w) { \
      return slope_of_it;                                                      \
    }                                                                          \
  };
TM_HOLOMORPHIC(Exp, exp, w)
TM_HOLOMORPHIC(Log, log, 1.0 / z)
TM_HOLOMORPHIC(Log10, log10, std::numbers::log10e / z)
TM_HOLOMORPHIC(Sqrt, sqrt, 0.5 / w)
TM_HOLOMORPHIC(Sin, sin, cos(z))
TM_HOLOMORPHIC(Cos, cos, -sin(z))
TM_HOLOMORPHIC(Tan, tan, w* w + 1.0)
TM_HOLOMORPHIC(Sinh, sinh, cosh(z))
TM_HOLOMORPHIC(Cosh, cosh, sinh(z))
TM_HOLOMORPHIC(Tanh, tanh, 1.0 - w * w)
TM_HOLOMORPHIC(Asin, asin, 1.0 / sqrt(1.0 - z * z))
TM_HOLOMORPHIC(Acos, acos, -1.0 / sqrt(1.0 - z * z))
TM_HOLOMORPHIC(Atan, atan, 1.0 / (z * z + 1.0))
TM_HOLOMORPHIC(Asinh, asinh, 1.0 / sqrt(z * z + 1.0))
TM_HOLOMORPHIC(Acosh, acosh, 1.0 / (sqrt(z - 1.0) * sqrt(z + 1.0)))
TM_HOLOMORPHIC(Atanh, atanh, 1.0 / (1.0 - z * z))
#undef TM_HOLOMORPHIC

}  // namespace holomorphic

template <class F, ComplexPart R>
std::complex<R> apply_holomorphic(const std::complex<R>& z) {
  const InnerComplex<R> x = inner(z), w = F::value(x);
  return given(w, ComplexSlope<R>{z, F::slope(x, w)});
}

// zᵖ, whose value is w; 0 to a power has the derivative 0, unless the power is 1.
template <ComplexPart R>
std::complex<R> power(const InnerComplex<R>& w, const std::complex<R>& z, const std::complex<R>& p) {
  const InnerComplex<R> x = inner(z), q = inner(p);
  if (x == InnerComplex<R>(0)) {
    const InnerComplex<R> one(q == InnerComplex<R>(1) ? 1 : 0);
    return given(w, ComplexSlope<R>{z, one});
  }
  return given(w, ComplexSlope<R>{z, q * (w / x)}, ComplexSlope<R>{p, w * log(x)});
}

}  // namespace tidemark::scalars

namespace std {  // NOLINT(cert-dcl58-cpp): see std_functions.h

template <class R>
requires tidemark::scalars::ComplexPart<R>
class complex<R> {
 public:
  using value_type = R;
  complex(const R& real = R(), const R& imaginary = R()) : real_(real), imaginary_(imaginary) {}  // NOLINT
  template <class U>
  complex(const complex<U>& other) : real_(other.real()), imaginary_(other.imag()) {}  // NOLINT
  template <tidemark::scalars::Node E>
  complex(const E& real) : real_(real) {}  // NOLINT: implicit, as from a number
  template <class C>
  requires is_arithmetic_v<C> complex(C real) : real_(real) {}  // NOLINT

  R real() const { return real_; }
  R imag() const { return imaginary_; }
  void real(const R& x) { real_ = x; }
  void imag(const R& y) { imaginary_ = y; }
  const complex& __rep() const { return *this; }  // NOLINT: what functions of libstdc++ ask for

  complex& operator=(const R& x) {
    real_ = x;
    imaginary_ = R();
    return *this;
  }
  complex& operator+=(const R& x) {
    real_ += x;
    return *this;
  }
  complex& operator-=(const R& x) {
    real_ -= x;
    return *this;
  }
  complex& operator*=(const R& x) {
    real_ *= x;
    imaginary_ *= x;
    return *this;
  }
  complex& operator/=(const R& x) {
    real_ /= x;
    imaginary_ /= x;
    return *this;
  }
  template <class U>
  complex& operator+=(const complex<U>& z) {
    real_ += z.real();
    imaginary_ += z.imag();
    return *this;
  }
  template <class U>
  complex& operator-=(const complex<U>& z) {
    real_ -= z.real();
    imaginary_ -= z.imag();
    return *this;
  }
  template <class U>
  complex& operator*=(const complex<U>& z) {
    const complex x = *this, y(z);
    const auto a = tidemark::scalars::inner(x), b = tidemark::scalars::inner(y);
    using Slope = tidemark::scalars::ComplexSlope<R>;
    return *this = tidemark::scalars::given(a * b, Slope{x, b}, Slope{y, a});
  }
  template <class U>
  complex& operator/=(const complex<U>& z) {
    const complex x = *this, y(z);
    const auto a = tidemark::scalars::inner(x), b = tidemark::scalars::inner(y), w = a / b;
    using Slope = tidemark::scalars::ComplexSlope<R>;
    using Inner = tidemark::scalars::InnerComplex<R>;
    return *this = tidemark::scalars::given(w, Slope{x, Inner(1) / b}, Slope{y, -w / b});
  }

 private:
  R real_, imaginary_;
};

}  // namespace std

namespace tidemark::scalars {

// With plain numbers and expressions on one side, from which the library does not deduce. These are real
// numbers, not complex ones with a part of zero: 1 - (4, 0) is (-3, -0), below the cut of a root.
#define TM_COMPLEX_OPERATOR(op, update)                                                               \
  template <class R, class C>                                                                         \
  requires(ComplexPart<R> && !std::is_same_v<R, C> && std::is_convertible_v<C, R>) std::complex<R>    \
  operator op(const std::complex<R>& x, const C& y) {                                                 \
    std::complex<R> z = x;                                                                            \
    z update R(y);                                                                                    \
    return z;                                                                                         \
  }                                                                                                   \
  template <class R, class C>                                                                         \
  requires(ComplexPart<R> && !std::is_same_v<R, C> && std::is_convertible_v<C, R>) std::complex<R>    \
  operator op(const C& x, const std::complex<R>& y) { return R(x) op y; }                             \
  template <class R, class C>                                                                         \
  requires(ComplexPart<R> && std::is_arithmetic_v<C>) std::complex<R>                                 \
  operator op(const std::complex<R>& x, const std::complex<C>& y) { return x op std::complex<R>(y); } \
  template <class R, class C>                                                                         \
  requires(ComplexPart<R> && std::is_arithmetic_v<C>) std::complex<R>                                 \
  operator op(const std::complex<C>& x, const std::complex<R>& y) { return std::complex<R>(x) op y; }
TM_COMPLEX_OPERATOR(+, +=)
TM_COMPLEX_OPERATOR(-, -=)
TM_COMPLEX_OPERATOR(*, *=)
TM_COMPLEX_OPERATOR(/, /=)
#undef TM_COMPLEX_OPERATOR

namespace functions {

#define TM_COMPLEX_FUNCTION(Name, name)                                    \
  template <class R>                                                       \
  requires ComplexPart<R> std::complex<R> name(const std::complex<R>& z) { \
    return apply_holomorphic<holomorphic::Name>(z);                        \
  }
TM_COMPLEX_FUNCTION(Exp, exp)
TM_COMPLEX_FUNCTION(Log, log)
TM_COMPLEX_FUNCTION(Log10, log10)
TM_COMPLEX_FUNCTION(Sqrt, sqrt)
TM_COMPLEX_FUNCTION(Sin, sin)
TM_COMPLEX_FUNCTION(Cos, cos)
TM_COMPLEX_FUNCTION(Tan, tan)
TM_COMPLEX_FUNCTION(Sinh, sinh)
TM_COMPLEX_FUNCTION(Cosh, cosh)
TM_COMPLEX_FUNCTION(Tanh, tanh)
TM_COMPLEX_FUNCTION(Asin, asin)
TM_COMPLEX_FUNCTION(Acos, acos)
TM_COMPLEX_FUNCTION(Atan, atan)
TM_COMPLEX_FUNCTION(Asinh, asinh)
TM_COMPLEX_FUNCTION(Acosh, acosh)
TM_COMPLEX_FUNCTION(Atanh, atanh)
#undef TM_COMPLEX_FUNCTION

template <class R>
requires ComplexPart<R> R abs(const std::complex<R>& z) { return hypot(z.real(), z.imag()); }
template <class R>
requires ComplexPart<R> R arg(const std::complex<R>& z) { return atan2(z.imag(), z.real()); }
template <class R>
requires ComplexPart<R> std::complex<R> proj(const std::complex<R>& z) {
  const auto x = plain_number(z.real()), y = plain_number(z.imag());
  if (!std::isinf(x) && !std::isinf(y)) return z;
  return {R(std::numeric_limits<double>::infinity()), R(std::copysign(0.0, y))};
}
template <class R>
requires ComplexPart<R> R norm(const std::complex<R>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <class A, class B>
requires(Arguments<A, B> && !std::is_same_v<A, B>) auto polar(const A& size, const B& angle) {
  using R = std::common_type_t<decltype(size + angle), std::conditional_t<Scalar<A>, A, B>>;
  return std::polar<R>(R(size), R(angle));
}

template <class R>
requires ComplexPart<R> std::complex<R> pow(const std::complex<R>& z, const std::complex<R>& p) {
  return power(pow(inner(z), inner(p)), z, p);
}
template <class R>
requires ComplexPart<R> std::complex<R> pow(const std::complex<R>& z, const R& p) {
  return power(pow(inner(z), value(p)), z, std::complex<R>(p));
}
template <class R, class C>
requires(ComplexPart<R> && !std::is_same_v<R, C> &&
         std::is_convertible_v<C, R>) std::complex<R> pow(const std::complex<R>& z, const C& p) {
  return pow(z, R(p));
}
template <class R>
requires ComplexPart<R> std::complex<R> pow(const R& x, const std::complex<R>& p) {
  const std::complex<R> z(x);
  return power(pow(value(x), inner(p)), z, p);
}
template <class R, class C>
requires(ComplexPart<R> && !std::is_same_v<R, C> &&
         std::is_convertible_v<C, R>) std::complex<R> pow(const C& x, const std::complex<R>& p) {
  return pow(R(x), p);
}

}  // namespace functions
}  // namespace tidemark::scalars

namespace std {  // NOLINT(cert-dcl58-cpp): see std_functions.h
using tidemark::scalars::functions::abs;
using tidemark::scalars::functions::acos;
using tidemark::scalars::functions::acosh;
using tidemark::scalars::functions::arg;
using tidemark::scalars::functions::asin;
using tidemark::scalars::functions::asinh;
using tidemark::scalars::functions::atan;
using tidemark::scalars::functions::atanh;
using tidemark::scalars::functions::cos;
using tidemark::scalars::functions::cosh;
using tidemark::scalars::functions::exp;
using tidemark::scalars::functions::log;
using tidemark::scalars::functions::log10;
using tidemark::scalars::functions::norm;
using tidemark::scalars::functions::polar;
using tidemark::scalars::functions::pow;
using tidemark::scalars::functions::proj;
using tidemark::scalars::functions::sin;
using tidemark::scalars::functions::sinh;
using tidemark::scalars::functions::sqrt;
using tidemark::scalars::functions::tan;
using tidemark::scalars::functions::tanh;
}  // namespace std
