// The inner loop of a reversal: statements that have forms, one after the other, with nothing in memory but
// the recording, the forms and the adjoints.
#pragma once
#include <cstring>
#include <type_traits>

#include "tidemark/scalar/each.h"
#include "tidemark/scalar/forms.h"
#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

// How far a reversal has come in a chunk.
template <class T>
struct Place {
  const std::byte* codes = nullptr;
  const T* partials = nullptr;
  Id index = 0;   // all statements from here on are reversed
  Id cursor = 0;  // of forms
};

// Where adjoints lie while nothing moves.
template <class A>
struct AdjointPlaces {
  enum class Early : std::uint8_t { here_and_there, in_ring, side_by_side };

  A *ring = nullptr, *early = nullptr;  // those of early statements by index, if side by side
  Id mask = 0;
  Early early_ones = Early::here_and_there;

  bool have(const Form& form) const {
    return form.kind != 0 && (form.kind < early_kinds || early_ones != Early::here_and_there);
  }
  template <Early early_ones>
  [[gnu::always_inline]] A& of(Key key, Id k, Id cursor) const {
    const Id index = operand_of(key, k, cursor);
    if constexpr (early_ones == Early::side_by_side)
      if (key & early_key) return early[index];
    return ring[index & mask];
  }
};

inline const Form& form_at(const std::byte* codes, const Form* forms) {
  std::uint16_t code;
  std::memcpy(&code, codes, sizeof code);
  return forms[form_number(code)];
}

template <unsigned kind, auto early_ones, class A>
[[gnu::always_inline]] inline void spread(const Form& form, const double* words, const A& a, Id k, Id cursor,
                                          const AdjointPlaces<A>& places) {
  constexpr unsigned operands = kind >> 3 & 7, written = kind & 7;
  if constexpr (written <= operands) {
    constexpr unsigned constants = operands - written;
    each<operands>([&](auto i) __attribute__((always_inline)) {
      A* to;
      if constexpr (kind < early_kinds)
        to = &places.ring[(k - form.keys[i]) & places.mask];
      else
        to = &places.template of<early_ones>(form.keys[i], k, cursor);
      if constexpr (i < constants)
        *to += form.slopes[i] * a;
      else
        *to += words[i - constants] * a;
    });
  }
}

// From a statement with a form, for whose operands there are places, on: until one that is another, or until
// `turn` comes next, or the chunk ends.
template <auto early_ones, class A>
void reverse_forms(Place<double>& place, const std::byte* end, Id turn, const Form* forms,
                   const AdjointPlaces<A>& given) {
  const AdjointPlaces<A> places = given;
  const std::byte* codes = place.codes;
  const double* partials = place.partials;
  Id k = place.index, cursor = place.cursor;
  const auto until_turn = static_cast<std::ptrdiff_t>(form_code_bytes * (k - 1 - turn));
  const std::byte* const stop = end - codes < until_turn ? end : codes + until_turn;
  do {
    const Form& form = form_at(codes, forms);
    if (!places.have(form)) break;
    --k;
    codes += form_code_bytes;
    partials -= form.words;
    A& own = places.ring[k & places.mask];
    const A a = own;
    own = A{};
    if (is_zero(a)) {
      cursor -= static_cast<Id>(std::int64_t{form.step});
      continue;
    }
    if constexpr (std::is_same_v<A, double>) {
      select(
          form.kind, [&](auto kind) __attribute__((always_inline)) {
            if constexpr (kind >= early_kinds) cursor -= static_cast<Id>(std::int64_t{form.step});
            spread<kind, early_ones>(form, partials, a, k, cursor, places);
          });
    } else {
      cursor -= static_cast<Id>(std::int64_t{form.step});
      for (unsigned i = 0; i < form.operands(); ++i)
        places.template of<early_ones>(form.keys[i], k, cursor) += form.slope(i, partials) * a;
    }
  } while (codes != stop && is_form(*codes));
  place = {codes, partials, k, cursor};
}

}  // namespace tidemark::scalars
