// A loop with a disk of its own: how many steps run, beside what a two-level schedule of states in memory and
// files takes that sweeps the loop once and then goes over it again from its first state (schedule/,
// Kind::multilevel, one state and four buffers of the memory set aside); how long it takes beside the same
// memory without the disk, predicted and measured in turns; every gradient held against that with everything
// kept, bit by bit.
//
//   loop_disk FOLDER [ROUNDS]     no ROUNDS: plans alone
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <limits>

#include "tidemark/schedule/plan.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

struct Case {
  std::int64_t steps, memory, disk;  // in states
  std::int64_t width;                // a state is a matrix of 64 rows
};
const Case cases[] = {
    {200, 8, 20, 256},         {1000, 8, 62, 256},      {1000, 40, 62, 256},    {1000, 40, 400, 256},
    {1000, 8, 1000, 64},       {10'000, 8, 100, 64},    {10'000, 8, 1000, 64},  {10'000, 64, 1000, 64},
    {10'000, 64, 10'000, 64},  {10'000, 8, 10'000, 64}, {100'000, 8, 1000, 64}, {100'000, 64, 10'000, 64},
    {100'000, 8, 100'000, 64},
};

double seconds_of(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

auto gradient(std::int64_t steps, LoopOptions kept) {
  return grad([=](Tensor w, Tensor u) {
    return sum(square(repeat(
        steps, [&](Tensor x) { return tanh(matmul(x, w)) + x * 0.5; }, u, kept)));
  });
}

void row(const Case& c, const std::string& folder, int rounds) {
  const std::int64_t state = 64 * c.width * 4;
  const Tensor w = random_normal(key(1), {c.width, c.width}, 0, 0.05),
               u = random_normal(key(2), {64, c.width});
  const LoopOptions alone{.memory = Bytes(c.memory * state)};
  LoopOptions with = alone;
  with.disk = Bytes(c.disk * state);
  with.folder = folder;
  const auto memory = compile(gradient(c.steps, alone)), disk = compile(gradient(c.steps, with));
  const double seconds = seconds_of([&] { (void)disk.prepare(w, u); });
  (void)memory.prepare(w, u);
  const Plan &plan = disk.plan().plan, &plain = memory.plan().plan;
  // Where segments keep records there are no states to count: each step runs once, and again where its
  // segment does.
  const auto steps_of = [&](const PlannedGraph& planned) {
    const std::vector<LoopForecast> loops = planned.loops();
    return loops.empty() ? 2 * c.steps : loops[0].forward_steps;
  };
  const auto two_level = schedule::make_schedule(
      {.steps = c.steps,
       .kind = schedule::Kind::multilevel,
       .levels = {{.slots = std::max<std::int64_t>(1, c.memory - 5)},
                  {.slots = std::min(c.disk, c.steps), .write_cost = 1, .read_cost = 1}}});
  const std::int64_t before = c.steps + two_level->promise().total_forward();
  const auto per_step = [&](std::int64_t all) {
    return static_cast<double>(all) / static_cast<double>(c.steps);
  };
  fmt::print(
      "{:>6} steps, {:>3} states in memory, {:>5} on disk: {:>5.2f} a step, two levels {:>5.2f}, memory "
      "alone {:>5.2f}; predicted {:.3f} of memory alone; planned in {:.1f} s, {} on disk, memory {:.3f}",
      c.steps, c.memory, c.disk, per_step(steps_of(disk.plan())), per_step(before),
      per_step(steps_of(memory.plan())), plan.seconds / plain.seconds, seconds,
      to_string(Bytes(plan.further.empty() ? 0 : plan.further[0].peak())),
      static_cast<double>(plan.peak()) / static_cast<double>(plain.peak()));
  std::fflush(stdout);
  double least = std::numeric_limits<double>::infinity(), least_alone = least;
  for (int round = 0; round < rounds; ++round) {
    least = std::min(least, seconds_of([&] { (void)disk(w, u); }));
    least_alone = std::min(least_alone, seconds_of([&] { (void)memory(w, u); }));
  }
  if (rounds > 0)
    fmt::print("; measured {:.3f}, {}", least / least_alone,
               disk(w, u).to_vector() == compile(gradient(c.steps, {}))(w, u).to_vector() ? "the same bits"
                                                                                          : "OTHER BITS");
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: loop_disk FOLDER [ROUNDS]\n");
    return 2;
  }
  for (const Case& c : cases) row(c, arguments[1], count > 2 ? std::atoi(arguments[2]) : 0);
}
