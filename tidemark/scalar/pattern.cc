#include "tidemark/scalar/pattern.h"

#include <algorithm>
#include <optional>

#include "tidemark/scalar/bit_set.h"
#include "tidemark/scalar/forward_sweep.h"

namespace tidemark::scalars {
namespace {

// Sets of inputs, each stored once and found by its number; a union with a subset is the set itself.
class InputSets {
 public:
  using Set = std::uint32_t;
  static constexpr Set empty = 0;

  explicit InputSets(std::size_t most) : most_(most) { cache_.resize(std::size_t{1} << cache_bits); }

  std::span<const std::int32_t> operator[](Set set) const {
    return std::span(members_).subspan(begins_[set], begins_[set + 1] - begins_[set]);
  }
  Set single(std::int32_t input) {
    if (members_.size() >= most_) {
      too_large_ = true;
      return empty;
    }
    members_.push_back(input);
    return close();
  }
  Set unite(Set a, Set b) {
    if (a == b || b == empty) return a;
    if (a == empty) return b;
    if (a > b) std::swap(a, b);
    Known& known = cache_[(a * 0x9e3779b1u + b * 0x85ebca6bu) >> (32 - cache_bits)];
    if (known.a == a && known.b == b) return known.both;
    const auto in_a = (*this)[a], in_b = (*this)[b];
    const std::size_t begin = members_.size();
    if (begin + in_a.size() + in_b.size() > most_ || begins_.size() > 0xfffffff0) {
      too_large_ = true;
      return a;
    }
    members_.resize(begin + in_a.size() + in_b.size());
    const auto x = (*this)[a], y = (*this)[b];  // where they are now
    const auto end = std::set_union(x.begin(), x.end(), y.begin(), y.end(),
                                    members_.begin() + static_cast<std::ptrdiff_t>(begin));
    const auto size = static_cast<std::size_t>(end - members_.begin()) - begin;
    known = {a, b, 0};
    if (size == x.size() || size == y.size()) {
      known.both = size == x.size() ? a : b;
      members_.resize(begin);
    } else {
      members_.resize(begin + size);
      known.both = close();
    }
    return known.both;
  }
  bool too_large() const { return too_large_; }

  // Of `most` members: vectors that grow have a half more for a while, and each set one member at least.
  static std::size_t bytes(std::size_t most) {
    return 3 * most * (sizeof(std::int32_t) + sizeof(std::size_t)) + (sizeof(Known) << cache_bits);
  }

 private:
  static constexpr unsigned cache_bits = 12;
  struct Known {
    Set a = 0, b = 0, both = 0;
  };

  Set close() {
    begins_.push_back(members_.size());
    return static_cast<Set>(begins_.size() - 2);
  }

  std::size_t most_;
  bool too_large_ = false;
  std::vector<std::int32_t> members_;
  std::vector<std::size_t> begins_ = {0, 0};
  std::vector<Known> cache_;
};

constexpr const char* search = "the search for a pattern";

// None: sets became so large that bits are better, or more than there is room for.
std::optional<SparsePattern> by_sets(Tape& tape, std::span<const Real> results, const SourceLine& where) {
  using Kind = Statement<double>::Kind;
  const RecordingView<double> view = tape.view();
  const std::size_t fixed =
      view.end() * sizeof(InputSets::Set) + forward_walk_bytes(view) + InputSets::bytes(0);
  const std::size_t spare = tape.spare();
  if (spare <= fixed) return std::nullopt;
  const std::size_t most = std::min(16 * view.end() + (std::size_t{1} << 16),
                                    (spare - fixed) / (InputSets::bytes(1) - InputSets::bytes(0)));
  const auto loan = tape.lend(fixed + InputSets::bytes(most) - InputSets::bytes(0), search, where);
  InputSets sets(most);
  std::vector<InputSets::Set> of(view.end(), InputSets::empty);
  bool given_up = false;
  walk_forward(view, [&](const Statement<double>& statement) {
    if (given_up) return;
    InputSets::Set set = InputSets::empty;
    if (statement.kind == Kind::input)
      set = sets.single(static_cast<std::int32_t>(statement.number));
    else
      for (unsigned i = 0; i < statement.operands(); ++i) set = sets.unite(set, of[statement.operand(i)]);
    of[statement.index] = set;
    given_up = sets.too_large();
  });
  if (given_up) return std::nullopt;
  SparsePattern pattern(results.size(), view.recording.inputs.size());
  for (const Real& result : results)
    pattern.append_row(sets[result.id() == 0 ? 0 : of[index_of(result.id())]]);
  return pattern;
}

// The union of what reaches an event's results goes to each of its operands; which these are is seen from a
// reversal of it.
template <class Add>
void reverse_side_by_side(Event<double>& event, std::span<const Bits> results, Add&& add) {
  struct Sink final : AdjointSink<double> {
    Add& to;
    Bits all;
    explicit Sink(Add& f) : to(f) {}
    void add(Id operand, const double&) override { to(operand, all); }
  };
  Sink sink(add);
  for (const Bits& bits : results) sink.all += bits;
  if (!is_zero(sink.all)) event.reverse(std::vector<double>(results.size(), 1.0), sink);
}

// bit(i): which of the bits result i has.
template <class BitOf>
std::span<const Bits> reverse_bits(Tape& tape, Reversal<double, Bits>& reversal,
                                   std::span<const Real> results, const SourceLine& where, BitOf&& bit) {
  const auto paused = Tape::pause();
  const RecordingView<double> view = tape.view();
  const Reversal<double, Bits>::Ranges ranges{view.from, view.to, view.near_limit, view.near_seen};
  reversal.prepare(view.recording, ranges);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].id() == 0) continue;
    Bits bits;
    bits.insert(bit(i));
    reversal.seed(results[i].id(), bits);
  }
  const auto other = [&](Event<double>& event, std::span<const Bits> reached, Id) {
    reverse_side_by_side(event, reached, [&](Id operand, const Bits& amount) {
      if (operand != 0) reversal.seed(operand, amount);
    });
  };
  reversal.sweep(view.recording, ranges, [&](Event<double>& event, std::span<const Bits> reached, Id k) {
    tape.reverse_event(reversal, event, reached, k, where, other);
  });
  return std::span(reversal.gradients()).first(view.recording.inputs.size());
}

SparsePattern by_reverse_bits(Tape& tape, std::span<const Real> results, const SourceLine& where) {
  const auto loan = tape.lend(tape.sweep_bytes(sizeof(Bits)), search, where);
  const std::size_t columns = tape.view().recording.inputs.size();
  SparsePattern pattern(results.size(), columns);
  Reversal<double, Bits> reversal;
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t first = 0; first < results.size(); first += Bits::count) {
    const std::size_t count = std::min(Bits::count, results.size() - first);
    const auto reached =
        reverse_bits(tape, reversal, results.subspan(first, count), where, [](std::size_t i) { return i; });
    rows.assign(count, {});
    for (std::size_t j = 0; j < columns; ++j)
      if (!is_zero(reached[j]))
        for (std::size_t i = 0; i < count; ++i)
          if (reached[j].holds(i)) rows[i].push_back(static_cast<std::int32_t>(j));
    for (const auto& row : rows) pattern.append_row(row);
  }
  return pattern;
}

SparsePattern by_forward_bits(Tape& tape, std::span<const Real> results, const SourceLine& where) {
  const RecordingView<double> view = tape.view();
  const auto loan = tape.lend(forward_sweep_bytes<Bits>(view, results.size()), search, where);
  const std::size_t columns = view.recording.inputs.size();
  std::vector<std::vector<std::int32_t>> rows(results.size());
  for (std::size_t first = 0; first < columns; first += Bits::count) {
    const auto reached = forward_sweep<Bits>(
        view,
        [&](std::size_t number) {
          Bits bits;
          if (number >= first && number < first + Bits::count) bits.insert(number - first);
          return bits;
        },
        results);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!is_zero(reached[i]))
        for (std::size_t j = 0; j < Bits::count; ++j)
          if (reached[i].holds(j)) rows[i].push_back(static_cast<std::int32_t>(first + j));
  }
  SparsePattern pattern(results.size(), columns);
  for (const auto& row : rows) pattern.append_row(row);
  return pattern;
}

}  // namespace

SparsePattern detect_pattern_by_bits(Tape& tape, std::span<const Real> results, SourceLine where) {
  const RecordingView<double> view = tape.view();
  if (view.recording.events.empty() && view.recording.inputs.size() < results.size() &&
      forward_sweep_bytes<Bits>(view, results.size()) <= tape.spare())
    return by_forward_bits(tape, results, where);
  return by_reverse_bits(tape, results, where);
}

SparsePattern detect_pattern(Tape& tape, std::span<const Real> results, SourceLine where) {
  if (tape.view().recording.events.empty())
    if (std::optional<SparsePattern> pattern = by_sets(tape, results, where)) return *std::move(pattern);
  return detect_pattern_by_bits(tape, results, where);
}

bool outside_pattern(Tape& tape, std::span<const Real> results, const SparsePattern& pattern,
                     const SourceLine& where) {
  const auto loan = tape.lend(tape.sweep_bytes(sizeof(Bits)) + pattern.columns * sizeof(Bits),
                              "the comparison of a pattern", where);
  const auto shadow = [](std::size_t row) {
    return static_cast<std::size_t>((row * 0x9e3779b97f4a7c15u) >> 56);
  };
  std::vector<Bits> expected(pattern.columns);
  for (std::size_t i = 0; i < pattern.rows; ++i)
    for (const std::int32_t column : pattern.row(i))
      expected[static_cast<std::size_t>(column)].insert(shadow(i));
  Reversal<double, Bits> reversal;
  const auto reached = reverse_bits(tape, reversal, results, where, shadow);
  for (std::size_t j = 0; j < expected.size(); ++j)
    for (std::size_t i = 0; i < expected[j].words.size(); ++i)
      if ((reached[j].words[i] & ~expected[j].words[i]) != 0) return true;
  return false;
}

}  // namespace tidemark::scalars
