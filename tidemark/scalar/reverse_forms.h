// The inner loop of a reversal: statements that have forms, one after the other, with nothing in memory but
// the recording, the forms and the adjoints.
#pragma once
#include <cstring>

#include "tidemark/scalar/each.h"
#include "tidemark/scalar/forms.h"
#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

// How far a reversal has come in a chunk.
template <class T>
struct Place {
  const std::byte* codes = nullptr;
  const T* partials = nullptr;
  Id index = 0;  // all statements from here on are reversed
  Id cursor = 0;  // of forms
};

// Where adjoints lie while nothing moves.
template <class A>
struct AdjointPlaces {
  A *ring = nullptr, *early = nullptr;  // early statements' own, by index; null: none, or in the ring
  Id mask = 0;

  bool have(const Form& form) const {
    return form.kind != 0 && (form.kind < early_kinds || early);
  }
};

inline const Form& form_at(const std::byte* codes, const Form* forms) {
  std::uint16_t code;
  std::memcpy(&code, codes, sizeof code);
  return forms[form_number(code)];
}

template <unsigned kind, class A>
[[gnu::always_inline]] inline void spread(const Form& form, const double* words, const A& a, Id k, Id cursor,
                                          const AdjointPlaces<A>& places) {
  constexpr unsigned operands = kind >> 3 & 7, written = kind & 7;
  if constexpr (written <= operands) {
    constexpr unsigned constants = operands - written;
    each<operands>([&](auto i) __attribute__((always_inline)) {
      const Key key = form.keys[i];
      A* to = &places.ring[(k - key) & places.mask];
      if constexpr (kind >= early_kinds)
        if (key & early_key) to = &places.early[operand_of(key, k, cursor)];
      if constexpr (i < constants)
        *to += form.slopes[i] * a;
      else
        *to += words[i - constants] * a;
    });
  }
}

// From a statement with a form, for whose operands there are places, on: until one that is another, or until
// `turn` comes next, or the chunk ends.
template <class A>
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
    select(form.kind, [&](auto kind) __attribute__((always_inline)) {
      if constexpr (kind >= early_kinds) cursor -= static_cast<Id>(std::int64_t{form.step});
      spread<kind>(form, partials, a, k, cursor, places);
    });
  } while (codes != stop && is_form(*codes));
  place = {codes, partials, k, cursor};
}

}  // namespace tidemark::scalars
