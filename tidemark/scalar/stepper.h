// A simulation for schedule::run whose `record` and `reverse` write themselves: all that is given is a step,
// a function of Reals that takes the state to the next one in place.
//
//   auto heat = td::scalars::stepper([](std::span<td::Real> u, std::span<const td::Real> p, std::int64_t i) {
//     …
//   }, parameters);
//   std::vector<double> u = initial, adjoint = heat.adjoint(slopes_of_the_final_state);
//   td::schedule::run(heat, u, adjoint, steps, {.levels = {{.bytes = 64_MiB}, {.directory = "/scratch"}}});
//   heat.of_state(adjoint);       // the gradient by the initial state
//   heat.of_parameters(adjoint);
//
// The gradient by parameters is the tail of the adjoint, so that it is in the journal of a run that is killed
// and resumed.
#pragma once
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "tidemark/scalar/tape.h"
#include "tidemark/schedule/stepper.h"

namespace tidemark::scalars {

template <class F>
class RecordedStepper {
  static constexpr bool takes_parameters =
      std::is_invocable_v<const F&, std::span<Real>, std::span<const Real>, std::int64_t>;
  static_assert(takes_parameters || std::is_invocable_v<const F&, std::span<Real>, std::int64_t>,
                "a step is called as step(std::span<Real> state, std::span<const Real> parameters, "
                "std::int64_t i), or without the parameters");

 public:
  using State = std::vector<double>;
  using Adjoint = std::vector<double>;  // by the state, then by the parameters

  explicit RecordedStepper(F step, std::vector<double> parameters = {}, TapeOptions options = {},
                           SourceLine where = std::source_location::current())
      : step_(std::move(step)),
        parameters_(std::move(parameters)),
        passive_(parameters_.begin(), parameters_.end()),
        where_(where),
        tape_({.memory = options.memory, .active = false}, where) {}

  const std::vector<double>& parameters() const { return parameters_; }
  Adjoint adjoint(std::span<const double> of_final_state) const {
    Adjoint adjoint(of_final_state.begin(), of_final_state.end());
    adjoint.resize(adjoint.size() + parameters_.size(), 0.0);
    return adjoint;
  }
  std::span<const double> of_state(const Adjoint& adjoint) const {
    return std::span(adjoint).first(adjoint.size() - parameters_.size());
  }
  std::span<const double> of_parameters(const Adjoint& adjoint) const {
    return std::span(adjoint).last(parameters_.size());
  }

  void advance(State& state, schedule::Steps range) {
    const auto paused = Tape::pause();
    work_.assign(state.begin(), state.end());
    for (schedule::Step i = range.begin; i < range.end; ++i) take(work_, passive_, i);
    read(state);
  }

  // What it returns is the state before the step: the tape has the last step that was recorded, and others
  // are recorded again.
  State record(State& state, schedule::Step i) {
    State before = state;
    record_from(before, i);
    read(state);
    return before;
  }

  void reverse(const State& before, Adjoint& adjoint, schedule::Step i) {
    if (adjoint.size() != before.size() + parameters_.size())
      fail(ErrorCode::bad_tape_use,
           {.what = fmt::format("an adjoint of {} numbers, for a state of {} and {} parameters",
                                adjoint.size(), before.size(), parameters_.size()),
            .expected = "one for each, those of the state first",
            .where = where_,
            .help = "make it with adjoint(slopes of the final state)"});
    if (recorded_ != i || !same(before)) record_from(before, i);
    std::vector<Tape::Seed> seeds;
    seeds.reserve(adjoint.size());
    // Sums go on where later steps left them: their order is that of one recording of everything.
    for (std::size_t k = 0; k < parameters_.size(); ++k)
      seeds.push_back({active_[k], adjoint[before.size() + k]});
    for (std::size_t k = 0; k < before.size(); ++k) seeds.push_back({work_[k], adjoint[k]});
    tape_.reverse(seeds, where_);
    for (std::size_t k = 0; k < before.size(); ++k) adjoint[k] = tape_.gradient(inputs_[k]);
    for (std::size_t k = 0; k < parameters_.size(); ++k)
      adjoint[before.size() + k] = tape_.gradient(active_[k]);
    recorded_ = -1;
  }

 private:
  void take(std::span<Real> state, std::span<const Real> parameters, schedule::Step i) const {
    if constexpr (takes_parameters)
      step_(state, parameters, i);
    else
      step_(state, i);
  }
  void read(State& state) const {
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = work_[k].value();
  }
  bool same(const State& before) const {
    if (before.size() != inputs_.size()) return false;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const double value = inputs_[k].value();
      if (std::memcmp(&before[k], &value, sizeof value) != 0) return false;
    }
    return true;
  }
  void record_from(const State& before, schedule::Step i) {
    recorded_ = -1;
    tape_.clear();
    active_ = tape_.inputs(parameters_, where_);
    inputs_ = tape_.inputs(before, where_);
    work_ = inputs_;
    {
      const auto active = tape_.activate();
      take(work_, active_, i);
    }
    recorded_ = i;
  }

  F step_;
  std::vector<double> parameters_;
  std::vector<Real> passive_;
  SourceLine where_;
  Tape tape_;
  std::vector<Real> active_, inputs_, work_;  // parameters, the state before the step, and behind it
  schedule::Step recorded_ = -1;              // what the tape has
};

template <class F>
RecordedStepper<F> stepper(F step, std::vector<double> parameters = {}, TapeOptions options = {},
                           SourceLine where = std::source_location::current()) {
  return RecordedStepper<F>(std::move(step), std::move(parameters), options, where);
}

}  // namespace tidemark::scalars
