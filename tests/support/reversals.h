// Small simulations and schedules for tests of runs: a nonlinear map with parameters, and reversals by halves
// that store into two levels at every depth, so that slots of files are filled, dropped and filled again.
#pragma once
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"
#include "tidemark/base/fields.h"
#include "tidemark/schedule/plan.h"
#include "tidemark/schedule/run.h"

namespace tidemark::schedule::testing {

class WrittenSchedule final : public Schedule {
 public:
  WrittenSchedule(Step steps, std::vector<std::int64_t> slots, std::vector<Action> actions)
      : actions_(std::move(actions)) {
    promise_.steps = steps;
    promise_.slots = std::move(slots);
    for (const Action& action : actions_) {
      if (action.kind == ActionKind::advance) promise_.advances += action.to - action.step;
      if (action.kind == ActionKind::record) ++promise_.recorded;
    }
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    struct Stream final : ActionStream {
      explicit Stream(const std::vector<Action>& list) : actions(list) {}
      bool next(Action& action) override {
        if (at == actions.size()) return false;
        action = actions[at++];
        return true;
      }
      const std::vector<Action>& actions;
      std::size_t at = 0;
    };
    return std::make_unique<Stream>(actions_);
  }
  const std::vector<Action>& list() const { return actions_; }

 private:
  Promise promise_;
  std::vector<Action> actions_;
};

// Reverses by halves with `memory` slots on level 0 and `files` on level 1; state 0 lies on level 0, or on
// level 1 when there is no level 0 to speak of.
class Halves {
 public:
  Halves(Step steps, std::int64_t memory, std::int64_t files) : free_(2) {
    for (std::int64_t s = memory; s-- > 0;) free_[0].push_back(static_cast<std::int32_t>(s));
    for (std::int64_t s = files; s-- > 0;) free_[1].push_back(static_cast<std::int32_t>(s));
    const SlotRef home = take(memory > 0 ? 0 : 1);
    put(ActionKind::store, home, 0);
    reverse(0, steps, home);
    put(ActionKind::drop, home, 0);
    slots_ = {memory, files};
    steps_ = steps;
  }
  WrittenSchedule schedule() const { return {steps_, slots_, actions_}; }

 private:
  struct SlotRef {
    int level;
    std::int32_t slot;
  };
  SlotRef take(int level) {
    const std::int32_t slot = free_[static_cast<std::size_t>(level)].back();
    free_[static_cast<std::size_t>(level)].pop_back();
    return {level, slot};
  }
  void put(ActionKind kind, SlotRef place, Step step) {
    actions_.push_back({kind, static_cast<std::int16_t>(place.level), place.slot, step, step});
  }
  void reverse_one(Step step) {
    put(ActionKind::record, {working, 0}, step);
    put(ActionKind::reverse, {working, 0}, step);
  }
  void advance(Step from, Step to) {
    if (from < to) actions_.push_back({ActionKind::advance, working, 0, from, to});
  }
  // The working state is state `from`, and it lies in `home`.
  void reverse(Step from, Step to, SlotRef home) {
    if (to - from == 1) return reverse_one(from);
    const bool large = to - from >= 8;
    const int level = large && !free_[1].empty() ? 1 : !free_[0].empty() ? 0 : !free_[1].empty() ? 1 : -1;
    if (level < 0) {
      for (Step last = to - 1; last >= from; --last) {
        if (last != to - 1) put(ActionKind::load, home, from);
        advance(from, last);
        reverse_one(last);
      }
      return;
    }
    const Step middle = from + (to - from) * 3 / 5;
    const SlotRef place = take(level);
    advance(from, middle);
    put(ActionKind::store, place, middle);
    reverse(middle, to, place);
    put(ActionKind::drop, place, middle);
    free_[static_cast<std::size_t>(level)].push_back(place.slot);
    put(ActionKind::load, home, from);
    reverse(from, middle, home);
  }

  std::vector<std::vector<std::int32_t>> free_;
  std::vector<Action> actions_;
  std::vector<std::int64_t> slots_;
  Step steps_ = 0;
};

// x' = x + h (p sin(neighbour) - x x / 4): cheap, nonlinear, and its gradient with respect to p sums over the
// steps.
struct Ring {
  using State = std::vector<double>;
  struct Adjoint {
    std::vector<double> state;
    double parameter = 0;
    TM_FIELDS(Adjoint, state, parameter)
    friend bool operator==(const Adjoint&, const Adjoint&) = default;
  };

  double p = 1.3;
  static constexpr double h = 0.05;

  static State initial() { return {0.1, 0.9, -0.4, 0.7, 0.2}; }
  static Adjoint zero() { return {.state = std::vector<double>(5, 0.0), .parameter = 0}; }

  void advance(State& x, Steps range) {
    for (Step i = range.begin; i < range.end; ++i) step(x);
  }
  State record(State& x, Step) {
    State before = x;
    step(x);
    return before;
  }
  void seed(const State& last, Adjoint& a) {
    for (std::size_t i = 0; i < last.size(); ++i) a.state[i] = 2 * last[i];
  }
  void reverse(const State& x, Adjoint& a, Step) {
    std::vector<double> before(x.size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t next = (i + 1) % x.size();
      before[i] += a.state[i] * (1 - h * x[i] / 2);
      before[next] += a.state[i] * h * p * std::cos(x[next]);
      a.parameter += a.state[i] * h * std::sin(x[next]);
    }
    a.state = before;
  }

 private:
  void step(State& x) const {
    const double first = x[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double next = i + 1 < x.size() ? x[i + 1] : first;
      x[i] += h * (p * std::sin(next) - x[i] * x[i] / 4);
    }
  }
};

// The gradient with everything kept, with no schedule at all.
inline Ring::Adjoint reference(Step steps) {
  Ring ring;
  Ring::State x = Ring::initial();
  std::vector<Ring::State> records;
  for (Step i = 0; i < steps; ++i) records.push_back(ring.record(x, i));
  Ring::Adjoint adjoint = Ring::zero();
  ring.seed(x, adjoint);
  for (Step i = steps; i-- > 0;) ring.reverse(records[static_cast<std::size_t>(i)], adjoint, i);
  return adjoint;
}

class Scratch : public tidemark::testing::ScratchFolder {
 public:
  std::vector<std::filesystem::path> snapshots() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path()))
      if (entry.path().extension() == ".snapshot") found.push_back(entry.path());
    return found;
  }
};

}  // namespace tidemark::schedule::testing
