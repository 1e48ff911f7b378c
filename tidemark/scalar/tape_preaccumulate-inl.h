// BasicTape: rows of partial derivatives in place of statements. A part of a program that computes few
// results from few values, in many statements, leaves no more behind than the partial derivatives of the
// one by the other, which are had by reversing the part at once, while it is in the cache.
#pragma once
#include <algorithm>
#include <tuple>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

// visit(real) for each variable of what a function returned.
template <class T, class Visit>
void each_real(BasicReal<T>& real, Visit&& visit) {
  visit(real);
}
template <class T, class Range, class Visit>
requires(!is_real<Range>) && requires(Range& range) { range.begin() != range.end(); }
void each_real(Range& range, Visit&& visit) {
  for (auto& item : range) each_real<T>(item, visit);
}
template <class T, class... Items, class Visit>
void each_real(std::tuple<Items...>& items, Visit&& visit) {
  std::apply([&](auto&... item) { (each_real<T>(item, visit), ...); }, items);
}
template <class T, class First, class Second, class Visit>
void each_real(std::pair<First, Second>& items, Visit&& visit) {
  each_real<T>(items.first, visit);
  each_real<T>(items.second, visit);
}

// Of one scope. `positions` has for each of its operands that was made outside, the last one first, which of
// `outside` it is.
struct PreaccumulatedScope {
  std::vector<Id> outside;
  std::vector<std::uint32_t> positions;
  std::size_t statement_bytes = 0;
};

template <class T>
template <class F>
auto BasicTape<T>::preaccumulate(F&& fn, SourceLine where) {
  static_assert(!std::is_void_v<decltype(fn())>,
                "what is preaccumulated returns its results: a td::Real, or a range or tuple of them");
  const Mark before = mark();
  const std::size_t loops = loops_run_;
  if constexpr (Node<decltype(fn())>) {
    Real result = fn();
    Real* const results[] = {&result};
    if (loops_run_ == loops) replace_by_rows(before, results, where);
    return result;
  } else {
    auto results = fn();
    std::vector<Real*> reals;
    each_real<T>(results, [&](Real& real) { reals.push_back(&real); });
    if (loops_run_ == loops) replace_by_rows(before, reals, where);
    return results;
  }
}

template <class T>
void BasicTape<T>::replace_by_rows(const Mark& before, std::span<Real* const> results,
                                   const SourceLine& where) {
  // Events and inputs stay what they are, and so do loops of steps, which are events within a memory alone.
  // A step whose size is being learned may have lost its beginning.
  if (active() != this || learning_ || this->next <= before.next) return;
  if (target_->inputs.size() != before.inputs || target_->events.size() != before.events) return;
  const Id first = index_of(before.next), count = index_of(this->next) - first;
  const RecordingView<T> scope{*target_, mark(), before, this->near_limit, reach()};

  std::vector<Id> made;  // results that the scope made
  for (const Real* result : results)
    if (result->id() >= before.next) {
      if (result->id() >= this->next) check_own(*result, "a result", where);
      made.push_back(index_of(result->id()));
    }
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());

  PreaccumulatedScope read;
  std::size_t from_outside = 0;
  walk_back(scope, [&](const Statement<T>& statement) {
    read.statement_bytes += 1;
    for (unsigned i = 0; i < statement.operands(); ++i) {
      read.statement_bytes += 2 + (is_zero(statement.slope(i) - T(1)) ? 0 : sizeof(T));
      from_outside += statement.operand(i) < first;
    }
  });
  // Whether a step has rows or statements depends on nothing but the step: its bits are the same in every
  // memory, and where there is no room for rows there is none for the step.
  const auto have_room = [&](std::size_t bytes) {
    if (depth_ > 0) require_fit(bytes, where);
    return fits(bytes) || release(bytes);
  };
  const std::size_t operand_bytes = from_outside * (2 * sizeof(Id) + sizeof(std::uint32_t));
  if (!have_room(operand_bytes)) return;
  std::vector<Id> operands;
  operands.reserve(from_outside);
  walk_back(scope, [&](const Statement<T>& statement) {
    for (unsigned i = 0; i < statement.operands(); ++i)
      if (const Id operand = statement.operand(i); operand < first) operands.push_back(operand);
  });
  read.outside = operands;
  std::sort(read.outside.begin(), read.outside.end());
  read.outside.erase(std::unique(read.outside.begin(), read.outside.end()), read.outside.end());
  const std::size_t entries = made.size() * read.outside.size();
  // Rows that are worth it are no larger than the statements; sparse ones may have some room for zeros.
  if (entries * sizeof(T) > 4 * read.statement_bytes) return;
  const std::size_t lanes = made.size() == 1 ? 1 : made.size() <= 4 ? 4 : made.size() <= 8 ? 8 : 16;
  if (!have_room((count + read.outside.size()) * lanes * sizeof(T) + entries * sizeof(T) + operand_bytes))
    return;
  read.positions.reserve(operands.size());
  for (const Id operand : operands)
    read.positions.push_back(static_cast<std::uint32_t>(
        std::lower_bound(read.outside.begin(), read.outside.end(), operand) - read.outside.begin()));

  DenseMatrix<T> rows(made.size(), read.outside.size());
  if (lanes == 1)
    rows_of_scope<1>(scope, read, made, 0, rows);
  else
    for (std::size_t group = 0; group < made.size(); group += most_lanes)
      with_lanes(made.size() - group,
                 [&](auto width) { this->template rows_of_scope<width()>(scope, read, made, group, rows); });

  // Sizes of statements without forms, two bytes for each distance: so steps that run again choose alike.
  std::size_t row_bytes = 0;
  for (const T& entry : rows.values)
    if (!is_zero(entry)) row_bytes += 2 + sizeof(T);
  if (row_bytes + 2 * made.size() >= read.statement_bytes) return;

  const Id recording = before.next & ~index_mask;
  rewind(before, where);
  std::vector<Id> ids, replaced(made.size());
  std::vector<T> slopes;
  for (std::size_t i = 0; i < made.size(); ++i) {
    ids.clear();
    slopes.clear();
    for (std::size_t j = 0; j < read.outside.size(); ++j)
      if (!is_zero(rows(i, j))) {
        ids.push_back(recording | read.outside[j]);
        slopes.push_back(rows(i, j));
      }
    replaced[i] = write_row(ids, slopes, where);
  }
  for (Real* result : results)
    if (result->id() >= before.next) {
      const auto at = std::lower_bound(made.begin(), made.end(), index_of(result->id()));
      *result = Real(result->value(), replaced[static_cast<std::size_t>(at - made.begin())]);
    }
}

// Rows of up to `lanes` results, from made[group] on.
template <class T>
template <unsigned lanes>
void BasicTape<T>::rows_of_scope(const RecordingView<T>& scope, const PreaccumulatedScope& read,
                                 std::span<const Id> made, std::size_t group, DenseMatrix<T>& rows) {
  const Id first = scope.first();
  const std::size_t count = std::min<std::size_t>(lanes, made.size() - group);
  std::vector<Pack<T, lanes>> adjoints(scope.end() - first), outside(read.outside.size());
  for (std::size_t i = 0; i < count; ++i) adjoints[made[group + i] - first][i] = T(1);
  std::size_t position = 0;
  walk_back(scope, [&](const Statement<T>& statement) {
    const Pack<T, lanes> a = adjoints[statement.index - first];
    const bool live = !is_zero(a);
    for (unsigned i = 0; i < statement.operands(); ++i) {
      const Id operand = statement.operand(i);
      auto& to = operand < first ? outside[read.positions[position++]] : adjoints[operand - first];
      if (!live) continue;
      if (i < statement.units)
        to += a;
      else
        to += statement.slope(i) * a;
    }
  });
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < outside.size(); ++j) rows(group + i, j) = outside[j][i];
}

template <class T>
auto BasicTape<T>::statement(const T& value, std::span<const Real> operands, std::span<const T> slopes,
                             SourceLine where) -> Real {
  if (operands.size() != slopes.size())
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("a statement of {} operands with {} partial derivatives", operands.size(),
                              slopes.size()),
          .expected = "as many of the one as of the other",
          .where = where});
  if (!active_recorder<T> && within_ + calls_back_ > 0) return Real(value, unrecorded_id<T>);
  std::vector<Id> ids;
  std::vector<T> kept;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].id() == 0 || is_zero(slopes[i])) continue;
    check_own(operands[i], "an operand", where);
    ids.push_back(operands[i].id());
    kept.push_back(slopes[i]);
  }
  return Real(value, write_row(ids, kept, where));
}

// Operands whose partial derivative is 1 go in front, as far as a head can count them; a head without
// others is short, so that it is no mark.
template <class T>
Id BasicTape<T>::write_row(std::span<const Id> ids, std::span<const T> slopes, const SourceLine& where) {
  const auto is_one = [](const T& slope) { return is_zero(slope - T(1)); };
  if (ids.empty()) return 0;
  if (ids.size() == 1 && is_one(slopes[0])) return ids[0];
  require(ids.size() * (sizeof(Id) + sizeof(T)) + code::most_head + sizeof(T), where);
  const auto ones = static_cast<std::size_t>(std::count_if(slopes.begin(), slopes.end(), is_one));
  const std::size_t most_units = ids.size() == ones ? code::most_units : code::counted;
  const std::size_t units = std::min(ones, most_units), generals = ids.size() - units;
  Id bits = 0;
  for (const Id id : ids) {
    bits |= this->next - id;
    this->see(this->next - id);
  }
  const unsigned width = bits >= this->near_limit || bits > 0xffff ? (bits <= 0xffffffff ? 2 : 3)
                         : bits > 0xff                             ? 1
                                                                   : 0;
  std::byte* const deltas = this->codes - (ids.size() << width);
  this->codes = write_head(deltas, width, static_cast<unsigned>(units), static_cast<unsigned>(generals));
  std::size_t unit = 0, general = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Id delta = this->next - ids[i];
    const bool is_unit = unit < units && is_one(slopes[i]);
    const std::size_t place = is_unit ? unit++ : units + general++;
    if (!is_unit) *this->partials++ = slopes[i];
    std::memcpy(deltas + (place << width), &delta, std::size_t{1} << width);  // the low bytes come first
  }
  return this->next++;
}

}  // namespace tidemark::scalars
