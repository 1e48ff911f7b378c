// The operands of one statement, on their way into a recording.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tidemark/scalar/each.h"
#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

// The operands of one statement, gathered by its expression, each in a place that the compiler knows: they
// stay in registers. Passive ones and slopes of zero leave no trace, and a variable that stands in an
// expression more than once is one operand.
template <class T, unsigned units, unsigned generals>
class Operands {
 public:
  template <unsigned place>
  [[gnu::always_inline]] void unit(Id id) {
    unit_ids_[place] = id;
  }
  template <unsigned place>
  [[gnu::always_inline]] void general(Id id, const T& slope) {
    ids_[place] = id;
    slopes_[place] = slope;
  }

  // Returns the statement's id, or that of which it is a copy, or 0 where nothing leaves a trace. No form is
  // of passive operands alone.
  [[gnu::always_inline]] Id write(Recorder<T>& to, std::source_location where) {
    if constexpr (has_form) {
      if (to.expects_form()) [[likely]]
        if (write_by_form(to)) [[likely]]
          return to.next++;
      if (passive()) return 0;
      Operands copy = *this;  // whose address may be taken, while this stays in registers
      return copy.write_otherwise(to, where);
    } else {
      if (passive()) return 0;
      to.require(most_bytes, where);
      merge(~0u);
      if (Id only; drop_zeros(only)) return only;
      return write_whole(to);
    }
  }

 private:
  static constexpr unsigned places = units + generals;
  static constexpr std::size_t most_bytes =
      (generals + 1) * sizeof(T) + places * sizeof(Id) + code::most_head;
  static constexpr unsigned most_compared = 8;  // each with each: long expressions would be much code
  static constexpr bool has_form = std::is_same_v<T, double> && places <= most_places;

  template <unsigned place>
  [[gnu::always_inline]] Id id_of() const {
    if constexpr (place < units)
      return unit_ids_[place];
    else
      return ids_[place - units];
  }

  // Of operands without any active one nothing is recorded.
  [[gnu::always_inline]] bool passive() const {
    if (id_of<0>() != 0) [[likely]]
      return false;
    Id any = 0;
    each<places>([&](auto i) __attribute__((always_inline)) { any |= id_of<i>(); });
    return any == 0;
  }

  // Of those places that `which` has bits for.
  [[gnu::always_inline]] void merge(unsigned which) {
    if constexpr (places <= most_compared) {
      each<generals>([&](auto i) __attribute__((always_inline)) {
        if ((which >> (units + i) & 1) == 0) return;
        each<i>([&](auto j) __attribute__((always_inline)) {
          if (ids_[i] == ids_[j] && ids_[i] != 0) {
            slopes_[j] += slopes_[i];
            ids_[i] = 0;
          }
        });
      });
      each<units>([&](auto i) __attribute__((always_inline)) {
        if ((which >> i & 1) == 0) return;
        each<generals>([&](auto j) __attribute__((always_inline)) {
          if (unit_ids_[i] == ids_[j] && ids_[j] != 0) {
            slopes_[j] += T(1);
            unit_ids_[i] = 0;
          }
        });
      });
    }
  }

  // Operands without a slope leave no trace. True where at most one unit is left, which is `only`, or 0.
  [[gnu::always_inline]] bool drop_zeros(Id& only) {
    Id general = 0;
    each<generals>([&](auto i) __attribute__((always_inline)) {
      ids_[i] = is_zero(slopes_[i]) ? 0 : ids_[i];
      general |= ids_[i];
    });
    unsigned count = 0;
    only = 0;
    each<units>([&](auto i) __attribute__((always_inline)) {
      count += unit_ids_[i] != 0;
      only |= unit_ids_[i];
    });
    return general == 0 && count <= 1;
  }

  // The number of its form and what varies, if its form is the one that is expected. False: nothing has
  // happened.
  [[gnu::always_inline]] bool write_by_form(Recorder<T>& to) const {
    const Pattern& form = to.forms.expected(to.codes);
    return form.merged & Pattern::special ? write_by<true>(to, form) : write_by<false>(to, form);
  }

  template <bool special>
  [[gnu::always_inline]] bool write_by(Recorder<T>& to, const Pattern& form) const {
    Id other = form.shape ^ shape_of(units, generals);
    each<places>([&](auto i) __attribute__((always_inline)) {
      other |= (special ? form.expected(i, to) : to.next + form.offset(i)) ^ id_of<i>();
    });
    if (other != 0) [[unlikely]]
      return false;
    if constexpr (special)
      if (form.early && !to.forms.separate(form, to)) return false;
    Operands merged = *this;
    if constexpr (places > 1)
      if (form.merged != 0) merged.merge(form.merged);
    if constexpr (generals > 0) {
      TwoMasks different = {};
      each<(generals + 1) / 2>([&](auto i) __attribute__((always_inline)) {
        constexpr unsigned second = std::min(2 * i + 1, generals - 1);
        const Two slopes = {merged.slopes_[2 * i], merged.slopes_[second]};
        different |= (slopes == form.slopes[i].constants) ^ form.slopes[i].equal;
      });
      if (any(different)) [[unlikely]]
        return false;
    }
    if constexpr (special) see_special(to, form);
    merged.write_words(to, form);
    return true;
  }

  [[gnu::always_inline]] void see_special(Recorder<T>& to, const Pattern& form) const {
    if (form.distances & Pattern::beyond) [[unlikely]]
      see_all(to);
    if (form.early) to.read_early = to.cursor += static_cast<Id>(form.step);
  }

  [[gnu::always_inline]] void see_all(Recorder<T>& to) const {
    each<places>([&](auto i) __attribute__((always_inline)) {
      if (id_of<i>() != 0) to.see(to.next - id_of<i>());
    });
  }

  [[gnu::always_inline]] void write_words(Recorder<T>& to, const Pattern& form) const {
    T* const words = to.partials;
    std::byte* const codes = to.codes - sizeof form.code;
    const std::uint16_t code = form.code;  // before what the compiler thinks may change it
    each<generals>([&](auto i) __attribute__((always_inline)) { words[form.word[i]] = slopes_[i]; });
    if constexpr (generals > 0) to.partials = words + form.words;
    to.codes = codes;
    std::memcpy(codes, &code, sizeof code);
  }

  // A statement without a form, or with another than the one that is expected, or where nothing is known of
  // the room that there is.
  [[gnu::noinline]] Id write_otherwise(Recorder<T>& to, std::source_location where) {
    const bool compared = to.expects_form();
    to.require(most_bytes, where);
    if (!to.forms.any()) {
      merge(~0u);
      if (Id only; drop_zeros(only)) return only;
      return write_whole(to);
    }
    if (!compared && write_by_form(to)) return to.next++;
    Id ids[places];  // of those that are merged, too
    std::copy_n(unit_ids_, units, ids);
    std::copy_n(ids_, generals, ids + units);
    merge(~0u);
    // Slopes that are zero this once are no matter of a form.
    bool zeros = false;
    for (unsigned i = 0; i < generals; ++i) zeros |= ids_[i] != 0 && is_zero(slopes_[i]);
    if (Id only; drop_zeros(only)) return only;  // x + 1 has the derivative of x
    if (!zeros && to.forms.ask()) {
      if (const Pattern* form = find_form(to, ids)) {
        const bool jumps = form->early && to.cursor != to.read_early;
        if (!jumps || !to.forms.never_larger() ||
            jump_code_bytes + form_code_bytes + form->words * sizeof(T) <= bytes_of_whole(to)) {
          if (jumps) to.write_jump();
          if (form->merged & Pattern::special) see_special(to, *form);
          write_words(to, *form);
          return to.next++;
        }
      }
    }
    if (to.forms.leading() > 0)
      for (const Id id : ids)
        if (to.forms.is_early(id, to.next)) to.read_early = id;
    return write_whole(to);
  }

  std::size_t bytes_of_whole(const Recorder<T>& to) const {
    Id bits = 0;
    std::size_t operands = 0, slopes = 0;
    const auto add = [&](Id id) {
      bits |= id != 0 ? to.next - id : 0;
      operands += id != 0;
    };
    for (unsigned i = 0; i < units; ++i) add(unit_ids_[i]);
    for (unsigned i = 0; i < generals; ++i) add(ids_[i]), slopes += ids_[i] != 0;
    return 1 + operands * (bits < 256 ? 1 : bits < 65536 ? 2 : 4) + slopes * sizeof(T);
  }

  const Pattern* find_form(Recorder<T>& to, const Id* ids) const {
    Id kept[places];
    std::copy_n(unit_ids_, units, kept);
    std::copy_n(ids_, generals, kept + units);
    return to.forms.find({.shape = shape_of(units, generals),
                          .ids = ids,
                          .kept = kept,
                          .slopes = slopes_,
                          .bases = {.next = to.next, .cursor = to.read_early},
                          .near_limit = to.near_limit,
                          .first = to.forms_from,
                          .codes = to.codes,
                          .codes_end = to.codes_end});
  }

  [[gnu::always_inline]] Id write_whole(Recorder<T>& to) const {
    const Id next = to.next;
    Id bits = 0;
    each<units>([&](auto i)
                    __attribute__((always_inline)) { bits |= unit_ids_[i] != 0 ? next - unit_ids_[i] : 0; });
    each<generals>([&](auto i) __attribute__((always_inline)) { bits |= ids_[i] != 0 ? next - ids_[i] : 0; });
    T* slopes = to.partials;
    each<generals>([&](auto i) __attribute__((always_inline)) {
      *slopes = slopes_[i];
      slopes += ids_[i] != 0;
    });
    const auto general_count = static_cast<unsigned>(slopes - to.partials);
    if (bits < to.near_limit) [[likely]] {
      to.near_seen |= bits;
      if (bits < 256)
        write_code<std::uint8_t>(to, 0, general_count);
      else if (bits < 65536)
        write_code<std::uint16_t>(to, 1, general_count);
      else
        write_code<std::uint32_t>(to, 2, general_count);
    } else {
      const Operands copy = *this;
      copy.write_far(to, bits, general_count);
    }
    to.partials = slopes;
    to.next = next + 1;
    return next;
  }

  [[gnu::noinline]] void write_far(Recorder<T>& to, Id bits, unsigned general_count) const {
    for (unsigned i = 0; i < units; ++i)
      if (unit_ids_[i] != 0) to.see(to.next - unit_ids_[i]);
    for (unsigned i = 0; i < generals; ++i)
      if (ids_[i] != 0) to.see(to.next - ids_[i]);
    if (bits <= 0xffffffff)
      write_code<std::uint32_t>(to, 2, general_count);
    else
      write_code<std::uint64_t>(to, 3, general_count);
  }

  // From the last operand to the first, without branches: one that leaves no trace is written where the
  // next will be.
  template <class Delta>
  [[gnu::always_inline]] void write_code(Recorder<T>& to, unsigned width, unsigned general_count) const {
    const Id next = to.next;
    std::byte* at = to.codes;
    const auto write = [&](Id id) __attribute__((always_inline)) {
      const auto delta = static_cast<Delta>(next - id);
      std::memcpy(at - sizeof delta, &delta, sizeof delta);
      at -= id != 0 ? sizeof delta : 0;
    };
    each<generals>([&](auto i) __attribute__((always_inline)) { write(ids_[generals - 1 - i]); });
    const std::byte* const units_end = at;
    each<units>([&](auto i) __attribute__((always_inline)) { write(unit_ids_[units - 1 - i]); });
    const auto unit_count = static_cast<unsigned>(static_cast<std::size_t>(units_end - at) / sizeof(Delta));
    if (generals <= code::most_short && units <= code::most_units)
      *--at = code::head(width, unit_count, general_count);
    else
      at = write_head(at, width, unit_count, general_count);
    to.codes = at;
  }

  // Every place is written by the expression.
  Id unit_ids_[units + 1];
  Id ids_[generals + 1];
  T slopes_[generals + 1];
};

// The statement `expression`; returns its id, or 0 where nothing in it is active. x + 1 has the derivative
// of x: it is the same to a reversal, and takes no statement.
template <class T, class E>
[[gnu::always_inline]] inline Id record(Recorder<T>& recorder, const E& expression,
                                        const std::source_location& where) {
  constexpr unsigned units = E::unit_operands, generals = E::operands - E::unit_operands;
  static_assert(generals < code::counted && units < code::counted,
                "an expression of more than 254 variables: give a part of it a name of its own");
  Operands<T, units, generals> operands;
  expression.template push_one<0, 0>(operands);
  return operands.write(recorder, where);
}

}  // namespace tidemark::scalars
