// Forms: what statements have in common. Programs are loops, and a loop's statements read operands at the
// same distances, many with the same partial derivatives, over and over. What repeats is kept once, in a
// tape's table of forms, and a statement is the number of its form, two bytes, and those partial derivatives
// that vary.
//
// After the same statements the same one comes next, as a rule: so a recorder compares with the form that the
// latest dozen of forms had behind them last time, and asks the table where it is another.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tidemark/scalar/ids.h"

namespace tidemark::scalars {

// Where an operand lies: the distance of its statement, or, of the early ones, inputs in front of all
// statements and as many statements behind them, their number and this bit. These are a program's parameters
// and what is made of them.
using Key = std::uint32_t;
inline constexpr Key early_key = Key{1} << 31;

// The index of an operand of statement `index`.
constexpr Id operand_of(Key key, Id index) {
  return key & early_key ? (key & ~early_key) + Id{1} : index - key;
}

inline constexpr unsigned most_places = 7;

// Two numbers that are compared at once, and what comes of it: bits that are all set where they are equal.
using Two = double __attribute__((vector_size(16)));
using TwoMasks = std::int64_t __attribute__((vector_size(16)));
inline constexpr unsigned most_twos = (most_places + 1) / 2;

// A form as a recorder compares with it: place by place, the operands of an expression in their order, those
// of slope 1 first. Operands that leave no trace have places, too. Of the generals, by twos: a slope equals
// its constant, or it varies and is not equal to zero, or it is of no interest and not equal to NaN.
struct alignas(64) Pattern {
  struct Place {
    Id relative = 0, offset = 0;  // the operand's id is that of the statement & relative, + offset
    bool operator==(const Place&) const = default;
  };

  Place places[most_places] = {};
  std::uint8_t shape = 0;               // units and generals
  std::uint8_t words = 0;               // slopes that are written
  std::uint16_t code = 0;               // what is written in front of them
  std::uint32_t distances = 0;          // bits of all, but of early operands
  std::uint8_t word[most_places] = {};  // where a general's slope is written; behind all of them: it is not
  std::uint8_t merged : 7 = 0;          // a bit for each place whose variable stands in another place, too
  std::uint8_t far : 1 = 0;             // some operand is an early one or beyond the ring
  Two constants[most_twos] = {};
  TwoMasks equal[most_twos] = {};
};
static_assert(sizeof(Pattern) == 256);

// As a reader looks at it: operands alone, those of constant slopes first.
struct Form {
  std::uint8_t constants = 0, operands = 0;
  bool far = false;

  Key keys[most_places] = {};
  double slopes[most_places] = {};  // the constants'

  unsigned words() const { return unsigned{operands} - constants; }
  double slope(unsigned i, const double* written) const {
    return i < constants ? slopes[i] : written[i - constants];
  }
};

// Codes of forms: a byte whose upper bits are all set, and one more.
inline constexpr unsigned form_head = 0xf0;
constexpr std::uint16_t code_of(unsigned number) {
  const unsigned first = form_head | (number & 15), second = number >> 4;
  return static_cast<std::uint16_t>(std::endian::native == std::endian::little ? first | second << 8
                                                                               : first << 8 | second);
}
constexpr std::uint16_t form_number(unsigned head, std::byte behind) {
  return static_cast<std::uint16_t>((head & 15) | static_cast<unsigned>(behind) << 4);
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
  Id next = 0;   // its own
  Id early = 0;  // how many of its recording are early
  Id near_limit = 0;
};

class Forms {
 public:
  using Number = std::uint16_t;  // 0: none
  static constexpr std::size_t most = 4096;

  // None before. Where memory is limited there are none: steps that run again rarely repeat distances.
  void allow();
  bool any() const { return !slots_.empty(); }

  const Form& operator[](Number number) const { return forms_[number]; }

  [[gnu::always_inline]] const Pattern& expected() const { return patterns_data_[expected_data_[place()]]; }
  [[gnu::always_inline]] void follow(std::uint16_t code) { history_ = history_ << 5 ^ code; }

  // Where many statements in a row had none, most are not asked about.
  bool ask() { return misses_ < many_misses || (++misses_ & 15) == 0; }
  // The form of such a statement, or null. A statement gets one when it is seen again, and a more general one
  // when its slopes vary.
  const Pattern* find(const Shown& statement) {
    const Pattern* const found = look_up(statement);
    misses_ = found ? 0 : misses_ + 1;
    return found;
  }

  std::size_t bytes() const;
  // Between recordings: ids begin at `origin`. Where there is no room for more, all of them go.
  void begin(Id origin);

 private:
  static constexpr unsigned probes = 4;
  static constexpr std::uint32_t many_misses = 256;

  const Pattern* look_up(const Shown& statement);
  void forget_all();
  const Pattern* add(const Pattern& pattern, const Shown& statement);
  Number number_of(const Pattern& pattern) const { return static_cast<Number>(&pattern - patterns_.data()); }
  std::size_t place() const { return (history_ * 0x9e3779b97f4a7c15u) >> shift_; }

  static constexpr Number none_expected[2] = {};
  static const Pattern no_pattern;  // that no statement has

  std::uint32_t misses_ = 0;
  unsigned shift_ = 63;
  Id origin_ = 0, history_ = 0;  // numbers of the latest forms
  std::vector<std::uint32_t> slots_;
  std::vector<Number> expected_;  // by history
  std::vector<Pattern> patterns_;
  std::vector<Form> forms_;
  const Number* expected_data_ = none_expected;
  const Pattern* patterns_data_ = &no_pattern;
};

}  // namespace tidemark::scalars
