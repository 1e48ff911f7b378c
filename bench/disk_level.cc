// How long a run waits for its files. A state of some megabytes, steps that take a while, few slots in memory
// and the rest in a directory: outer states are written while the next interval is computed and read before
// they are needed. Stalled: the run waited for a transfer to end. Handling: it opened, submitted and removed
// files; next to no processor time, but on a machine with more to do than cores, giving work to another
// thread can cost the turn.
//   bench/disk_level [DIRECTORY [MEGABYTES [STEPS]]]
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tidemark/schedule/run.h"

namespace td = tidemark;
using namespace td::schedule;

namespace {

// `work` sweeps of a smoothing kernel over the state for each step.
struct Smooth {
  using State = std::vector<float>;
  int work = 1;

  void sweep(State& x) const {
    for (std::size_t i = 0; i + 1 < x.size(); ++i) x[i] += 0.25f * (x[i + 1] - x[i]);
  }
  void advance(State& x, Steps range) const {
    for (Step i = range.begin; i < range.end; ++i)
      for (int w = 0; w < work; ++w) sweep(x);
  }
  double record(State& x, Step i) const {
    advance(x, {i, i + 1});
    return x[0];
  }
  void reverse(double r, State& adjoint, Step) const {
    for (int w = 0; w < work; ++w)
      for (std::size_t i = adjoint.size(); --i > 0;) adjoint[i] = 0.75f * adjoint[i] + 0.25f * adjoint[i - 1];
    adjoint[0] += static_cast<float>(r);
  }
};

// States 0, I, 2I, … in files; each interval from memory, by halves with as many slots as its depth asks for.
// The same however fast the disk is, so that figures can be compared.
class Intervals final : public Schedule {
 public:
  Intervals(Step steps, Step interval) {
    promise_.kind = Kind::multilevel;
    promise_.steps = steps;
    const auto outer = (steps + interval - 1) / interval;
    for (Step k = 0; k < outer; ++k) {
      put(ActionKind::store, 1, k, k * interval);
      if (k + 1 < outer) forward(k * interval, (k + 1) * interval);
    }
    for (Step k = outer; k-- > 0;) {
      const Step from = k * interval, to = std::min(steps, from + interval);
      put(ActionKind::load, 1, k, from);
      put(ActionKind::drop, 1, k, from);
      put(ActionKind::store, 0, 0, from);
      halve(from, to, 0);
      put(ActionKind::drop, 0, 0, from);
    }
    promise_.slots = {depth_, outer};
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    struct Stream final : ActionStream {
      explicit Stream(const std::vector<Action>& list) : actions(list) {}
      bool next(Action& action) override {
        return at < actions.size() ? (action = actions[at++], true) : false;
      }
      const std::vector<Action>& actions;
      std::size_t at = 0;
    };
    return std::make_unique<Stream>(actions_);
  }

 private:
  void put(ActionKind kind, int level, Step slot, Step step) {
    actions_.push_back({kind, static_cast<std::int16_t>(level), static_cast<std::int32_t>(slot), step, step});
  }
  void forward(Step from, Step to) {
    if (from == to) return;
    actions_.push_back({ActionKind::advance, working, 0, from, to});
    promise_.advances += to - from;
  }
  void halve(Step from, Step to, std::int64_t slot) {  // state `from` is at work, and in the slot
    depth_ = std::max(depth_, slot + 1);
    if (to - from == 1) {
      put(ActionKind::record, working, 0, from);
      put(ActionKind::reverse, working, 0, from);
      ++promise_.recorded;
      return;
    }
    const Step middle = from + (to - from) / 2;
    forward(from, middle);
    put(ActionKind::store, 0, slot + 1, middle);
    halve(middle, to, slot + 1);
    put(ActionKind::drop, 0, slot + 1, middle);
    put(ActionKind::load, 0, slot, from);
    halve(from, middle, slot);
  }

  Promise promise_;
  std::vector<Action> actions_;
  std::int64_t depth_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  const double megabytes = argc > 2 ? std::atof(argv[2]) : 4;
  const Step steps = argc > 3 ? std::atoll(argv[3]) : 128;
  const auto count = static_cast<std::size_t>(megabytes * 1e6 / sizeof(float));
  const Intervals schedule(steps, 8);
  fmt::print("{} steps, a state of {:.1f} MB, {} states in {}\n", steps, megabytes,
             schedule.promise().slots[1], directory);
  fmt::print("{:>10} {:>7} {:>7} {:>8} {:>9} {:>9} {:>8} {:>9}\n", "transfers", "direct", "resume", "seconds",
             "ms/step", "stalled", "share", "handling");
  for (const Io io : {Io::blocking, Io::thread, Io::automatic})
    for (const bool direct : {false, true})
      for (const bool resume : {false, true}) {
        Smooth smooth;
        Smooth::State state(count, 1.0f), adjoint(count, 0.0f);
        state[0] = 2;
        const Report report = run(smooth, state, adjoint, schedule,
                                  {.levels = {{.slots = schedule.promise().slots[0]},
                                              {.slots = schedule.promise().slots[1], .directory = directory}},
                                   .resume = resume,
                                   .io = io,
                                   .direct = direct});
        const auto forward = static_cast<double>(report.actual_forward() + report.reversed);
        fmt::print("{:>10} {:>7} {:>7} {:>8.2f} {:>9.2f} {:>9.3f} {:>7.2f}% {:>8.2f}%\n", report.io, direct,
                   resume, report.seconds, 1e3 * report.seconds / forward, report.stall_seconds,
                   100 * report.stall_seconds / report.seconds,
                   100 * report.handling_seconds / report.seconds);
      }
}
