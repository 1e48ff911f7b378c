#include "tidemark/scalar/forms.h"

#include <algorithm>
#include <limits>

namespace tidemark::scalars {

namespace {

constexpr std::size_t alike = 8;  // bytes behind a code that was not expected, by which its place is found

// A slot: a form's number, or when (the epoch) and how often a statement without one was seen; and bits of
// its hash.
constexpr std::uint32_t number_mask = 0xfff, seen_mask = 0xfff00000;
constexpr int epoch_at = 12, times_at = 16;
static_assert(Forms::most == number_mask + 1);
constexpr std::uint32_t most_times = 15;
// What is early is worth a form where a loop reads it, not where each is read a few times.
constexpr std::uint32_t times_of_early = 12, times_of_others = 2;

unsigned units_of(std::uint8_t shape) { return shape >> 4; }
unsigned generals_of(std::uint8_t shape) { return shape & 15; }
unsigned places_of(std::uint8_t shape) { return units_of(shape) + generals_of(shape); }

// What the general's slope is compared with, and whether it is to be equal.
void compare(Pattern& pattern, unsigned general, double with, bool equal) {
  Pattern::Slopes& slopes = pattern.slopes[general / 2];
  slopes.constants[general % 2] = with;
  slopes.equal[general % 2] = equal ? -1 : 0;
}
bool is_constant(const Pattern& pattern, unsigned general) {
  return pattern.slopes[general / 2].equal[general % 2] != 0;
}
double constant(const Pattern& pattern, unsigned general) {
  return pattern.slopes[general / 2].constants[general % 2];
}

// Slopes that are not what they were vary from now on.
Pattern more_general(const Pattern& before, const Shown& statement) {
  Pattern pattern = before;
  const unsigned units = units_of(pattern.shape), generals = generals_of(pattern.shape);
  pattern.words = 0;
  for (unsigned i = 0; i < generals; ++i) {
    if (is_constant(pattern, i) && statement.slopes[i] != constant(pattern, i)) compare(pattern, i, 0, false);
    pattern.word[i] = pattern.words;
    pattern.words += statement.kept[units + i] != 0 && !is_constant(pattern, i);
  }
  for (unsigned i = 0; i < generals && i < most_places; ++i)
    if (statement.kept[units + i] == 0 || is_constant(pattern, i)) pattern.word[i] = pattern.words;
  return pattern;
}

Key key_of(Pattern::Base base, Id offset) {
  return base == Pattern::Base::cursor ? key_of_step(static_cast<std::int64_t>(offset))
                                       : static_cast<Key>(-offset);
}

Form as_read(const Pattern& pattern, const Shown& statement) {
  Form form;
  const unsigned units = units_of(pattern.shape);
  for (const bool varying : {false, true}) {
    for (unsigned i = 0; i < places_of(pattern.shape); ++i) {
      if (statement.kept[i] == 0 || (i >= units && !is_constant(pattern, i - units)) != varying) continue;
      form.keys[form.operands()] = key_of(pattern.bases[i], pattern.offset(i));
      form.slopes[form.operands()] = i < units ? 1.0 : constant(pattern, i - units);
      ++(varying ? form.words : form.constants);
    }
  }
  form.step = pattern.step;
  if (!(pattern.distances & Pattern::beyond)) form.kind = kind_of(form.operands(), form.words, pattern.early);
  return form;
}

}  // namespace

void Forms::allow(std::size_t count, bool bounded) {
  if (any() || count == 0) return;
  const std::size_t slots = slots_of_one * count;
  shift_ = static_cast<unsigned>(64 - std::countr_zero(slots));
  slots_.resize(slots + probes - 1);
  places_.resize(slots);
  forms_.reserve(count);  // memory that is not touched is not there; and readers know where they lie
  if (bounded) patterns_.reserve(count);
  forget_all();
  // Last: where there was no memory for one of these there are no forms.
  most_ = count;
  never_larger_ = bounded;
  any_ = true;
}

const Pattern* Forms::add(const Pattern& pattern, const Shown& statement) {
  const std::size_t number = forms_.size();
  if (number == most_) return nullptr;
  if (number == patterns_.size()) hold_patterns(2 * number);
  patterns_[number] = pattern;
  patterns_[number].code = code_of(static_cast<unsigned>(number));
  distances_ |= pattern.distances & ~Pattern::beyond;
  if (pattern.early) span_ = std::max(span_, pattern.span);
  set_leading(leading());
  forms_.push_back(as_read(pattern, statement));
  return &patterns_[number];
}

void Forms::set_early(const Early& early) {
  origin_ = early.origin;
  early_ = 2 * early.leading;
  far_from_early_ = early.far;
  behind_early_ = origin_ + early_;
  // Where a form's early operands are farther apart than there are early statements, none is of use.
  named_until_ = static_cast<std::int64_t>(early_) > span_ ? far_from_early_ : 0;
}

void Forms::hold_patterns(std::size_t count) {
  patterns_.resize(count);
  patterns_data_ = patterns_.data();
  pattern_mask_ = (count - 1) * sizeof(Pattern);
}

// Its slopes are thought constant.
Pattern Forms::constant_pattern(const Shown& statement) const {
  Pattern pattern;
  pattern.shape = statement.shape;
  const unsigned units = units_of(statement.shape);
  for (unsigned i = 0; i < 2 * most_twos; ++i)
    compare(pattern, i, std::numeric_limits<double>::quiet_NaN(), false);
  for (unsigned i = 0; i < places_of(statement.shape); ++i) {
    const Id id = statement.ids[i];
    const Pattern::Base base = pattern.bases[i] = base_of(id, statement.bases.next);
    pattern.offset(i) = id - pattern.expected(i, statement.bases);
    if (base != Pattern::Base::next) pattern.merged |= Pattern::special;
    if (base == Pattern::Base::cursor) {
      const auto offset = static_cast<std::int64_t>(pattern.offset(i));
      const std::int64_t lowest = pattern.early ? std::min(pattern.lowest, offset) : offset;
      const std::int64_t highest = pattern.early ? std::max(pattern.lowest + pattern.span, offset) : offset;
      pattern.lowest = lowest;
      pattern.span = highest - lowest;
      pattern.step = static_cast<std::int32_t>(offset);
      pattern.early = true;
    }
    if (statement.kept[i] == 0) {
      if (id != 0) pattern.merged |= static_cast<std::uint8_t>(1u << i);
      continue;
    }
    if (i >= units) compare(pattern, i - units, statement.slopes[i - units], true);
    if (base != Pattern::Base::next) continue;
    const Id distance = statement.bases.next - id;
    if (distance >= statement.near_limit) {
      pattern.merged |= Pattern::special;
      pattern.distances |= Pattern::beyond;
    } else {
      pattern.distances |= static_cast<std::uint32_t>(distance);
      if (distance >= close) pattern.not_close |= static_cast<std::uint32_t>(distance);
    }
  }
  return pattern;
}

const Pattern* Forms::look_up(const Shown& statement) {
  std::uint64_t hash = statement.shape;
  bool of_early = false, beyond = false;
  Pattern read;  // what it says of operands
  const unsigned count = places_of(statement.shape);
  for (unsigned i = 0; i < count; ++i) {
    const Pattern::Base base = read.bases[i] = base_of(statement.ids[i], statement.bases.next);
    const Id offset = read.offset(i) = statement.ids[i] - read.expected(i, statement.bases);
    if (base == Pattern::Base::next && (-offset >= early_key || statement.ids[i] < statement.first))
      return nullptr;
    of_early = of_early || base == Pattern::Base::cursor;
    beyond = beyond || (base == Pattern::Base::next && -offset >= statement.near_limit);
    hash = (hash ^ (base == Pattern::Base::none ? 0 : key_of(base, offset))) * 0x9e3779b97f4a7c15u;
  }
  if (of_early && (beyond || statement.bases.next >= far_from_early_)) return nullptr;
  std::uint32_t* const first = &slots_[hash >> shift_];
  std::uint32_t* free = nullptr;
  const auto seen = static_cast<std::uint32_t>(hash >> 16) & seen_mask;
  const Pattern* found = nullptr;
  for (std::uint32_t* slot = first; slot < first + probes && !found; ++slot) {
    const auto number = static_cast<Number>(*slot & number_mask);
    if (number == 0) {
      // Its own, else one that nobody has, else another's.
      const auto rank = [&](std::uint32_t at) { return (at & seen_mask) == seen ? 2 : at == 0 ? 1 : 0; };
      if (!free || rank(*slot) > rank(*free)) free = slot;
      continue;
    }
    const Pattern& pattern = patterns_[number];
    bool same = pattern.shape == statement.shape;
    for (unsigned i = 0; i < count; ++i)
      same = same && read.bases[i] == pattern.bases[i] && read.offset(i) == pattern.offset(i);
    if (!same) continue;
    bool holds = true;
    for (unsigned i = 0; i < generals_of(statement.shape); ++i)
      holds = holds && (!is_constant(pattern, i) || statement.slopes[i] == constant(pattern, i));
    found = holds ? &pattern : add(more_general(pattern, statement), statement);
    if (!found) return nullptr;
    *slot = (*slot & ~number_mask) | number_of(*found);
  }
  if (!found) {
    if (!free) return nullptr;
    const bool again = (*free & seen_mask) == seen && (*free >> epoch_at & 15) == epoch_;
    const std::uint32_t times = again ? (*free >> times_at & most_times) + 1 : 1;
    *free = seen | times << times_at | epoch_ << epoch_at;
    if (times < (of_early ? times_of_early : times_of_others)) return nullptr;
    found = add(constant_pattern(statement), statement);
    if (!found) {
      *free = seen;
      return nullptr;
    }
    *free |= number_of(*found);
  }
  find_place(found->code, statement);
  return found;
}

// `code` was not expected, and is written next.
void Forms::find_place(std::uint16_t code, const Shown& statement) {
  const auto written = static_cast<std::size_t>(statement.codes_end - statement.codes);
  std::uint64_t hash = 0;
  if (written >= alike) std::memcpy(&hash, statement.codes, alike);
  hash = (hash * 0x9e3779b97f4a7c15u ^ code) * 0x9e3779b97f4a7c15u;
  std::uint32_t& place = places_[hash >> shift_];
  // One that is of another chunk, or of what was forgotten, may be behind all that is written.
  ahead_ = place < written ? static_cast<std::ptrdiff_t>(written - place) : 0;
  place = static_cast<std::uint32_t>(written + form_code_bytes);
}

std::size_t Forms::bytes() const {
  return slots_.capacity() * sizeof(slots_[0]) + places_.capacity() * sizeof(places_[0]) +
         patterns_.capacity() * (sizeof(Pattern) + sizeof(Form));
}

void Forms::begin(Id origin) {
  if (any() && forms_.size() == most_) forget_all();
  set_early({.origin = origin});
}

void Forms::forget_all() {
  std::fill(slots_.begin(), slots_.end(), 0);
  patterns_.clear();
  hold_patterns(least);
  forms_.assign(1, {});
  distances_ = 0;
  span_ = -1;
}

}  // namespace tidemark::scalars
