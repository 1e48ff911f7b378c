// Dual: a number with its derivatives in N directions, for forward mode: everything is computed along with
// its derivatives, nothing is recorded. A plain number type for generic code, and, as the number of a
// BasicReal, forward mode over reverse mode: BasicTape<Dual<1>> gives a gradient and its derivative in a
// direction. The formulas are those of Real (carrier.h).
#pragma once
#include <cmath>
#include <concepts>
#include <type_traits>

#include "tidemark/scalar/carrier.h"

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
inline constexpr bool carries<Dual<N>> = true;

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::Dual;
}  // namespace tidemark
