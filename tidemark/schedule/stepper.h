// What a simulation brings to be reversed: steps, and states that can be kept. Nothing of it need be a tensor.
#pragma once
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

struct Steps {  // half open
  Step begin = 0, end = 0;
};

// Advance leaves nothing behind but the state; record takes one step and returns what its reverse needs; reverse takes
// the adjoint of the state after the step to the adjoint of the state before it. advance and record give the same bits.
template <class S, class State, class Adjoint>
concept Stepper = requires(S& stepper, State& state, Adjoint& adjoint, Steps range, Step i) {
  stepper.advance(state, range);
  stepper.reverse(stepper.record(state, i), adjoint, i);
};

template <class S, class State>
using RecordOf = decltype(std::declval<S&>().record(std::declval<State&>(), Step{}));

// How a state becomes bytes and back. The size may change from state to state but not between a save and its load.
// Specialise it, or give the type members `size() const`, `save(std::span<std::byte>) const` and
// `load(std::span<const std::byte>)`.
template <class T>
struct Snapshot {
  static std::size_t size(const T& value) { return value.size(); }
  static void save(const T& value, std::span<std::byte> to) { value.save(to); }
  static void load(T& value, std::span<const std::byte> from) { value.load(from); }
};

template <class T>
concept Snapshotter = requires(const T& value, T& out, std::span<std::byte> to,
                               std::span<const std::byte> from) {
  { Snapshot<T>::size(value) } -> std::convertible_to<std::size_t>;
  Snapshot<T>::save(value, to);
  Snapshot<T>::load(out, from);
};

}  // namespace tidemark::schedule
