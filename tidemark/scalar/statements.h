// Reads a recording statement by statement, for those who want to know more of it than a reversal does:
// patterns, forward sweeps, preaccumulation, checks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tidemark/scalar/recording.h"
#include "tidemark/scalar/reverse_forms.h"

namespace tidemark::scalars {

template <class T>
struct Statement {
  // An event's results are the statements behind it, of which nothing else is said.
  enum class Kind : std::uint8_t { operation, input, event, nothing };

  Kind kind = Kind::operation;
  Id index = 0;
  Id cursor = 0;  // in front of it (forms.h)
  unsigned units = 0, generals = 0, width = 0;
  unsigned words = 0;          // how many partial derivatives are written
  const Form* form = nullptr;  // or none: then all of the generals' are
  const std::byte* deltas = nullptr;
  const T* slopes = nullptr;
  std::size_t number = 0;  // of an input or event: how many were made before it

  unsigned operands() const { return units + generals; }
  Id operand(unsigned i) const {
    if (form) return operand_of(form->keys[i], index, cursor);
    const std::byte* at = deltas + (std::size_t{i} << width);
    switch (width) {
      case 0:
        return index - read<std::uint8_t>(at);
      case 1:
        return index - read<std::uint16_t>(at);
      case 2:
        return index - read<std::uint32_t>(at);
      default:
        return index - read<std::uint64_t>(at);
    }
  }
  T slope(unsigned i) const {
    if constexpr (std::is_same_v<T, double>)
      if (form) return form->slope(i, slopes);
    return i < units ? T(1) : slopes[i - units];
  }

 private:
  template <class Delta>
  static Id read(const std::byte* at) {
    Delta delta;
    std::memcpy(&delta, at, sizeof delta);
    return delta;
  }
};

// A part of a recording, and all that is needed to read it.
template <class T>
struct RecordingView {
  const Recording<T>& recording;
  Position<T> from, to;  // from the last statement to the first
  Id near_limit = 0, near_seen = 0;

  Id first() const { return index_of(to.next); }
  Id end() const { return index_of(from.next); }
};

// Reads the code that begins at `c`, no jump; returns where it ends. Leaves out index, cursor, slopes and
// number.
template <class T>
const std::byte* read_code(const std::byte* c, const Forms& forms, Statement<T>& statement) {
  using Kind = typename Statement<T>::Kind;
  const auto head = static_cast<unsigned>(*c++);
  if (is_form(c[-1])) {
    statement.form = &form_at(c - 1, forms.table());
    statement.kind = Kind::operation;
    statement.units = 0;
    statement.generals = statement.form->operands();
    statement.words = statement.form->words;
    return c - 1 + form_code_bytes;
  }
  statement.form = nullptr;
  statement.width = code::width_of(head);
  statement.units = code::units_of(head);
  statement.generals = code::generals_of(head);
  statement.kind = head == code::input ? Kind::input : Kind::operation;
  if (statement.generals == code::longer) {
    statement.generals = static_cast<unsigned>(*c++);
    statement.units = static_cast<unsigned>(*c++);
    if (statement.generals == code::counted) {
      std::uint32_t count;
      std::memcpy(&count, c, sizeof count);
      c += sizeof count;
      statement.generals = count;
    }
    if (statement.generals == 0) {
      statement.kind = statement.units == code::event ? Kind::event : Kind::nothing;
      statement.units = 0;
    }
  }
  statement.words = statement.generals;
  statement.deltas = c;
  return c + (std::size_t{statement.operands()} << statement.width);
}

// The last statement first.
template <class T, class Visit>
void walk_back(const RecordingView<T>& view, Visit&& visit) {
  using Kind = typename Statement<T>::Kind;
  Statement<T> statement;
  Id k = view.end(), cursor = index_of(view.from.cursor);
  if (k == view.first()) return;
  std::size_t inputs = view.from.inputs, events = view.from.events;
  for (std::size_t chunk = view.from.chunk;; --chunk) {
    const Chunk& memory = view.recording.chunks[chunk];
    const std::byte* c = chunk == view.from.chunk ? view.from.codes : memory.codes_begin;
    const std::byte* const end = chunk == view.to.chunk && view.to.codes ? view.to.codes : memory.end();
    const T* p =
        chunk == view.from.chunk ? view.from.partials : reinterpret_cast<const T*>(memory.partials_end);
    while (c != end) {
      if (is_jump(c)) {
        cursor -= static_cast<Id>(std::int64_t{jump_at(c)});
        c += jump_code_bytes;
        continue;
      }
      c = read_code(c, *view.recording.forms, statement);
      if (statement.form) cursor -= static_cast<Id>(std::int64_t{statement.form->step});
      statement.cursor = cursor;
      --k;
      p -= statement.words;
      statement.slopes = p;
      if (statement.kind == Kind::input) statement.number = --inputs;
      if (statement.kind == Kind::event) {
        statement.number = --events;
        k -= view.recording.events[events].results;
      }
      statement.index = k;
      visit(statement);
    }
    if (chunk == view.to.chunk) break;
  }
}

// Codes in the chunk that has most of them, at a byte or more each.
template <class T>
std::size_t most_codes(const RecordingView<T>& view) {
  std::size_t most = 0;
  for (std::size_t chunk = 0; chunk <= view.from.chunk && view.end() != view.first(); ++chunk) {
    const Chunk& memory = view.recording.chunks[chunk];
    const std::byte* const begin = chunk == view.from.chunk ? view.from.codes : memory.codes_begin;
    most = std::max(most, static_cast<std::size_t>(memory.end() - begin));
  }
  return most;
}

// What walk_forward takes.
template <class T>
std::size_t forward_walk_bytes(const RecordingView<T>& view) {
  return most_codes(view) * sizeof(std::uint32_t);
}

// The first statement first: codes are read backwards for their places, a chunk at a time. Only whole
// recordings.
template <class T, class Visit>
void walk_forward(const RecordingView<T>& view, Visit&& visit) {
  using Kind = typename Statement<T>::Kind;
  Statement<T> statement;
  Id k = view.first(), cursor = k;
  if (k == view.end()) return;
  std::size_t inputs = 0, events = 0;
  std::vector<std::uint32_t> places;
  places.reserve(most_codes(view));
  for (std::size_t chunk = 0; chunk <= view.from.chunk; ++chunk) {
    const Chunk& memory = view.recording.chunks[chunk];
    const std::byte* const begin = chunk == view.from.chunk ? view.from.codes : memory.codes_begin;
    places.clear();
    for (const std::byte* c = begin; c != memory.end();) {
      places.push_back(static_cast<std::uint32_t>(c - begin));
      c = is_jump(c) ? c + jump_code_bytes : read_code(c, *view.recording.forms, statement);
    }
    const T* p = reinterpret_cast<const T*>(memory.begin);
    for (std::size_t i = places.size(); i-- > 0;) {
      const std::byte* const c = begin + places[i];
      if (is_jump(c)) {
        cursor += static_cast<Id>(std::int64_t{jump_at(c)});
        continue;
      }
      read_code(c, *view.recording.forms, statement);
      statement.cursor = cursor;
      if (statement.form) cursor += static_cast<Id>(std::int64_t{statement.form->step});
      statement.index = k++;
      statement.slopes = p;
      p += statement.words;
      if (statement.kind == Kind::input) statement.number = inputs++;
      if (statement.kind == Kind::event) {
        k += view.recording.events[events].results;
        statement.number = events++;
      }
      visit(statement);
    }
  }
}

}  // namespace tidemark::scalars
