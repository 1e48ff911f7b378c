// What a simulation brings to be reversed: steps, and states that can be kept. Nothing of it need be a
// tensor.
#pragma once
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "tidemark/schedule/action.h"
#include "tidemark/schedule/run/step_log.h"
#include "tidemark/schedule/store/snapshot.h"

namespace tidemark::schedule {

struct Steps {  // half open
  Step begin = 0, end = 0;
};

// Advance leaves nothing behind but the state; record takes one step and returns what its reverse needs;
// reverse takes the adjoint of the state after the step to the adjoint of the state before it. advance and
// record give the same bits, and one call of advance over a range the same as several over its parts.
template <class S, class State, class Adjoint>
concept PlainStepper = requires(S& stepper, State& state, Adjoint& adjoint, Steps range, Step i) {
  stepper.advance(state, range);
  stepper.reverse(stepper.record(state, i), adjoint, i);
};

// The same for steps that decide something (a step size, a random seed) which a replay must not decide again:
// they take a StepLog and ask it.
template <class S, class State, class Adjoint>
concept LoggingStepper = requires(S& stepper, State& state, Adjoint& adjoint, Steps range, Step i,
                                  StepLog& log) {
  stepper.advance(state, range, log);
  stepper.reverse(stepper.record(state, i, log), adjoint, i);
};

template <class S, class State, class Adjoint>
concept Stepper = PlainStepper<S, State, Adjoint> || LoggingStepper<S, State, Adjoint>;

// Optional: called once, with the state after the last step, before the first reverse. For an adjoint that
// starts from the final state.
template <class S, class State, class Adjoint>
concept SeedsAdjoint = requires(S& stepper, const State& state, Adjoint& adjoint) {
  stepper.seed(state, adjoint);
};

// Optional: for steps that are the same to a tolerance only, as with a solver that has threads of its own.
// `summary` says what is to be compared of a state (norms, a few values, the state itself) and is kept for
// every step; `deviation` says how far two of them are apart, 0 being the same. RunOptions::tolerance is what
// is allowed.
template <class S, class State>
using Summary = std::remove_cvref_t<decltype(std::declval<S&>().summary(std::declval<const State&>()))>;
template <class S, class State>
concept ComparesReplays = requires(S& stepper, const Summary<S, State>& first) {
  { stepper.deviation(first, first) } -> std::convertible_to<double>;
  requires std::is_trivially_copyable_v<Summary<S, State>>;
};

namespace detail {
template <class S, class State>
auto record_of(S& stepper, State& state, Step i, StepLog& log) {
  if constexpr (requires { stepper.record(state, i, log); })
    return stepper.record(state, i, log);
  else
    return stepper.record(state, i);
}
}  // namespace detail

template <class S, class State>
using RecordOf =
    decltype(detail::record_of(std::declval<S&>(), std::declval<State&>(), Step{}, std::declval<StepLog&>()));

}  // namespace tidemark::schedule
