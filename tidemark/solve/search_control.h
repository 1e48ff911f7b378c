// One planning as seen from outside: how far it is, how long it may take, and whether it is still wanted.
// Searches count work (work.h) and report it here; only a limit in seconds makes them look at a clock, so
// that without one the same graph gives the same plan everywhere.
//
//   SearchControl control({.seconds = 2, .progress = [](const PlanProgress& p) { return show(p.done); }});
//   try_plan(graph, {.memory = budget, .control = &control});
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "tidemark/solve/plan_progress.h"

namespace tidemark {

struct ControlOptions {
  std::optional<double> seconds = {};  // the best found by then is taken
  PlanCallback progress = {};
  StopToken stop = {};
  std::function<double()> clock = {};  // seconds that never go back; none: the steady clock
};

class SearchControl {
 public:
  explicit SearchControl(ControlOptions options);

  // So many units of work were done, of about a microsecond each. True: time is up. Throws PlanningStopped.
  bool spent(std::int64_t units) {
    if ((since_look_ += units) >= look_every) look();
    return up_;
  }
  bool time_is_up();  // looks at the clock
  bool timed() const { return options_.seconds.has_value(); }
  double seconds_left();  // negative when time is up; infinite without a limit

  void enter(std::string_view stage, std::int64_t units);  // a stage begins that may take so much work
  void finish();                                           // all is done

  std::int64_t looks() const { return looks_; }  // how often it was asked whether to go on

  static constexpr std::int64_t look_every = 2'000;  // units

 private:
  friend class TimeShare;
  void look();
  void report(double done);

  ControlOptions options_;
  double end_ = 0;  // on the clock
  bool up_ = false;
  double start_ = 0;
  std::string_view stage_ = "order";
  std::int64_t since_look_ = 0, done_ = 0, expected_ = 0, looks_ = 0;
  double shown_ = -1;
};

// While it lives, time is up when this share of what was left has passed. Shares nest; without a limit
// nothing happens.
class TimeShare {
 public:
  TimeShare(SearchControl* control, double share);
  ~TimeShare();
  TimeShare(const TimeShare&) = delete;
  TimeShare& operator=(const TimeShare&) = delete;

 private:
  SearchControl* control_;
  double end_ = 0;
};

}  // namespace tidemark
