// Dependent: a number that says on which inputs it depends (dependence.h). As the number of a BasicReal it
// makes a gradient say on which inputs each of its entries depends, which is the pattern of the Hessian:
// the partial derivatives of a linear statement depend on nothing, those of x·y on x and on y.
//
// What counts is how a number was computed and not what came out: x³ depends on x at 0 as anywhere. So a
// pattern found at one point holds at all at which the program takes the same branches.
#pragma once
#include <type_traits>

#include "tidemark/scalar/carrier.h"
#include "tidemark/scalar/dependence.h"
#include "tidemark/scalar/formulas.h"

namespace tidemark::scalars {

class Dependent;
template <>
inline constexpr bool carries<Dependent> = true;

class Dependent {
 public:
  using Node = DependenceGraph::Node;

  constexpr Dependent() = default;
  template <class C>
  requires std::is_arithmetic_v<C>
  constexpr Dependent(C constant)
      : value_(static_cast<double>(constant)) {}  // NOLINT: implicit, as from a number
  static Dependent input(double value) {
    Dependent x(value);
    x.on_ = DependenceGraph::active().input();
    return x;
  }

  template <class C>
  requires std::is_arithmetic_v<C>
  [[deprecated(
      "this takes the value out of a tidemark::Real, and its derivative is lost; write value(x) where that "
      "is "
      "meant")]]  //
  explicit
  operator C() const {
    return static_cast<C>(seen());
  }
  explicit operator bool() const { return seen() != 0; }

  constexpr double value() const { return value_; }
  constexpr Node on() const { return on_; }
  constexpr bool varies() const { return on_ != DependenceGraph::nothing; }

  // Whatever the partial derivative is: at another point it is another.
  void chain(double, const Dependent& operand) { on_ = unite(*this, operand); }

  friend constexpr Dependent operator+(const Dependent& x) { return x; }
  friend constexpr Dependent operator-(const Dependent& x) { return {-x.value_, x.on_}; }
  friend Dependent operator+(const Dependent& x, const Dependent& y) {
    return {x.value_ + y.value_, unite(x, y)};
  }
  friend Dependent operator-(const Dependent& x, const Dependent& y) {
    return {x.value_ - y.value_, unite(x, y)};
  }
  friend Dependent operator*(const Dependent& x, const Dependent& y) {
    return {rounded(x.value_ * y.value_),
            x.is_none() || y.is_none() ? DependenceGraph::nothing : unite(x, y)};
  }
  friend Dependent operator/(const Dependent& x, const Dependent& y) {
    return {x.value_ / y.value_, x.is_none() ? DependenceGraph::nothing : unite(x, y)};
  }
  Dependent& operator+=(const Dependent& other) { return *this = *this + other; }
  Dependent& operator-=(const Dependent& other) { return *this = *this - other; }
  Dependent& operator*=(const Dependent& other) { return *this = *this * other; }
  Dependent& operator/=(const Dependent& other) { return *this = *this / other; }
  Dependent& operator++() { return *this += 1; }
  Dependent& operator--() { return *this -= 1; }
  Dependent operator++(int) {
    const Dependent before = *this;
    ++*this;
    return before;
  }
  Dependent operator--(int) {
    const Dependent before = *this;
    --*this;
    return before;
  }

  // Who compares numbers, or looks at one, may go another way at another point.
  friend bool operator==(const Dependent& x, const Dependent& y) {
    return branch(x, y), x.value_ == y.value_;
  }
  friend bool operator!=(const Dependent& x, const Dependent& y) {
    return branch(x, y), x.value_ != y.value_;
  }
  friend bool operator<(const Dependent& x, const Dependent& y) { return branch(x, y), x.value_ < y.value_; }
  friend bool operator<=(const Dependent& x, const Dependent& y) {
    return branch(x, y), x.value_ <= y.value_;
  }
  friend bool operator>(const Dependent& x, const Dependent& y) { return branch(x, y), x.value_ > y.value_; }
  friend bool operator>=(const Dependent& x, const Dependent& y) {
    return branch(x, y), x.value_ >= y.value_;
  }
  double seen() const { return branch(*this, *this), value_; }  // by one who may do the same

 private:
  // A constant of zero: what is zero at this point alone may be another number at the next.
  constexpr bool is_none() const { return value_ == 0 && !varies(); }
  constexpr Dependent(double value, Node on) : value_(value), on_(on) {}
  static Node unite(const Dependent& x, const Dependent& y) {
    if (x.on_ == y.on_ || !y.varies()) return x.on_;
    if (!x.varies()) return y.on_;
    return DependenceGraph::active().unite(x.on_, y.on_);
  }
  static void branch(const Dependent& x, const Dependent& y) {
    if (x.varies() || y.varies()) DependenceGraph::active().branch();
  }

  double value_ = 0;
  Node on_ = DependenceGraph::nothing;
};

inline double value(const Dependent& x) { return x.seen(); }
inline double plain(const Dependent& x) { return x.seen(); }
inline int whole(const Dependent& x) { return own::whole(x.seen()); }

}  // namespace tidemark::scalars
