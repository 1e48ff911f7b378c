// Real: a number that knows how it was computed. Put in place of double, it gives gradients of existing
// C++ code:
//
//   td::Tape tape;                                // active on this thread as long as it lives
//   std::vector<td::Real> x = tape.inputs(values);
//   td::Real y = f(x);                            // your code, with td::Real for double
//   tape.reverse(y);
//   std::vector<double> slopes = tape.gradient(x);
//
// Sixteen bytes, trivially copyable: a value and the number of the statement that made it. Where no tape
// is active, and for values that depend on no input, it is computed with like a double and nothing is
// recorded.
#pragma once
#include <compare>
#include <iosfwd>
#include <limits>
#include <source_location>
#include <span>
#include <vector>

#include "tidemark/scalar/expression.h"

namespace tidemark::scalars {

template <class T>
class BasicReal {
 public:
  using Number = T;

  constexpr BasicReal() = default;
  template <class C>
  requires PassiveFor<C, T>
  constexpr BasicReal(const C& constant)
      : value_(static_cast<T>(constant)) {}  // NOLINT: implicit, as from a number
  constexpr BasicReal(const T& value, Id id) : value_(value), id_(id) {}

  template <Node E>
  requires std::same_as<typename E::Number, T>
  [[gnu::always_inline]] BasicReal(
      const E& expression, std::source_location where = std::source_location::current())  // NOLINT: implicit
      : value_(expression.value()) {
    if constexpr (E::operands > 0) {
      if (Recorder<T>* recorder = active_recorder<T>)
        id_ = record(*recorder, expression, where);
      else
        id_ = id_unrecorded<T>(expression.id_bits());
    }
  }

  // A derivative would be lost here, which is what the warning says; value(x) is for where that is meant.
  template <class C>
  requires std::is_arithmetic_v<C>
  [[deprecated(
      "this takes the value out of a tidemark::Real, and its derivative is lost; write value(x) where that "
      "is "
      "meant")]]  //
  explicit constexpr
  operator C() const {
    return static_cast<C>(value_);
  }
  // A truth has no derivative, as comparisons have none.
  explicit constexpr operator bool() const { return value_ != 0; }

  constexpr const T& value() const { return value_; }
  constexpr Id id() const { return id_; }

  template <class E>
  [[gnu::always_inline]] BasicReal& operator+=(const E& other) {
    return *this = BasicReal(*this + other, unknown());
  }
  template <class E>
  [[gnu::always_inline]] BasicReal& operator-=(const E& other) {
    return *this = BasicReal(*this - other, unknown());
  }
  template <class E>
  [[gnu::always_inline]] BasicReal& operator*=(const E& other) {
    return *this = BasicReal(*this * other, unknown());
  }
  template <class E>
  [[gnu::always_inline]] BasicReal& operator/=(const E& other) {
    return *this = BasicReal(*this / other, unknown());
  }
  BasicReal& operator++() { return *this += 1; }
  BasicReal& operator--() { return *this -= 1; }
  BasicReal operator++(int) {
    const BasicReal before = *this;
    *this += 1;
    return before;
  }
  BasicReal operator--(int) {
    const BasicReal before = *this;
    *this -= 1;
    return before;
  }

 private:
  // C++ gives no line to an operator of two operands.
  static std::source_location unknown() { return {}; }

  T value_ = T(0);
  Id id_ = 0;
};

template <class T>
constexpr Leaf<T> node_of(const BasicReal<T>& x) {
  return {x.value(), x.id()};
}

// Results of a function that is not recorded; `active`: some operand is.
template <class T>
std::vector<BasicReal<T>> unrecorded(std::span<const T> values, bool active) {
  const Id id = active && !active_recorder<T> ? unrecorded_id<T> : 0;
  std::vector<BasicReal<T>> results;
  results.reserve(values.size());
  for (const T& value : values) results.push_back({value, id});
  return results;
}

// The number alone, without its derivative.
template <Scalar E>
constexpr Number<E> value(const E& x) {
  return x.value();
}
template <class C>
requires std::is_arithmetic_v<C>
constexpr C value(C x) { return x; }

template <class A, class B>
concept ScalarPair = (Scalar<A> && Scalar<B> && requires { requires std::same_as<Number<A>, Number<B>>; }) ||
                     (Scalar<A> && requires { requires PassiveFor<B, Number<A>>; }) ||
                     (Scalar<B> && requires { requires PassiveFor<A, Number<B>>; });

template <Scalar A>
[[gnu::always_inline]] inline auto operator-(const A& x) {
  return make_unary<formula::Neg>(x);
}
template <Scalar A>
[[gnu::always_inline]] inline auto operator+(const A& x) {
  return node_of(x);
}
template <class A, class B>
requires ScalarPair<A, B>
[[gnu::always_inline]] inline auto operator+(const A& x, const B& y) {
  return make_binary<formula::Add>(x, y);
}
template <class A, class B>
requires ScalarPair<A, B>
[[gnu::always_inline]] inline auto operator-(const A& x, const B& y) {
  return make_binary<formula::Sub>(x, y);
}
template <class A, class B>
requires ScalarPair<A, B>
[[gnu::always_inline]] inline auto operator*(const A& x, const B& y) {
  return make_binary<formula::Mul>(x, y);
}
template <class A, class B>
requires ScalarPair<A, B>
[[gnu::always_inline]] inline auto operator/(const A& x, const B& y) {
  return make_binary<formula::Div>(x, y);
}

// Comparisons are of values: a branch is followed as it was taken.
template <class A, class B>
requires ScalarPair<A, B>
constexpr bool operator==(const A& x, const B& y) { return value(x) == value(y); }
template <class A, class B>
requires ScalarPair<A, B>
constexpr bool operator!=(const A& x, const B& y) { return value(x) != value(y); }
template <class A, class B>
requires ScalarPair<A, B>
constexpr bool operator<(const A& x, const B& y) { return value(x) < value(y); }
template <class A, class B>
requires ScalarPair<A, B>
constexpr bool operator<=(const A& x, const B& y) { return value(x) <= value(y); }
template <class A, class B>
requires ScalarPair<A, B>
constexpr bool operator>(const A& x, const B& y) { return value(x) > value(y); }
template <class A, class B>
requires ScalarPair<A, B>
constexpr bool operator>=(const A& x, const B& y) { return value(x) >= value(y); }

template <class A, class B>
requires ScalarPair<A, B>
constexpr std::partial_ordering operator<=>(const A& x, const B& y) {
  if (x < y) return std::partial_ordering::less;
  if (x > y) return std::partial_ordering::greater;
  return x == y ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
}

using Real = BasicReal<double>;
static_assert(sizeof(Real) == 16 && std::is_trivially_copyable_v<Real>);

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::BasicReal;
using scalars::Real;
using scalars::value;
}  // namespace tidemark
