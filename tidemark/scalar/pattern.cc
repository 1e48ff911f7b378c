#include "tidemark/scalar/pattern.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tidemark/scalar/forward_sweep.h"

namespace tidemark::scalars {
namespace {

// A set as an adjoint or a tangent: sums are unions, and a slope leaves it as it is.
struct Bits {
  static constexpr std::size_t count = 256;
  std::array<std::uint64_t, count / 64> words{};

  void insert(std::size_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
  bool holds(std::size_t i) const { return (words[i / 64] >> (i % 64) & 1) != 0; }
  Bits& operator+=(const Bits& other) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
    return *this;
  }
  friend Bits operator*(double, const Bits& bits) { return bits; }
};
bool is_zero(const Bits& bits) {
  std::uint64_t any = 0;
  for (const std::uint64_t word : bits.words) any |= word;
  return any == 0;
}

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
  bool too_large() const { return members_.size() > most_ || begins_.size() > 0xfffffff0; }

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
  std::vector<std::int32_t> members_;
  std::vector<std::size_t> begins_ = {0, 0};
  std::vector<Known> cache_;
};

SparsePattern empty_pattern(std::size_t rows, std::size_t columns) {
  SparsePattern pattern;
  pattern.rows = rows;
  pattern.columns = columns;
  return pattern;
}

void append_row(SparsePattern& pattern, std::span<const std::int32_t> columns) {
  pattern.column_indices.insert(pattern.column_indices.end(), columns.begin(), columns.end());
  pattern.row_starts.push_back(static_cast<std::int64_t>(pattern.column_indices.size()));
}

// None: sets became so large that bits are better.
std::optional<SparsePattern> by_sets(const RecordingView<double>& view, std::span<const Real> results) {
  using Kind = Statement<double>::Kind;
  InputSets sets(16 * view.end() + (std::size_t{1} << 16));
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
  SparsePattern pattern = empty_pattern(results.size(), view.recording.inputs.size());
  for (const Real& result : results)
    append_row(pattern, sets[result.id() == 0 ? 0 : of[index_of(result.id())]]);
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
                                   std::span<const Real> results, BitOf&& bit) {
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
    tape.reverse_event(reversal, event, reached, k, SourceLine(), other);
  });
  return std::span(reversal.gradients()).first(view.recording.inputs.size());
}

SparsePattern by_reverse_bits(Tape& tape, std::span<const Real> results) {
  const std::size_t columns = tape.view().recording.inputs.size();
  SparsePattern pattern = empty_pattern(results.size(), columns);
  Reversal<double, Bits> reversal;
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t first = 0; first < results.size(); first += Bits::count) {
    const std::size_t count = std::min(Bits::count, results.size() - first);
    const auto reached =
        reverse_bits(tape, reversal, results.subspan(first, count), [](std::size_t i) { return i; });
    rows.assign(count, {});
    for (std::size_t j = 0; j < columns; ++j)
      if (!is_zero(reached[j]))
        for (std::size_t i = 0; i < count; ++i)
          if (reached[j].holds(i)) rows[i].push_back(static_cast<std::int32_t>(j));
    for (const auto& row : rows) append_row(pattern, row);
  }
  return pattern;
}

SparsePattern by_forward_bits(const RecordingView<double>& view, std::span<const Real> results) {
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
  SparsePattern pattern = empty_pattern(results.size(), columns);
  for (const auto& row : rows) append_row(pattern, row);
  return pattern;
}

}  // namespace

SparsePattern detect_pattern_by_bits(Tape& tape, std::span<const Real> results) {
  const RecordingView<double> view = tape.view();
  if (view.recording.events.empty() && view.recording.inputs.size() < results.size())
    return by_forward_bits(view, results);
  return by_reverse_bits(tape, results);
}

SparsePattern detect_pattern(Tape& tape, std::span<const Real> results) {
  const RecordingView<double> view = tape.view();
  if (view.recording.events.empty())
    if (std::optional<SparsePattern> pattern = by_sets(view, results)) return *std::move(pattern);
  return detect_pattern_by_bits(tape, results);
}

bool outside_pattern(Tape& tape, std::span<const Real> results, const SparsePattern& pattern) {
  const auto shadow = [](std::size_t row) {
    return static_cast<std::size_t>((row * 0x9e3779b97f4a7c15u) >> 56);
  };
  std::vector<Bits> expected(pattern.columns);
  for (std::size_t i = 0; i < pattern.rows; ++i)
    for (const std::int32_t column : pattern.row(i))
      expected[static_cast<std::size_t>(column)].insert(shadow(i));
  Reversal<double, Bits> reversal;
  const auto reached = reverse_bits(tape, reversal, results, shadow);
  for (std::size_t j = 0; j < expected.size(); ++j)
    for (std::size_t i = 0; i < expected[j].words.size(); ++i)
      if ((reached[j].words[i] & ~expected[j].words[i]) != 0) return true;
  return false;
}

}  // namespace tidemark::scalars
