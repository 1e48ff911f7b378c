// The reverse sweep: walks a recording backwards and hands each statement's adjoint to its operands.
#pragma once
#include <span>
#include <type_traits>
#include <vector>

#include "tidemark/scalar/recording.h"
#include "tidemark/scalar/reverse_forms.h"

namespace tidemark::scalars {

// A: an adjoint, T itself or several side by side (pack.h).
template <class T, class A>
class Reversal {
 public:
  struct Ranges {
    Position<T> from, to;
    Id near_limit = 0, near_seen = 0;
  };

  // Before a sweep, or between sweeps: its memory. `far`: of all that is reversed before the next prepare.
  void prepare(const Recording<T>& recording, const FarBlocks& far, const Ranges& ranges) {
    adjoints_.prepare(ranges.near_seen, far, recording.forms->side_by_side());
    if (gradients_.size() < recording.inputs.size()) gradients_.resize(recording.inputs.size(), A{});
  }
  void prepare(const Recording<T>& recording, const Ranges& ranges) {
    prepare(recording, recording.far, ranges);
  }
  // Optional, before seeds: those near the end of the recording then lie in the ring at once.
  void open(const Ranges& ranges) { adjoints_.start(index_of(ranges.from.next) - 1, ranges.near_seen); }

  // Added to the adjoint of a statement before `top`, between sweeps.
  void seed(Id id, const A& amount) { adjoints_.at(index_of(id)) += amount; }

  // Afterwards adjoints of inputs between `to` and `from` are in gradients(), and those of statements
  // before `to` wait for a further sweep. `reverse_event(event, results, k)` is told of each event that
  // the sweep comes to, with k its index; it may call back add() and, after yield(), prepare() and other
  // sweeps.
  template <class ReverseEvent>
  void sweep(const Recording<T>& recording, const Ranges& ranges, ReverseEvent&& reverse_event) {
    sweep_open(recording, ranges, reverse_event);
    close(index_of(ranges.to.next));
  }
  // The same, and adjoints of statements before `to` can be taken until close().
  template <class ReverseEvent>
  void sweep_open(const Recording<T>& recording, const Ranges& ranges, ReverseEvent&& reverse_event);
  A take(Id index) { return adjoints_.take(index); }
  void close(Id index) {
    if (!adjoints_.idle()) adjoints_.leave(index);
  }

  void add(Id operand, Id, Id, const A& amount) { adjoints_.at(index_of(operand)) += amount; }
  void yield(Id at) { adjoints_.leave(at); }

  const std::vector<A>& gradients() const { return gradients_; }
  Adjoints<A>& adjoints() { return adjoints_; }
  std::size_t bytes() const { return adjoints_.bytes() + gradients_.capacity() * sizeof(A); }
  void clear() { adjoints_.clear(); }

 private:
  static bool is_near(const std::byte* deltas, unsigned operands, Id near_limit) {
    bool all = true;
    for (unsigned i = 0; i < operands; ++i) {
      std::uint32_t delta;
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      all &= delta < near_limit;
    }
    return all;
  }
  template <class Delta>
  static void spread(const std::byte* deltas, const T* slopes, unsigned units, unsigned generals, const A& a,
                     Id k, const AdjointPlaces<A>& places) {
    Delta delta;
    for (unsigned i = 0; i < units; ++i) {
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      places.ring[(k - delta) & places.mask] += a;
    }
    deltas += units * sizeof delta;
    for (unsigned i = 0; i < generals; ++i) {
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      places.ring[(k - delta) & places.mask] += slopes[i] * a;
    }
  }

  // Of whose operands some may be near.
  template <class Delta>
  void spread_far(const std::byte* deltas, const T* slopes, unsigned units, unsigned generals, const A& a,
                  Id k) {
    Delta delta;
    for (unsigned i = 0; i < units + generals; ++i) {
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      A& operand = adjoints_.at(k - delta);
      if (i < units)
        operand += a;
      else
        operand += slopes[i - units] * a;
    }
  }

  void spread_far(const Form& form, const T* words, const A& a, Id k, Id cursor) {
    for (unsigned i = 0; i < form.operands(); ++i)
      adjoints_.at(operand_of(form.keys[i], k, cursor)) += form.slope(i, words) * a;
  }

  Adjoints<A> adjoints_;
  std::vector<A> gradients_;  // by input
};

template <class T, class A>
template <class ReverseEvent>
void Reversal<T, A>::sweep_open(const Recording<T>& recording, const Ranges& ranges,
                                ReverseEvent&& reverse_event) {
  const auto& [from, to, near_limit, near_seen] = ranges;
  Id k = index_of(from.next);
  const Id last = index_of(to.next);
  Id cursor = index_of(from.cursor);
  if (k == last) return;
  const Form* const forms = recording.forms->table();
  std::size_t inputs = from.inputs, events = from.events;
  if (adjoints_.idle()) adjoints_.start(k - 1, near_seen);
  // What the adjoints say until they move, as they do at the statement `turn` and where events are reversed.
  AdjointPlaces<A> places;
  Id turn = 0;
  const auto look = [&](Id at) {
    using Early = typename AdjointPlaces<A>::Early;
    const Forms& known = *recording.forms;
    A* const early = known.side_by_side() > 0 ? adjoints_.early() : nullptr;
    places = {&adjoints_.near(0), early, adjoints_.mask(),
              adjoints_.low() <= known.early_begin() ? Early::in_ring
              : early                                ? Early::side_by_side
                                                     : Early::here_and_there};
    turn = (at & ~(adjoints_.stride() - 1)) - 1;
  };
  look(k - 1);

  for (std::size_t chunk = from.chunk;; --chunk) {
    const Chunk& memory = recording.chunks[chunk];
    const std::byte* c = chunk == from.chunk ? from.codes : memory.codes_begin;
    const std::byte* const end = chunk == to.chunk ? to.codes : memory.end();
    const T* p = chunk == from.chunk ? from.partials : reinterpret_cast<const T*>(memory.partials_end);
    while (c != end) {
      if (k - 1 == turn) {
        adjoints_.reach(k - 1);
        look(k - 1);
      }
      if constexpr (std::is_same_v<T, double>)
        if (is_form(*c)) {
          const Form& form = form_at(c, forms);
          if (places.have(form)) {
            Place<T> place{c, p, k, cursor};
            using Early = typename AdjointPlaces<A>::Early;
            if (places.early_ones == Early::side_by_side)
              reverse_forms<Early::side_by_side>(place, end, turn, forms, places);
            else
              reverse_forms<Early::in_ring>(place, end, turn, forms, places);
            c = place.codes, p = place.partials, k = place.index, cursor = place.cursor;
          } else if (is_jump(c)) {
            cursor -= static_cast<Id>(std::int64_t{jump_at(c)});
            c += jump_code_bytes;
          } else {
            c += form_code_bytes;
            p -= form.words;
            cursor -= static_cast<Id>(std::int64_t{form.step});
            if (const A a = adjoints_.take(--k); !is_zero(a)) spread_far(form, p, a, k, cursor);
          }
          continue;
        }
      --k;
      const unsigned head = static_cast<unsigned>(*c++);
      A& own = places.ring[k & places.mask];
      const A a = own;
      own = A{};
      unsigned units = code::units_of(head), generals = code::generals_of(head);
      if (generals == code::longer) [[unlikely]] {
        generals = static_cast<unsigned>(*c++);
        units = static_cast<unsigned>(*c++);
        if (generals == code::counted) {
          std::uint32_t count;
          std::memcpy(&count, c, sizeof count);
          c += sizeof count;
          generals = count;
        }
        if (generals == 0) {
          if (units == code::event) {
            const auto& event = recording.events[--events];
            own = a;
            std::vector<A> results(event.results);
            for (std::size_t i = event.results; i-- > 0; --k) results[i] = adjoints_.take(k);
            if (event.results > 0) adjoints_.reach(k);
            reverse_event(*event.event, std::span<const A>(results), k);
            if (adjoints_.idle()) adjoints_.start(k - 1, near_seen);
            look(k);
          }
          continue;
        }
      } else if (head == code::input) {
        gradients_[--inputs] = a;
        continue;
      }
      const unsigned width = code::width_of(head);
      p -= generals;
      if (!is_zero(a)) {
        switch (width) {
          case 0:
            spread<std::uint8_t>(c, p, units, generals, a, k, places);
            break;
          case 1:
            spread<std::uint16_t>(c, p, units, generals, a, k, places);
            break;
          case 2:
            if (is_near(c, units + generals, near_limit))
              spread<std::uint32_t>(c, p, units, generals, a, k, places);
            else
              spread_far<std::uint32_t>(c, p, units, generals, a, k);
            break;
          default:
            spread_far<std::uint64_t>(c, p, units, generals, a, k);
        }
      }
      c += std::size_t{units + generals} << width;
    }
    if (chunk == to.chunk) break;
  }
}

}  // namespace tidemark::scalars
