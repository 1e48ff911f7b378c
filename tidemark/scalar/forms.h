// Forms: what statements have in common. Programs are loops, and a loop's statements read operands at the
// same distances, many with the same partial derivatives, over and over. What repeats is kept once, in a
// tape's table of forms, and a statement is the number of its form, two bytes, and those partial derivatives
// that vary.
//
// What was written once is written again, as a rule: so a recorder keeps a log of the latest forms and, where
// it has found its place in it, compares each statement with the one that the log has there. Where it is
// another, it asks the table, and goes on where the same few forms were found last time.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
// its constant, or it varies and is not equal to zero, or it is of no interest and not equal to NaN. Short
// statements read the first two cache lines.
struct alignas(64) Pattern {
  struct Place {
    Id relative = 0, offset = 0;  // the operand's id is that of the statement & relative, + offset
    bool operator==(const Place&) const = default;
  };
  struct Slopes {
    Two constants = {};
    TwoMasks equal = {};
  };
  static constexpr unsigned first_places = 3, first_slopes = 2;
  static constexpr std::uint8_t special = 128;
  static constexpr std::uint32_t beyond = std::uint32_t{1} << 31;

  std::uint8_t shape = 0;               // units and generals
  std::uint8_t words = 0;               // slopes that are written
  std::uint16_t code = 0;               // what is written in front of them
  std::uint32_t distances = 0;          // bits of all that lie in the ring; beyond: some operand is not in it
  std::uint8_t word[most_places] = {};  // where a general's slope is written; behind all of them: it is not
  // A bit for each place whose variable stands in another place, too. special: some operand is an early one or
  // beyond the ring. No form has both kinds.
  std::uint8_t merged = 0;
  Place places_in_front[first_places] = {};
  Slopes slopes_in_front[first_slopes] = {};
  Place further_places[most_places - first_places] = {};
  Slopes further_slopes[most_twos - first_slopes] = {};

  [[gnu::always_inline]] Place& place(unsigned i) {
    return i < first_places ? places_in_front[i] : further_places[i - first_places];
  }
  [[gnu::always_inline]] const Place& place(unsigned i) const {
    return i < first_places ? places_in_front[i] : further_places[i - first_places];
  }
  [[gnu::always_inline]] Slopes& slopes(unsigned two) {
    return two < first_slopes ? slopes_in_front[two] : further_slopes[two - first_slopes];
  }
  [[gnu::always_inline]] const Slopes& slopes(unsigned two) const {
    return two < first_slopes ? slopes_in_front[two] : further_slopes[two - first_slopes];
  }
};
static_assert(sizeof(Pattern) == 256);

// As a reader looks at it: operands alone, those of constant slopes first.
struct alignas(64) Form {
  enum class Where : std::uint8_t { near, near_or_early, anywhere };

  std::uint8_t constants = 0, words = 0;
  std::uint8_t kind = 0;      // of these and `where`: what a reversal is to do
  Where where = Where::near;  // all of its operands

  Key keys[most_places] = {};
  double slopes[most_places] = {};  // the constants'

  unsigned operands() const { return unsigned{constants} + words; }
  double slope(unsigned i, const double* written) const {
    return i < constants ? slopes[i] : written[i - constants];
  }
};

// Kinds of forms are what compilers make loops of: how many operands and words there are, and whether an operand
// may be an early one. What is far away is of none of them.
constexpr std::uint8_t kind_of(const Form& form) {
  return form.where == Form::Where::anywhere
             ? 0
             : static_cast<std::uint8_t>(unsigned{form.where == Form::Where::near_or_early} << 6 |
                                         form.operands() << 3 | form.words);
}

// Codes of forms: four bits that are set, which no other code begins with, and the number.
static_assert(std::endian::native == std::endian::little);
inline constexpr std::size_t form_code_bytes = 2;
constexpr std::uint16_t code_of(unsigned number) { return static_cast<std::uint16_t>(number << 4 | 15); }
constexpr bool is_form(std::byte first) { return (static_cast<unsigned>(first) & 15) == 15; }
constexpr std::uint16_t form_number(std::uint16_t code) { return static_cast<std::uint16_t>(code >> 4); }

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
  bool any() const { return any_; }

  const Form* table() const { return forms_.data(); }  // by number

  [[gnu::always_inline]] const Pattern& expected() const {
    const std::size_t code = log_data_[static_cast<std::uint16_t>(at_ - back_)];
    static_assert(sizeof(Pattern) == 16 << 4);
    return *reinterpret_cast<const Pattern*>(reinterpret_cast<const std::byte*>(patterns_data_) +
                                             ((code & 0xfff0) << 4));
  }
  [[gnu::always_inline]] void follow(std::uint16_t code) { log_data_[at_++] = code; }

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
  Id early() const { return early_; }  // all early operands of forms have indices below
  Id distances() const { return distances_; }  // bits of all distances of operands in the ring
  // Between recordings: ids begin at `origin`. Where there is no room for more, all of them go.
  void begin(Id origin);

 private:
  static constexpr unsigned probes = 4;
  static constexpr std::uint32_t many_misses = 256;

  const Pattern* look_up(const Shown& statement);
  void forget_all();
  const Pattern* add(const Pattern& pattern, const Shown& statement);
  Number number_of(const Pattern& pattern) const { return static_cast<Number>(&pattern - patterns_.data()); }
  void find_place(std::uint16_t code);

  std::uint32_t misses_ = 0;
  unsigned shift_ = 63;
  Id early_ = 0, distances_ = 0;
  Id origin_ = 0;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint16_t> log_;     // codes of the latest forms
  std::vector<std::uint16_t> places_;  // in the log, by the latest forms there
  std::vector<Pattern> patterns_;
  std::vector<Form> forms_;
  std::uint16_t at_ = 0, back_ = 0;  // where the log goes on, around its end, and how far back it is read
  std::uint16_t* log_data_ = nullptr;
  bool any_ = false;
  const Pattern* patterns_data_ = nullptr;
};

}  // namespace tidemark::scalars
