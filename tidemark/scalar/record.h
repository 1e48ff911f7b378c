// How one statement is written down: what a Real costs while it is computed with.
//
// A statement is an expression that is given to a Real. It has an index, one above that of the statement
// before it; nothing says which, as the order of the recording does. A chunk of memory is filled from both
// ends: partial derivatives upwards, codes downwards, so that a reversal reads codes in the order of
// addresses. The code of a statement:
//
//   width of a delta     2 bits: 1, 2, 4 or 8 bytes
//   units                3 bits: operands whose partial derivative is 1, of which nothing else is kept
//   generals             3 bits: operands with a partial derivative; 7: two further bytes have both numbers,
//                        and if the first of them is 255, four more have that of the generals
//   a delta per operand  units first: how many statements before this one the operand was made
//
// No operands at all: an input. Long codes without generals are marks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <utility>

#include "tidemark/base/source.h"

namespace tidemark::scalars {

// What a Real knows of the tape: 0 is passive; else the number of the recording, and below it an index,
// from 1. So the difference of two ids of one recording is the distance of their statements, and that of
// two recordings is out of any range: who mixes them is found where distances are coded, at no cost.
using Id = std::uint64_t;
inline constexpr int index_bits = 44;
inline constexpr Id index_mask = (Id{1} << index_bits) - 1;
inline constexpr Id most_statements = Id{1} << (index_bits - 1);
constexpr Id index_of(Id id) { return id & index_mask; }

namespace code {
inline constexpr unsigned input = 0;
inline constexpr unsigned longer = 7;      // in place of the number of generals
inline constexpr unsigned most_short = 6;  // generals
inline constexpr unsigned most_units = 7;
inline constexpr unsigned counted = 255;  // in a long code: four bytes follow
inline constexpr std::size_t most_head = 7;
// In place of the units of a long code without generals. An event has as many statements as results behind
// it, which take no code; `nothing` is a statement of no operands that is no input.
enum Mark : std::uint8_t { nothing = 0, event = 1 };
constexpr std::byte head(unsigned width, unsigned units, unsigned generals) {
  return static_cast<std::byte>(width | (units << 2) | (generals << 5));
}
}  // namespace code

// The head of a code, which ends at `end`; returns where it begins.
inline std::byte* write_head(std::byte* end, unsigned width, unsigned units, unsigned generals) {
  if (generals <= code::most_short && units <= code::most_units) {
    *--end = code::head(width, units, generals);
    return end;
  }
  if (generals >= code::counted) {
    const std::uint32_t count = generals;
    end -= sizeof count;
    std::memcpy(end, &count, sizeof count);
  }
  *--end = static_cast<std::byte>(units);
  *--end = static_cast<std::byte>(generals < code::counted ? generals : code::counted);
  *--end = code::head(width, 0, code::longer);
  return end;
}

template <class T>
constexpr bool is_zero(const T& x) {
  return x == T(0);
}

// The end of a recording, where statements are written. What is rare is behind virtual calls.
template <class T>
class Recorder {
 public:
  virtual ~Recorder() = default;

  T* partials = nullptr;
  std::byte* codes = nullptr;
  std::ptrdiff_t slack = 0;  // that much room counts as none; large where every statement is to be looked at
  Id next = 0;               // of the next statement
  Id near_limit = 0;         // adjoints of operands less far away lie in a ring
  Id near_seen = 0;          // bits of all such distances

  std::ptrdiff_t room() const { return codes - reinterpret_cast<const std::byte*>(partials); }
  void require(std::size_t bytes, const std::source_location& where) {
    if (room() < static_cast<std::ptrdiff_t>(bytes) + slack) [[unlikely]]
      make_room(bytes, SourceLine(where));
  }

  // An operand of the statement that is being written; `delta` is its distance.
  void see(Id delta) {
    if (delta < near_limit)
      near_seen |= delta;
    else
      see_far(delta);
  }

  virtual void make_room(std::size_t bytes, const SourceLine& where) = 0;

 protected:
  // An operand that is far away, or none of this recording's.
  virtual void see_far(Id delta) = 0;
};

// The recording of this thread to which statements go; none: nothing is recorded.
template <class T>
inline constinit thread_local Recorder<T>* active_recorder = nullptr;

// f(0), f(1), …, with indices that are constants.
template <unsigned count, class F>
[[gnu::always_inline]] inline void each(F f) {
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<unsigned, i>()), ...);
  }
  (std::make_integer_sequence<unsigned, count>());
}

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

  // To be called once, before what follows.
  [[gnu::always_inline]] void merge() {
    if constexpr (units + generals <= most_compared) {
      each<generals>([&](auto i) __attribute__((always_inline)) {
        each<i>([&](auto j) __attribute__((always_inline)) {
          if (ids_[i] == ids_[j] && ids_[i] != 0) {
            slopes_[j] += slopes_[i];
            ids_[i] = 0;
          }
        });
      });
      each<units>([&](auto i) __attribute__((always_inline)) {
        each<generals>([&](auto j) __attribute__((always_inline)) {
          if (unit_ids_[i] == ids_[j] && ids_[j] != 0) {
            slopes_[j] += T(1);
            unit_ids_[i] = 0;
          }
        });
      });
    }
    each<generals>([&](auto i)
                       __attribute__((always_inline)) { ids_[i] = is_zero(slopes_[i]) ? 0 : ids_[i]; });
  }

  // Ids of all operands in one: 0 where there is none.
  [[gnu::always_inline]] Id any_general() const {
    Id any = 0;
    each<generals>([&](auto i) __attribute__((always_inline)) { any |= ids_[i]; });
    return any;
  }
  // Where at most one unit is there, its id or 0; else nothing.
  [[gnu::always_inline]] bool at_most_one_unit(Id& only) const {
    unsigned count = 0;
    only = 0;
    each<units>([&](auto i) __attribute__((always_inline)) {
      count += unit_ids_[i] != 0;
      only |= unit_ids_[i];
    });
    return count <= 1;
  }

  [[gnu::always_inline]] Id write(Recorder<T>& to) const {
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
    if (bits < 65536 && bits < to.near_limit) [[likely]] {
      to.near_seen |= bits;
      if (bits < 256)
        write_code<std::uint8_t>(to, 0, general_count);
      else
        write_code<std::uint16_t>(to, 1, general_count);
    } else {
      const Operands copy = *this;  // whose address may be taken, while this stays in registers
      copy.write_far(to, bits, general_count);
    }
    to.partials = slopes;
    to.next = next + 1;
    return next;
  }

 private:
  static constexpr unsigned most_compared = 8;  // each with each: long expressions would be much code

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

  Id unit_ids_[units + 1] = {};
  Id ids_[generals + 1] = {};
  T slopes_[generals + 1] = {};
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
  operands.merge();
  if (Id only; operands.any_general() == 0 && operands.at_most_one_unit(only)) return only;
  recorder.require((generals + 1) * sizeof(T) + (units + generals) * sizeof(Id) + code::most_head, where);
  return operands.write(recorder);
}

}  // namespace tidemark::scalars
