// Checkpoint schedules: how fast a plan is made and its actions come, and how the forward steps compare with
// others.
//
//   build/release/bench/schedule
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/online.h"
#include "tidemark/schedule/plan.h"

namespace {

using namespace tidemark::schedule;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void billion() {
  double start = now();
  const auto schedule =
      make_schedule({.steps = 1'000'000'000, .kind = Kind::binomial, .levels = {{.slots = 100}}});
  fmt::print("binomial, 10^9 steps, 100 slots: planned in {:.6f} s, {:.3f} forward steps for each\n",
             now() - start, schedule->promise().overhead());
  const auto actions = schedule->actions();
  std::array<Action, 1024> batch;
  std::int64_t count = 0;
  start = now();
  while (count < 100'000'000) count += static_cast<std::int64_t>(actions->fill(batch));
  fmt::print("  streams {:.3g} actions/s many at once", static_cast<double>(count) / (now() - start));
  const auto single = schedule->actions();
  Action action;
  start = now();
  for (count = 0; count < 50'000'000; ++count) single->next(action);
  fmt::print(", {:.3g} one by one\n", static_cast<double>(count) / (now() - start));
}

void levels() {
  struct Case {
    Step steps;
    std::int64_t ram, disk;
    double write, read;
  };
  for (const Case& c : {Case{2000, 10, 50, 5, 5},
                        {10'000, 3, 5, 2, 2},
                        {10'000, 10, 20, 2, 2},
                        {10'000, 10, 100, 2, 2},
                        {10'000, 100, 100, 5, 5},
                        {10'000, 3, 500, 2, 2},
                        {100'000, 10, 20, 2, 2}}) {
    const double start = now();
    const auto schedule = make_schedule(
        {.steps = c.steps,
         .kind = Kind::multilevel,
         .levels = {{.slots = c.ram}, {.slots = c.disk, .write_cost = c.write, .read_cost = c.read}}});
    fmt::print("two levels, {} steps, {} + {} slots, write {} read {}: {:.3f} s, cost {}\n", c.steps, c.ram,
               c.disk, c.write, c.read, now() - start, schedule->promise().cost);
  }
  const double start = now();
  const auto disk = make_schedule(
      {.steps = 10'000, .kind = Kind::disk, .levels = {{.slots = 10}, {.write_cost = 20, .read_cost = 20}}});
  fmt::print("unbounded disk, 10000 steps, 10 slots: {:.3f} s, {} states on disk\n", now() - start,
             disk->promise().peak_slots[1]);
}

void online() {
  fmt::print("online, worst ratio to the best that knows the length, up to 1000 steps:");
  for (std::int64_t slots : {2, 3, 4, 5, 10, 20}) {
    double worst = 1;
    Online policy(slots);
    for (Step n = 1; n <= 1000; ++n) {
      const double total = static_cast<double>(2 * n - 1 + policy.advances_to_finish(n));
      worst = std::max(worst, total / static_cast<double>(n + least_advances(n, slots)));
      policy.visit(n - 1);
    }
    fmt::print("  s={} {:.4f}", slots, worst);
  }
  fmt::print("\n");
}

void kinds() {
  fmt::print("\nforward steps for each step, 1000 steps\n{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "slots",
             "binomial", "mixed", "online", "bisection", "uniform");
  for (std::int64_t slots : {3, 5, 10, 20, 50, 100}) {
    fmt::print("{:>8}", slots);
    for (Kind kind : {Kind::binomial, Kind::mixed, Kind::online, Kind::bisection, Kind::uniform})
      fmt::print(
          "{:>12.3f}",
          make_schedule({.steps = 1000, .kind = kind, .levels = {{.slots = slots}}})->promise().overhead());
    fmt::print("\n");
  }
}

}  // namespace

int main() {
  billion();
  levels();
  online();
  kinds();
}
