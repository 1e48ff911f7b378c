// How one statement is written down: what a Real costs while it is computed with.
//
// A statement is an expression that is given to a Real. It has an index, one above that of the statement
// before it; nothing says which, as the order of the recording does. A chunk of memory is filled from both
// ends: partial derivatives upwards, codes downwards, so that a reversal reads codes in the order of
// addresses. The code of a statement:
//
//   generals             3 bits: operands with a partial derivative; 7: two further bytes have both numbers,
//                        and if the first of them is 255, four more have that of the generals
//   units                3 bits: operands whose partial derivative is 1, of which nothing else is kept
//   width of a delta     2 bits: 1, 2, 4 or 8 bytes
//   a delta per operand  units first: how many statements before this one the operand was made
//
// No operands at all: an input. Long codes without generals are marks. A head whose lower four bits are set
// begins the number of a form (forms.h), which says the rest, or a jump, which is no statement.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <utility>

#include "tidemark/base/source.h"
#include "tidemark/scalar/far_blocks.h"
#include "tidemark/scalar/forms.h"

namespace tidemark::scalars {

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
  return static_cast<std::byte>(generals | (units << 3) | (width << 6));
}
constexpr unsigned generals_of(unsigned head) { return head & 7; }
constexpr unsigned units_of(unsigned head) { return (head >> 3) & 7; }
constexpr unsigned width_of(unsigned head) { return head >> 6; }
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
class Recorder : public Bases {
 public:
  virtual ~Recorder() = default;

  // Not side by side with codes: compilers would move both at once, through a vector, which takes longer.
  T* partials = nullptr;
  std::ptrdiff_t slack = 0;  // that much room counts as none; large where every statement is to be looked at
  std::byte* codes = nullptr;
  // While codes are not below it there is room for one more statement with a form. Nothing is known where
  // they have just gone on elsewhere, nor where there are no forms.
  const std::byte* forms_floor = nothing_known();
  Forms forms;
  const std::byte* codes_end = nullptr;  // of the chunk
  Id near_limit = 0;                     // adjoints of operands less far away lie in a ring
  Id near_seen = 0;                      // bits of all such distances, but for those that forms have
  Id origin = 0;                         // the first statement's id
  Id read_early = 0;  // the early operand that was read last, which is the cursor from write_jump on
  FarBlocks* far = nullptr;
  Id forms_from = 0;  // operands made before have distances that no other statement repeats

  std::ptrdiff_t room() const { return codes - reinterpret_cast<const std::byte*>(partials); }
  bool expects_form() const { return codes >= forms_floor; }
  // Codes go on elsewhere, over bytes that were `written` before or not.
  void go_on(bool written) {
    forms.go_on(written);
    forms_floor = nothing_known();
  }
  // In front of whatever is written otherwise, of so many bytes at most.
  template <class Line>
  void require(std::size_t bytes, const Line& where) {
    const std::ptrdiff_t left = room() - static_cast<std::ptrdiff_t>(bytes) - slack;
    const std::ptrdiff_t count = left / most_with_form;
    forms_floor = count > 0 && forms.any()
                      ? codes - static_cast<std::ptrdiff_t>(form_code_bytes) * (count - 1)
                      : nothing_known();
    if (left < 0) [[unlikely]]
      make_room(bytes, SourceLine(where));
  }

  // There is room for it beside a statement with a form.
  void write_jump() {
    const auto jump = static_cast<std::int32_t>(read_early - cursor);
    const std::uint16_t code = code_of(0);
    codes -= jump_code_bytes;
    std::memcpy(codes, &code, sizeof code);
    std::memcpy(codes + sizeof code, &jump, sizeof jump);
    cursor = read_early;
  }

  // An operand of the statement that is being written; `delta` is its distance.
  void see(Id delta) {
    if (delta < near_limit)
      near_seen |= delta;
    else if (!far->holds((index_of(next) - delta) >> block_bits))
      see_far(delta);
  }

  virtual void make_room(std::size_t bytes, const SourceLine& where) = 0;

 protected:
  // An operand that is far away, or none of this recording's.
  virtual void see_far(Id delta) = 0;

 private:
  // Bytes that a statement with a form may touch, and one slope behind them.
  static constexpr std::ptrdiff_t most_with_form = 128;
  static_assert(most_with_form >= form_code_bytes + (most_places + 1) * sizeof(T) ||
                !std::is_same_v<T, double>);
  static const std::byte* nothing_known() { return reinterpret_cast<const std::byte*>(~std::uintptr_t{0}); }
};

// The recording of this thread to which statements go; none: nothing is recorded.
template <class T>
inline constinit thread_local Recorder<T>* active_recorder = nullptr;

// Of Reals that a step of a tape makes while it runs without being recorded: no statement is theirs, and a
// recording refuses them, since the step should have put them into its state.
inline constexpr Id within_step = ~Id{0};
// Of Reals that were computed from variables where no tape was active at all, as on another thread: their
// derivatives are lost, which is an error where a tape meets them.
inline constexpr Id without_tape = within_step - 1;
// What Reals have for an id where nothing is recorded: 0 where that is meant, within_step, or without_tape,
// which only what is computed from variables gets.
template <class T>
inline constinit thread_local Id unrecorded_id = without_tape;
// Of a result that is not recorded, of operands with these ids.
template <class T>
[[gnu::always_inline]] inline Id id_unrecorded(Id ids) {
  const Id id = unrecorded_id<T>;
  if (id == without_tape) [[unlikely]]
    return ids == 0 ? 0 : id;
  return id;
}

}  // namespace tidemark::scalars
