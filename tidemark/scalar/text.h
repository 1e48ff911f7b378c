// Scalars as text: the number, formatted as the double in whose place it stands.
#pragma once
#include <fmt/format.h>

#include <istream>
#include <ostream>

#include "tidemark/scalar/arguments.h"

namespace tidemark::scalars {

template <class A>
requires Argument<A> std::ostream& operator<<(std::ostream& out, const A& x) {
  return out << plain_number(x);
}

// Reads a plain number.
template <class A>
requires(is_real<A> || Carrier<A>) std::istream& operator>>(std::istream& in, A& x) {
  decltype(plain_number(x)) number;
  if (in >> number) x = number;
  return in;
}

}  // namespace tidemark::scalars

template <class A>
requires tidemark::scalars::Argument<A>
struct fmt::formatter<A> : fmt::formatter<decltype(tidemark::scalars::plain_number(std::declval<A>()))> {
  template <class Context>
  auto format(const A& x, Context& context) const {
    using Number = decltype(tidemark::scalars::plain_number(x));
    // fmt 9 has some formatters whose format() is not const.
    auto& of_number = const_cast<fmt::formatter<Number>&>(static_cast<const fmt::formatter<Number>&>(*this));
    return of_number.format(tidemark::scalars::plain_number(x), context);
  }
};
