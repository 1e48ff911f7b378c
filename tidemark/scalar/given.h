// A statement whose partial derivatives are given: for values that come from elsewhere.
#pragma once
#include "tidemark/scalar/expression.h"

namespace tidemark::scalars {

template <class T, unsigned count>
struct Given : CastsToNumbers<Given<T, count>> {
  using Number = T;
  static constexpr unsigned operands = count, unit_operands = 0;
  T number;
  Id ids[count];
  T slopes[count];
  T value() const { return number; }
  Id id_bits() const {
    Id bits = 0;
    for (const Id id : ids) bits |= id;
    return bits;
  }
  template <unsigned unit, unsigned general>
  [[gnu::always_inline]] void push_one(auto& sink) const {
    each<count>([&](auto i) __attribute__((always_inline)) {
      sink.template general<general + i>(ids[i], slopes[i]);
    });
  }
  template <unsigned general>
  [[gnu::always_inline]] void push(const T& slope, auto& sink) const {
    each<count>([&](auto i) __attribute__((always_inline)) {
      sink.template general<general + i>(ids[i], slope * slopes[i]);
    });
  }
};

template <class T, unsigned count>
inline constexpr bool is_node<Given<T, count>> = true;

}  // namespace tidemark::scalars
