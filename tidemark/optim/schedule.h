// Learning rates as values. A rate is a number, a schedule or a tensor that a person sets: an optimizer's
// `lr` takes any of them. What it is at an update is computed inside the graph from the number of updates
// made before, so that another rate never means another trace.
//
// Example, as in docs/optimizers.md:
//   optim::Schedule lr = optim::warmup(100, optim::cosine({.from = 1e-3, .to = 1e-5, .steps = 1000}));
//
// A schedule is a list of phases, each a curve from one rate to another over so many updates. The last one
// stays where it ends.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "tidemark/trace/tensor.h"

namespace tidemark::optim {

// constant, linear, cosine: between `from` and `to`, with f the share of the phase's updates that are made:
// from, from + (to - from) f, to + (from - to) (1 + cos πf) / 2. stairs: from · factor^⌊t / every⌋, t updates
// into the phase.
enum class Curve : std::uint8_t { constant, linear, cosine, stairs };

struct Phase {
  Curve curve = Curve::constant;
  std::int64_t steps = 0;  // updates; of the last phase, until it stands still. Stairs do not
  double from = 0, to = 0;
  double factor = 1;
  std::int64_t every = 1;
};

class Schedule {
 public:
  template <class Rate>
  requires std::is_arithmetic_v<Rate> Schedule(Rate rate)  // NOLINT: implicit by design
      : phases_(std::vector<Phase>{{.from = static_cast<double>(rate), .to = static_cast<double>(rate)}}) {}
  // Throws Error `bad_attribute` for no phases, and for rates that are negative or not finite.
  explicit Schedule(std::vector<Phase> phases, SourceLine where = std::source_location::current());
  explicit Schedule(std::shared_ptr<Watch> variable) : variable_(std::move(variable)) {}

  // The rate of the update that comes after `steps` others: in the graph, an f64 of rank 0, and by itself.
  // Throws Error `bad_attribute` where a number that was given is no rate.
  Tensor at(const Tensor& steps, SourceLine where) const;
  double at(std::int64_t steps, SourceLine where = std::source_location::current()) const;

  const std::vector<Phase>& phases() const { return phases_; }  // none: set by hand

 private:
  Tensor by_hand(SourceLine where) const;
  void check(SourceLine where) const;

  std::vector<Phase> phases_;
  std::shared_ptr<Watch> variable_;
};

struct Between {
  double from = 0, to = 0;
  std::int64_t steps = 0;  // updates from the one to the other
};
Schedule linear(const Between& between, SourceLine where = std::source_location::current());
Schedule cosine(const Between& between, SourceLine where = std::source_location::current());

struct Stairs {
  double from = 0;
  double factor = 0.1;  // once more behind every so many updates
  std::int64_t every = 0;
};
Schedule stairs(const Stairs& stairs, SourceLine where = std::source_location::current());

// Up to the peak and down again, both by cosines (Smith & Topin 2018), update 0 the first and steps - 1 the
// last.
struct OneCycle {
  double peak = 0;
  std::int64_t steps = 0;
  double rising = 0.3;       // share of the updates on the way up
  double first = 1.0 / 25;   // of the peak
  double last = 1.0 / 25e4;  // of the peak
};
Schedule one_cycle(const OneCycle& cycle, SourceLine where = std::source_location::current());

// In front of any schedule: (t + 1) / (steps + 1) of its first rate, t = 0 … steps - 1, so that no update is
// wasted on a rate of zero. Then the schedule from its beginning. Of 0 steps: the schedule alone.
Schedule warmup(std::int64_t steps, const Schedule& then, SourceLine where = std::source_location::current());

// The number in a tensor of a person's, read at every call of a compiled function: assign another to it and
// the next call uses it. The tensor must outlive the calls and is not donated.
Schedule by_hand(const Tensor& rate, SourceLine where = std::source_location::current());
Schedule by_hand(Tensor&& rate,
                 SourceLine where = std::source_location::current()) = delete;  // it would be gone

}  // namespace tidemark::optim
