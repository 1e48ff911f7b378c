// The reverse sweep: walks a recording backwards and hands each statement's adjoint to its operands.
#pragma once
#include <span>
#include <type_traits>
#include <vector>

#include "tidemark/scalar/recording.h"

namespace tidemark::scalar {

// A: an adjoint, T itself or several side by side (pack.h).
template <class T, class A>
class Reversal {
 public:
  struct Ranges {
    Position<T> from, to;
    Id near_limit = 0, near_seen = 0;
  };

  void prepare(const Recording<T>& recording, const Ranges& ranges) {
    adjoints_.prepare(ranges.near_seen, recording.far);
    if (gradients_.size() < recording.inputs.size()) gradients_.resize(recording.inputs.size(), A{});
  }

  // Added to the adjoint of a statement before `top`, between sweeps.
  void seed(Id id, const A& amount) { adjoints_.far(index_of(id)) += amount; }

  // Afterwards adjoints of inputs between `to` and `from` are in gradients(), and those of statements
  // before `to` wait for a further sweep. `reverse_event(event, results, k)` is told of each event that
  // the sweep comes to, with k its index; it may call back add() and, after yield(), other sweeps.
  template <class ReverseEvent>
  void sweep(const Recording<T>& recording, const Ranges& ranges, ReverseEvent&& reverse_event);

  void add(Id operand, Id at, Id near_limit, const A& amount) {
    const Id index = index_of(operand);
    if (at - index < near_limit)
      adjoints_.near(index) += amount;
    else
      adjoints_.far(index) += amount;
  }
  void yield(Id at) { adjoints_.leave(at); }
  void resume(Id at) {
    if (at > 1) adjoints_.enter(at - 1);
  }

  const std::vector<A>& gradients() const { return gradients_; }
  Adjoints<A>& adjoints() { return adjoints_; }
  std::size_t bytes() const {
    return adjoints_.bytes() + (gradients_.capacity() + captured_.capacity()) * sizeof(A);
  }
  void clear() {
    adjoints_.clear();
    captured_.clear();
  }

 private:
  template <class Delta>
  static void spread(const std::byte* deltas, const T* slopes, unsigned units, unsigned generals, const A& a,
                     Id k, A* ring, Id mask) {
    Delta delta;
    for (unsigned i = 0; i < units; ++i) {
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      ring[(k - delta) & mask] += a;
    }
    deltas += units * sizeof delta;
    for (unsigned i = 0; i < generals; ++i) {
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      ring[(k - delta) & mask] += slopes[i] * a;
    }
  }

  template <class Delta>
  void spread_far(const std::byte* deltas, const T* slopes, unsigned units, unsigned generals, const A& a,
                  Id k, Id near_limit) {
    Delta delta;
    for (unsigned i = 0; i < units + generals; ++i) {
      std::memcpy(&delta, deltas + i * sizeof delta, sizeof delta);
      A& operand = delta < near_limit ? adjoints_.near(k - delta) : adjoints_.far(k - delta);
      if (i < units)
        operand += a;
      else
        operand += slopes[i - units] * a;
    }
  }

  Adjoints<A> adjoints_;
  std::vector<A> gradients_;  // by input
  std::vector<A> captured_;   // the latest first
};

template <class T, class A>
template <class ReverseEvent>
void Reversal<T, A>::sweep(const Recording<T>& recording, const Ranges& ranges,
                           ReverseEvent&& reverse_event) {
  const auto& [from, to, near_limit, near_seen] = ranges;
  Id k = index_of(from.next);
  const Id last = index_of(to.next);
  if (k == last) return;
  std::size_t inputs = from.inputs, events = from.events;
  adjoints_.enter(k - 1);
  A* const ring = &adjoints_.near(0);
  const Id mask = adjoints_.mask();

  for (std::size_t chunk = from.chunk;; --chunk) {
    const Chunk& memory = recording.chunks[chunk];
    const std::byte* c = chunk == from.chunk ? from.codes : memory.codes_begin;
    const std::byte* const end = chunk == to.chunk ? to.codes : memory.end();
    const T* p = chunk == from.chunk ? from.partials : reinterpret_cast<const T*>(memory.partials_end);
    while (c != end) {
      --k;
      if ((k & (block_size - 1)) == block_size - 1) adjoints_.enter(k);
      const unsigned head = static_cast<unsigned>(*c++);
      const A a = ring[k & mask];
      ring[k & mask] = A{};
      unsigned units = (head >> 2) & 7, generals = head >> 5;
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
          if (units == code::capture) {
            captured_.push_back(a);
          } else {
            const auto& event = recording.events[--events];
            const std::size_t first = captured_.size() - event.results;
            std::reverse(captured_.begin() + static_cast<std::ptrdiff_t>(first), captured_.end());
            const std::vector<A> results(captured_.begin() + static_cast<std::ptrdiff_t>(first),
                                         captured_.end());
            captured_.resize(first);
            reverse_event(*event.event, std::span<const A>(results), k);
          }
          continue;
        }
      } else if (head == code::input) {
        gradients_[--inputs] = a;
        continue;
      }
      const unsigned width = head & 3;
      p -= generals;
      if (!is_zero(a)) {
        switch (width) {
          case 0:
            spread<std::uint8_t>(c, p, units, generals, a, k, ring, mask);
            break;
          case 1:
            spread<std::uint16_t>(c, p, units, generals, a, k, ring, mask);
            break;
          case 2:
            spread_far<std::uint32_t>(c, p, units, generals, a, k, near_limit);
            break;
          default:
            spread_far<std::uint64_t>(c, p, units, generals, a, k, near_limit);
        }
      }
      c += std::size_t{units + generals} << width;
    }
    if (chunk == to.chunk) break;
  }
  if (last > 1) adjoints_.leave(last);
}

}  // namespace tidemark::scalar
