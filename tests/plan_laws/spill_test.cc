// Budgets with a further memory: what is planned for them is verified, keeps both budgets, gives the bits of
// the reference run on the simulated device whatever the lanes' delays, and takes the time it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/errors.h"
#include "tests/support/random_hints.h"
#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/simulated_device.h"
#include "tests/support/test_target.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark::testing {
namespace {

constexpr std::int64_t plenty = std::int64_t{1} << 40;

// Copies cost about as much as the kernels of these programs, so that neither way is always the better one.
const Machine& machine_with_near_memory() {
  static const Machine machine = [] {
    Machine m = reference_machine();
    m.further = {{.name = "near", .bytes = plenty}, {.name = "far", .bytes = plenty}};
    m.links = {{.from = 0, .to = 1, .latency = 0.2e-6, .bandwidth = 8e9, .beside_compute = 6e9},
               {.from = 1, .to = 0, .latency = 0.2e-6, .bandwidth = 8e9, .beside_compute = 6e9},
               {.from = 0, .to = 2, .latency = 5e-6, .bandwidth = 1e9, .beside_compute = 1e9},
               {.from = 2, .to = 0, .latency = 5e-6, .bandwidth = 2e9, .beside_compute = 2e9}};
    return m;
  }();
  return machine;
}

ThreadPool& pool() {
  static CpuDevice device(1);
  return device.pool();
}

Graph program(unsigned seed) {
  return expand(RandomProgram(seed, {.nodes = 15, .most_rows = 40}).joint(),
                [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; });
}

int transfers(const Plan& plan) {
  return static_cast<int>(
      std::ranges::count_if(plan.steps, [](const Step& step) { return step.kind != StepKind::compute; }));
}

// Some steps take a thousand times as long as others: lanes drift apart.
std::vector<double> delays(const Plan& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> seconds;
  for (std::size_t t = 0; t < plan.steps.size(); ++t)
    seconds.push_back(random() % 4 == 0 ? 1000.0 : 1.0 + static_cast<double>(random() % 16));
  return seconds;
}

void expect_sound(const Graph& graph, const Plan& plan, std::span<const Literal> inputs,
                  const std::vector<Literal>& expected, const std::string& what,
                  const Machine& machine = machine_with_near_memory()) {
  const std::vector<std::string> found = problems(graph, plan, test_target());
  ASSERT_TRUE(found.empty()) << what << ": " << found[0] << "\n" << to_text(graph, plan);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const std::vector<double> seconds = delays(plan, seed);
    const SimulatedRun run = run_simulated(graph, plan, inputs, {.seconds = seconds, .seed = seed}, pool());
    ASSERT_EQ(bit_difference(run.outputs, expected), "") << what << ", delays " << seed;
  }
  const std::vector<double> seconds = step_seconds(graph, plan, test_target(), machine);
  const SimulatedRun run = run_simulated(graph, plan, inputs, {.seconds = seconds}, pool());
  EXPECT_EQ(run.clock, timetable(plan, seconds).makespan) << what;
  if (!is_plain(plan)) {
    EXPECT_EQ(plan.seconds, run.clock) << what;
  }
  EXPECT_EQ(to_json(plan_from_json(to_json(plan))), to_json(plan)) << what;
}

TEST(Spill, PlansWithAFurtherMemoryAreSoundAndKeepBothBudgets) {
  int moving = 0, faster = 0, only = 0;
  for (unsigned seed = 0; seed < seeds(24); ++seed) {
    const Graph graph = program(seed);
    const std::vector<Literal> inputs = inputs_of(graph);
    const std::vector<Literal> expected = interpret(graph, inputs, pool());
    PlanOptions options{.machine = &machine_with_near_memory(), .effort = 0.1};
    const Plan free = make_plan(graph, test_target(), options);
    for (const std::int64_t percent : {85, 60, 40}) {
      const std::string what = "seed " + std::to_string(seed) + " at " + std::to_string(percent) + "%";
      options.tiers.clear();
      options.memory = free.input_bytes + free.arena_bytes * percent / 100;
      const Result<Plan, Infeasible> alone = try_plan(graph, test_target(), options);
      options.tiers = {{"near", free.arena_bytes * 2 + (1 << 20)}, {"far", plenty}};
      const Result<Plan, Infeasible> both = try_plan(graph, test_target(), options);
      if (!both) {
        EXPECT_FALSE(alone) << what << ": did fit without a further memory";
        expect_sound(graph, both.error().smallest, inputs, expected, what + ", the smallest");
        EXPECT_GT(both.error().smallest.peak(), *options.memory) << what;
        continue;
      }
      const Plan& plan = both.value();
      expect_sound(graph, plan, inputs, expected, what);
      if (HasFatalFailure()) return;
      EXPECT_LE(plan.peak(), *options.memory) << what;
      for (const PlanMemory& memory : plan.further) EXPECT_LE(memory.peak(), memory.budget) << what;
      moving += transfers(plan) > 0;
      only += !alone;
      faster += alone && plan.seconds < alone.value().seconds;
      if (alone) {
        EXPECT_LE(plan.seconds, alone.value().seconds * (1 + 1e-9)) << what;
      }
    }
  }
  const int cases = static_cast<int>(seeds(24));
  EXPECT_GT(moving, cases / 2);  // or nothing would be tried
  EXPECT_GT(faster, cases / 8);
  EXPECT_GT(only, 0);
}

// The near memory under the name that hints ask for.
const Machine& machine_with_disk() {
  static const Machine machine = [] {
    Machine m = machine_with_near_memory();
    m.further[0].name = disk_memory_name;
    return m;
  }();
  return machine;
}

bool goes_and_comes_back(const Plan& plan, ValueId value) {
  const auto copies = [&](std::int32_t memory) {
    return std::ranges::any_of(plan.steps, [&](const Step& step) {
      return step.kind == StepKind::copy && step.out[0].value == value &&
             plan.buffers[step.out[0].buffer.index].memory == memory;
    });
  };
  return copies(1) && copies(0);
}

TEST(Spill, WhatIsAskedToWaitOnTheDiskDoesOrSaysWhyNot) {
  int honoured = 0, crowded = 0, all = 0;
  for (unsigned seed = 0; seed < seeds(12); ++seed) {
    Graph graph = seed % 2 ? with_random_hints(program(seed), seed) : program(seed);
    std::mt19937 random(seed);
    for (std::size_t v = 0; v < graph.values().size(); ++v) {
      if (random() % 6 == 0) graph.add_hint({.kind = HintKind::offload, .value = ValueId(v)});
    }
    graph.add_hint({.kind = HintKind::offload, .value = {}});
    const std::vector<Literal> inputs = inputs_of(graph);
    const std::vector<Literal> expected = interpret(graph, inputs, pool());
    PlanOptions options{.machine = &machine_with_disk(), .effort = 0.1};
    const Plan free = make_plan(graph, test_target(), options);
    for (const auto& [percent, room] : {std::pair(100, plenty), {150, plenty}, {70, plenty}, {100, 8192L}}) {
      const std::string what = fmt::format("seed {} at {}% with {}", seed, percent, room);
      options.memory = free.input_bytes + free.arena_bytes * percent / 100;
      options.tiers = {{std::string(disk_memory_name), room}};
      const Result<Plan, Infeasible> made = try_plan(graph, test_target(), options);
      const Plan& plan = made ? made.value() : made.error().smallest;
      expect_sound(graph, plan, inputs, expected, what, machine_with_disk());
      if (HasFatalFailure()) return;
      if (percent >= 100) {
        EXPECT_TRUE(made) << what;
      }
      for (const PlanMemory& memory : plan.further) EXPECT_LE(memory.peak(), memory.budget) << what;
      for (const HintReport& hint : plan.hints) {
        EXPECT_NE(hint.honoured, !hint.reason.empty()) << what;
        if (hint.kind != HintKind::offload) continue;
        ++all;
        honoured += hint.honoured;
        crowded += hint.reason == "the disk has no room left for it";
        if (!hint.honoured) continue;
        EXPECT_TRUE(goes_and_comes_back(plan, hint.value)) << what << ", %" << hint.value.index;
        EXPECT_EQ(hint.runs, 2) << what;
        EXPECT_EQ(hint.bytes, graph.type(hint.value).bytes()) << what;
        EXPECT_GT(hint.seconds, 0) << what;
      }
    }
  }
  EXPECT_GT(honoured, all / 16);
  EXPECT_GT(crowded, 0);
}

TEST(Spill, TheSmallestThatIsNamedIsAccepted) {
  for (unsigned seed = 0; seed < seeds(12); ++seed) {
    const Graph graph = program(seed);
    PlanOptions options{.tiers = {{"near", plenty}}, .machine = &machine_with_near_memory(), .effort = 0.1};
    const Plan smallest = smallest_plan(graph, test_target(), options);
    options.memory = smallest.peak();
    const Result<Plan, Infeasible> again = try_plan(graph, test_target(), options);
    ASSERT_TRUE(again) << "seed " << seed;
    options.memory = smallest.peak() - 1;
    const Result<Plan, Infeasible> less = try_plan(graph, test_target(), options);
    if (!less) {
      EXPECT_EQ(less.error().smallest.peak(), smallest.peak()) << "seed " << seed;
    }
  }
}

TEST(Spill, ATierWithoutRoomIsNotUsed) {
  const Graph graph = program(5);
  PlanOptions options{.machine = &machine_with_near_memory(), .effort = 0.1};
  const Plan free = make_plan(graph, test_target(), options);
  options.memory = free.input_bytes + free.arena_bytes * 6 / 10;
  const Result<Plan, Infeasible> alone = try_plan(graph, test_target(), options);
  options.tiers = {{"near", 0}};
  const Result<Plan, Infeasible> with = try_plan(graph, test_target(), options);
  ASSERT_EQ(bool(alone), bool(with));
  if (with) {
    EXPECT_LE(with.value().seconds, alone.value().seconds);
  }
  if (with && !is_plain(with.value())) {
    EXPECT_EQ(with.value().further[0].peak(), 0);
  }
}

TEST(Spill, AMemoryThatTheMachineHasNotIsRefused) {
  const Graph graph = program(1);
  const auto plan_with = [&](std::vector<TierBudget> tiers, const Machine& machine) {
    return [&graph, tiers, &machine] {
      (void)try_plan(graph, test_target(), {.memory = 1000, .tiers = tiers, .machine = &machine});
    };
  };
  const Machine& machine = machine_with_near_memory();
  EXPECT_EQ(code_of(plan_with({{"tape", 5}}, machine)), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(plan_with({{"near", -5}}, machine)), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(plan_with({{"near", 5}, {"near", 6}}, machine)), ErrorCode::bad_plan_option);
  Machine one_way = machine;
  std::erase_if(one_way.links, [](const Link& link) { return link.from == 1; });
  EXPECT_EQ(code_of(plan_with({{"near", 5}}, one_way)), ErrorCode::bad_plan_option);
}

}  // namespace
}  // namespace tidemark::testing
