// Dual: a number with its derivatives in N directions, for forward mode: everything is computed along with
// its derivatives, nothing is recorded. A plain number type for generic code, and, as the number of a
// BasicReal, forward mode over reverse mode: BasicTape<Dual<1>> gives a gradient and its derivative in a
// direction. The formulas are those of Real; dual_math.h has the words in which they are written.
#pragma once
#include <cmath>
#include <concepts>
#include <type_traits>

#include "tidemark/scalar/ternary.h"

namespace tidemark::scalars {

template <int N = 1>
class Dual {
  static_assert(N > 0, "a Dual has at least one direction");

 public:
  static constexpr int directions = N;

  constexpr Dual() = default;
  template <class C>
  requires std::is_arithmetic_v<C>
  constexpr Dual(C constant) : value_(static_cast<double>(constant)) {}  // NOLINT: implicit, as from a number
  // A variable: of slope 1 in one direction.
  static constexpr Dual variable(double value, int direction = 0) {
    Dual x(value);
    x.slopes_[direction] = 1;
    return x;
  }

  template <class C>
  requires std::is_arithmetic_v<C>
  [[deprecated(
      "this takes the value out of a tidemark::Dual, and its derivative is lost; write value(x) where that "
      "is meant")]]  //
  explicit constexpr
  operator C() const {
    return static_cast<C>(value_);
  }
  explicit constexpr operator bool() const { return value_ != 0; }

  constexpr double value() const { return value_; }
  constexpr double slope(int direction = 0) const { return slopes_[direction]; }
  constexpr double& slope(int direction = 0) { return slopes_[direction]; }
  constexpr bool varies() const {
    bool any = false;
    for (int i = 0; i < N; ++i) any |= slopes_[i] != 0;
    return any;
  }

  // The chain rule: slopes of an operand by its partial derivative. Where the operand does not vary, a
  // partial derivative that is infinite or NaN is none of ours; a tape would not keep it either.
  [[gnu::always_inline]] void chain(double partial, const Dual& operand) {
    for (int i = 0; i < N; ++i) slopes_[i] += operand.slopes_[i] != 0 ? partial * operand.slopes_[i] : 0.0;
  }

  friend constexpr Dual operator+(const Dual& x) { return x; }
  friend constexpr Dual operator-(const Dual& x) {
    Dual z(-x.value_);
    for (int i = 0; i < N; ++i) z.slopes_[i] = -x.slopes_[i];
    return z;
  }
  friend constexpr Dual operator+(const Dual& x, const Dual& y) {
    Dual z(x.value_ + y.value_);
    for (int i = 0; i < N; ++i) z.slopes_[i] = x.slopes_[i] + y.slopes_[i];
    return z;
  }
  friend constexpr Dual operator-(const Dual& x, const Dual& y) {
    Dual z(x.value_ - y.value_);
    for (int i = 0; i < N; ++i) z.slopes_[i] = x.slopes_[i] - y.slopes_[i];
    return z;
  }
  friend Dual operator*(const Dual& x, const Dual& y) {
    Dual z(rounded(x.value_ * y.value_));
    z.chain(y.value_, x);
    z.chain(x.value_, y);
    return z;
  }
  friend Dual operator/(const Dual& x, const Dual& y) {
    Dual z(x.value_ / y.value_);
    z.chain(formula::Div::pull_x(1.0, x.value_, y.value_, z.value_), x);
    z.chain(formula::Div::pull_y(1.0, x.value_, y.value_, z.value_), y);
    return z;
  }
  Dual& operator+=(const Dual& other) { return *this = *this + other; }
  Dual& operator-=(const Dual& other) { return *this = *this - other; }
  Dual& operator*=(const Dual& other) { return *this = *this * other; }
  Dual& operator/=(const Dual& other) { return *this = *this / other; }
  Dual& operator++() { return *this += 1; }
  Dual& operator--() { return *this -= 1; }
  Dual operator++(int) {
    const Dual before = *this;
    ++*this;
    return before;
  }
  Dual operator--(int) {
    const Dual before = *this;
    --*this;
    return before;
  }

  // Comparisons are of values: a branch is followed as it was taken.
  friend constexpr bool operator==(const Dual& x, const Dual& y) { return x.value_ == y.value_; }
  friend constexpr bool operator!=(const Dual& x, const Dual& y) { return x.value_ != y.value_; }
  friend constexpr bool operator<(const Dual& x, const Dual& y) { return x.value_ < y.value_; }
  friend constexpr bool operator<=(const Dual& x, const Dual& y) { return x.value_ <= y.value_; }
  friend constexpr bool operator>(const Dual& x, const Dual& y) { return x.value_ > y.value_; }
  friend constexpr bool operator>=(const Dual& x, const Dual& y) { return x.value_ >= y.value_; }

 private:
  double value_ = 0;
  double slopes_[static_cast<std::size_t>(N)] = {};
};

template <int N>
constexpr double value(const Dual<N>& x) {
  return x.value();
}
// Of a partial derivative or an adjoint, which is to be kept unless nothing depends on it.
template <int N>
constexpr bool is_zero(const Dual<N>& x) {
  return x.value() == 0 && !x.varies();
}

template <class E>
inline constexpr bool is_dual = false;
template <int N>
inline constexpr bool is_dual<Dual<N>> = true;
template <class E>
concept DualNumber = is_dual<std::remove_cvref_t<E>>;

// What a formula gives: its value for the values, by its slopes. (A partial derivative of an operand that
// does not vary is not computed: it may be dear, as that of a power by its exponent.)
template <class F, int N>
[[gnu::always_inline]] inline Dual<N> evaluate(const Dual<N>& x) {
  Dual<N> z(F::value(x.value()));
  if constexpr (formula::HasSlope<F> || formula::HasPull<F>)
    z.chain(formula::pull<F>(1.0, x.value(), z.value()), x);
  return z;
}
template <class F, int N>
[[gnu::always_inline]] inline Dual<N> evaluate(const Dual<N>& x, const Dual<N>& y) {
  const double a = x.value(), b = y.value();
  Dual<N> z(F::value(a, b));
  if constexpr (std::is_same_v<F, formula::Mul>) z = Dual<N>(rounded(z.value()));
  if constexpr (requires { F::pull_x(a, a, a, a); })
    if (x.varies()) z.chain(F::pull_x(1.0, a, b, z.value()), x);
  if constexpr (requires { F::pull_y(a, a, a, a); })
    if (y.varies()) z.chain(F::pull_y(1.0, a, b, z.value()), y);
  return z;
}
template <class F, int N>
[[gnu::always_inline]] inline Dual<N> evaluate(const Dual<N>& x, const Dual<N>& y, const Dual<N>& w) {
  const double a = x.value(), b = y.value(), c = w.value();
  Dual<N> z(F::value(a, b, c));
  z.chain(F::pull_x(1.0, a, b, c, z.value()), x);
  z.chain(F::pull_y(1.0, a, b, c, z.value()), y);
  z.chain(F::pull_z(1.0, a, b, c, z.value()), w);
  return z;
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::Dual;
}  // namespace tidemark
