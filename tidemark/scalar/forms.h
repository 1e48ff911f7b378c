// Forms: what statements have in common. Programs are loops, and a loop's statements read operands at the
// same distances, many with the same partial derivatives, over and over. What repeats is kept once, in a
// tape's table of forms, and a statement is the number of its form, two bytes, and those partial derivatives
// that vary.
//
// What was written once is written again, as a rule: so a recorder compares each statement with the form
// whose code stands a certain distance behind the place of the next one, and goes on with the code in front
// of it. Where it is another, it asks the table, and goes on behind the same few bytes as last time. A chunk
// that an earlier recording has filled says what is expected by itself: what is about to be written over.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "tidemark/scalar/ids.h"

namespace tidemark::scalars {

// Where an operand lies: the distance of its statement, or this bit and, of the early ones, how far it is
// behind the early operand that was read last, the cursor. Early are inputs in front of all statements and
// as many statements behind them: a program's parameters, a simulation's first state, and what is made of
// them. Who goes over them in some order takes the same steps again and again.
using Key = std::uint32_t;
inline constexpr Key early_key = Key{1} << 31;
// Steps between early operands have a bit less than a key.
inline constexpr Id most_leading = early_key / 4;
constexpr Key key_of_step(std::int64_t step) { return (static_cast<Key>(step) & ~early_key) | early_key; }
[[gnu::always_inline]] constexpr std::int64_t step_of(Key key) {
  return static_cast<std::int32_t>(key << 1) >> 1;
}

// The index of an operand of statement `index`, or of the one that is so far behind the cursor.
[[gnu::always_inline]] constexpr Id operand_of(Key key, Id index, Id cursor) {
  return key & early_key ? cursor + static_cast<Id>(step_of(key)) : index - key;
}

inline constexpr unsigned most_places = 7;

// Two numbers that are compared at once, and what comes of it: bits that are all set where they are equal.
using Two = double __attribute__((vector_size(16)));
using TwoMasks = std::int64_t __attribute__((vector_size(16)));
[[gnu::always_inline]] inline bool any(TwoMasks masks) {
#ifdef __SSE2__
  return __builtin_ia32_movmskpd(reinterpret_cast<Two>(masks)) != 0;
#else
  return (masks[0] | masks[1]) != 0;
#endif
}
inline constexpr unsigned most_twos = (most_places + 1) / 2;

// To what an operand's id is compared, by bytes from the first on.
struct Bases {
  Id next = 0;    // of the statement that is written next
  Id cursor = 0;  // the early operand that was read last, as a reader of the codes knows
  Id none = 0;    // of passive operands
};
static_assert(sizeof(Bases) == 3 * sizeof(Id));

// A form as a recorder compares with it: place by place, the operands of an expression in their order, those
// of slope 1 first. Operands that leave no trace have places, too. Of the generals, by twos: a slope equals
// its constant, or it varies and is not equal to zero, or it is of no interest, as what stands behind the
// last one, and not equal to NaN. Short statements read the first two cache lines.
struct alignas(64) Pattern {
  struct Slopes {
    Two constants = {};
    TwoMasks equal = {};
  };
  enum class Base : std::uint8_t {
    next = offsetof(Bases, next),
    cursor = offsetof(Bases, cursor),
    none = offsetof(Bases, none)
  };
  static constexpr unsigned places_in_front = 6;
  static constexpr std::uint8_t special = 128;
  static constexpr std::uint32_t beyond = std::uint32_t{1} << 31;

  std::uint8_t shape = 0;               // units and generals
  std::uint8_t words = 0;               // slopes that are written
  std::uint16_t code = 0;               // what is written in front of them
  std::uint32_t distances = 0;          // bits of all that lie in the ring; beyond: some operand is not in it
  std::uint8_t word[most_places] = {};  // where a general's slope is written; behind all of them: it is not
  // A bit for each place whose variable stands in another place, too. special: some operand is no near one.
  // None has early operands and such beyond the ring.
  std::uint8_t merged = 0;
  Id offsets_in_front[places_in_front] = {};
  Slopes slopes[most_twos] = {};
  // What only special ones need.
  Id last_offset = 0;
  Base bases[most_places] = {};  // to which offsets are added
  bool early = false;
  std::uint32_t not_close = 0;        // bits of distances of near operands, but of those that are close
  std::int32_t step = 0;              // of the cursor: from one early operand that was read last to the next
  std::int64_t lowest = 0, span = 0;  // of the early operands' offsets: the least, and up to the largest

  [[gnu::always_inline]] Id expected(unsigned place, const Bases& from) const {
    Id base;
    std::memcpy(&base, reinterpret_cast<const std::byte*>(&from) + static_cast<std::size_t>(bases[place]),
                sizeof base);
    return base + offset(place);
  }
  // Of a place's operand: its id less its base.
  [[gnu::always_inline]] Id& offset(unsigned place) {
    return place < places_in_front ? offsets_in_front[place] : last_offset;
  }
  [[gnu::always_inline]] Id offset(unsigned place) const {
    return place < places_in_front ? offsets_in_front[place] : last_offset;
  }
};
static_assert(sizeof(Pattern) == 256 && most_places == Pattern::places_in_front + 1);

// As a reader looks at it: operands alone, those of constant slopes first.
struct alignas(64) Form {
  std::uint8_t constants = 0, words = 0;
  std::uint8_t kind = 0;

  Key keys[most_places] = {};
  double slopes[most_places] = {};  // the constants'
  std::int32_t step = 0;            // of the cursor

  unsigned operands() const { return unsigned{constants} + words; }
  double slope(unsigned i, const double* written) const {
    return i < constants ? slopes[i] : written[i - constants];
  }
};

// Kinds of forms are what compilers make loops of: how many operands and words there are, and whether an
// operand may be an early one. 0 is none: operands beyond the ring are looked at one by one.
inline constexpr unsigned early_kinds = 64;  // from here on
constexpr std::uint8_t kind_of(unsigned operands, unsigned words, bool early) {
  return static_cast<std::uint8_t>((early ? early_kinds : 0) | operands << 3 | words);
}

// Codes of forms: four bits that are set, which no other code begins with, and the number.
static_assert(std::endian::native == std::endian::little);
inline constexpr std::size_t form_code_bytes = 2;
constexpr std::uint16_t code_of(unsigned number) { return static_cast<std::uint16_t>(number << 4 | 15); }
constexpr bool is_form(std::byte first) { return (static_cast<unsigned>(first) & 15) == 15; }
constexpr std::uint16_t form_number(std::uint16_t code) { return static_cast<std::uint16_t>(code >> 4); }

// Form number 0, which none has, and four bytes: how far the cursor had moved when nothing said so. It is no
// statement.
inline constexpr std::size_t jump_code_bytes = 6;
inline std::int32_t jump_at(const std::byte* codes) {
  std::int32_t jump;
  std::memcpy(&jump, codes + form_code_bytes, sizeof jump);
  return jump;
}
inline bool is_jump(const std::byte* codes) {
  std::uint16_t code;
  std::memcpy(&code, codes, sizeof code);
  return code == code_of(0);
}

constexpr std::uint8_t shape_of(unsigned units, unsigned generals) {
  return static_cast<std::uint8_t>(units << 4 | generals);
}

// A statement that is being written. `ids` are of all places, `kept` 0 for those that leave no trace, which
// depends on ids alone; slopes are of the generals.
struct Shown {
  std::uint8_t shape = 0;
  const Id *ids = nullptr, *kept = nullptr;
  const double* slopes = nullptr;
  Bases bases;  // `next` is its own
  Id near_limit = 0;
  Id first = 0;                                            // older operands have no forms
  const std::byte *codes = nullptr, *codes_end = nullptr;  // of its chunk
};

class Forms {
 public:
  using Number = std::uint16_t;  // 0: none
  static constexpr std::size_t most = 4096;
  static constexpr Id close = 64;  // of temporaries, whose distances repeat wherever they are

  // None before: up to so many of them. `bounded`: all of their memory is taken at once, and no statement
  // takes more with a form than without.
  void allow(std::size_t count = most, bool bounded = false);
  bool any() const { return any_; }
  bool never_larger() const { return never_larger_; }
  // While it lives, statements are written without. It begins where codes go on elsewhere, so that nothing is
  // known of what is expected.
  class Pause {
   public:
    explicit Pause(Forms& forms) : forms_(forms), any_(std::exchange(forms.any_, false)) {}
    ~Pause() { forms_.any_ = any_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Forms& forms_;
    bool any_;
  };
  // How many there are to be within a memory: a sixteenth of it; few are none.
  static constexpr std::size_t count_within(std::size_t memory) {
    const std::size_t count = std::bit_floor(memory / 16 / bytes_of_one);
    return count < least ? 0 : std::min(count, most);
  }
  // What tables of so many take.
  static constexpr std::size_t bytes_of(std::size_t count) {
    return count == 0 ? 0 : count * bytes_of_one + (probes - 1) * sizeof(std::uint32_t);
  }

  const Form* table() const { return forms_.data(); }  // by number

  // What is expected in front of `codes`. Whatever the bytes there say, it is a pattern: it may be that of
  // none.
  [[gnu::always_inline]] const Pattern& expected(const std::byte* codes) const {
    std::uint16_t code;
    std::memcpy(&code, codes + ahead_, sizeof code);
    static_assert(sizeof(Pattern) == 16 << 4);
    return *reinterpret_cast<const Pattern*>(reinterpret_cast<const std::byte*>(patterns_data_) +
                                             (std::size_t{code} << 4 & pattern_mask_));
  }
  // Codes go on elsewhere: over bytes that were `written` before, or else behind such.
  void go_on(bool written) { ahead_ = written ? -static_cast<std::ptrdiff_t>(form_code_bytes) : 0; }

  // Where most statements that were looked for had none, most are not asked about.
  bool ask() { return patience_ > 0 || (++unasked_ & 15) == 0; }
  // The form of such a statement, or null. A statement gets one when it is seen again, and a more general one
  // when its slopes vary.
  const Pattern* find(const Shown& statement) {
    const Pattern* const found = look_up(statement);
    patience_ = found ? std::min(patience_ + worth_of_one, most_patience) : std::max(patience_ - 1, 0);
    return found;
  }
  // Steps run again, each with distances that return in the next one alone: they are no loop.
  void begin_step() { epoch_ = (epoch_ + 1) & 15; }

  std::size_t bytes() const;
  Id distances() const { return distances_; }  // bits of all distances of operands in the ring
  // Between recordings: ids begin at `origin`. Where there is no room for more, all of them go.
  void begin(Id origin);

  // Early statements: as many as there are inputs in front of all others, and as many behind them; or, where
  // a step runs again, such of its state, from `origin` on.
  struct Early {
    Id origin = 0, leading = 0;
    Id far = ~Id{0};  // from this statement on none has a form that names them
  };
  void set_early(const Early& early);
  void set_leading(Id inputs) { set_early({origin_, inputs, far_from_early_}); }
  Early early() const { return {origin_, early_ / 2, far_from_early_}; }
  Id leading() const { return early_ / 2; }
  // What is close to its statement goes by its distance, early or not.
  [[gnu::always_inline]] bool is_early(Id id, Id next) const {
    return id - origin_ < early_ && next - id >= close;
  }
  // All steps of the form from this cursor lead to early statements, and none of its near operands is one of
  // them: a variable that stands in a statement twice is one operand.
  [[gnu::always_inline]] bool separate(const Pattern& form, const Bases& bases) const {
    const Id first = bases.cursor - origin_ + static_cast<Id>(form.lowest);
    const Id last = first + static_cast<Id>(form.span);
    return bases.next < named_until_ && first < early_ - static_cast<Id>(form.span) &&
           bases.next - origin_ - last >= close &&
           (form.not_close == 0 || bases.next - form.not_close >= behind_early_);
  }
  Id early_begin() const { return index_of(origin_); }
  // How many adjoints lie side by side for early statements, by index: none where these are a step's.
  Id side_by_side() const { return span_ >= 0 && early_ > 0 && early_begin() == 1 ? early_ + 1 : 0; }

 private:
  static constexpr std::size_t least = 64;
  static constexpr unsigned probes = 4, slots_of_one = 4;
  static constexpr std::size_t bytes_of_one =
      sizeof(Pattern) + sizeof(Form) + 2 * slots_of_one * sizeof(std::uint32_t);
  static constexpr std::int32_t most_patience = 256, worth_of_one = 4;

  const Pattern* look_up(const Shown& statement);
  void forget_all();
  const Pattern* add(const Pattern& pattern, const Shown& statement);
  Pattern constant_pattern(const Shown& statement) const;
  Pattern::Base base_of(Id id, Id next) const {
    return id == 0 ? Pattern::Base::none : is_early(id, next) ? Pattern::Base::cursor : Pattern::Base::next;
  }
  Number number_of(const Pattern& pattern) const { return static_cast<Number>(&pattern - patterns_.data()); }
  void find_place(std::uint16_t code, const Shown& statement);
  void hold_patterns(std::size_t count);

  // What every statement reads comes first.
  const Pattern* patterns_data_ = nullptr;
  std::size_t pattern_mask_ = 0;  // bits of patterns' distances from the first, in bytes
  std::ptrdiff_t ahead_ = 0;      // from codes to the expected one, in bytes
  std::int32_t patience_ = most_patience;
  std::uint32_t unasked_ = 0, epoch_ = 0;
  unsigned shift_ = 63;
  Id early_ = 0, origin_ = 0, distances_ = 0;
  Id behind_early_ = 0;         // the first statement that is not early
  Id far_from_early_ = ~Id{0};  // Early::far
  Id named_until_ = 0;          // the same, or 0: none of use
  std::int64_t span_ = -1;      // the largest of forms with early operands; none: -1
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> places_;  // of codes, from a chunk's end on, by the bytes behind them
  std::vector<Pattern> patterns_;      // by number; a power of two, those behind the forms' match nothing
  std::vector<Form> forms_;
  std::size_t most_ = 0;
  bool any_ = false, never_larger_ = false;
};

}  // namespace tidemark::scalars
