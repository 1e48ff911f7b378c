// Plans over several memories and lanes, on the simulated device and on the CPU: right ones give the bits of
// the reference run under every delay tried and end when the timetable says; of damaged ones the verifier
// accepts none that gives other bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "tests/support/random_programs.h"
#include "tests/support/run_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/simulated_device.h"
#include "tests/support/spread_plan.h"
#include "tests/support/test_target.h"
#include "tests/support/watched_device.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::testing {
namespace {

struct Case {
  Graph graph;
  Plan plain, plan;
  std::vector<Literal> inputs, expected;
};

ThreadPool& pool() {
  static CpuDevice device(1);
  return device.pool();
}

Case make_case(unsigned seed) {
  Case made;
  made.graph = expand(RandomProgram(seed).joint(),
                      [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; });
  made.plain = make_plan(made.graph, test_target());
  made.plan = spread(made.graph, made.plain, seed);
  made.inputs = inputs_of(made.graph);
  made.expected = interpret(made.graph, made.inputs, pool());
  return made;
}

// Some steps take a thousand times as long as others: lanes drift apart.
std::vector<double> delays(const Plan& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> seconds;
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const double base = 1 + static_cast<double>(random() % 1024) / 1024;
    seconds.push_back(random() % 4 == 0 ? 1000 * base : base);
  }
  return seconds;
}

std::string difference(const Case& c, const Plan& plan, std::uint64_t seed) {
  const std::vector<double> seconds = delays(plan, seed);
  const SimulatedRun run = run_simulated(c.graph, plan, c.inputs, {.seconds = seconds, .seed = seed}, pool());
  return bit_difference(run.outputs, c.expected);
}

TEST(Memories, PlansOverThemGiveTheSameBitsUnderEveryDelay) {
  int copies = 0, codes = 0, busy_lanes = 0, shared = 0;
  const int cases = static_cast<int>(seeds(300));
  for (unsigned seed = 0; seed < seeds(300); ++seed) {
    const Case c = make_case(seed);
    const std::vector<std::string> found = problems(c.graph, c.plan, test_target());
    ASSERT_TRUE(found.empty()) << "seed " << seed << ": " << found[0] << "\n" << to_text(c.graph, c.plan);
    for (std::uint64_t delay = 0; delay < 4; ++delay) {
      ASSERT_EQ(difference(c, c.plan, delay), "") << "seed " << seed << ", delay " << delay;
    }
    std::vector<bool> used(c.plan.lanes.size(), false);
    for (const Step& step : c.plan.steps) {
      copies += step.kind == StepKind::copy;
      codes += step.kind == StepKind::encode;
      used[static_cast<std::size_t>(step.lane)] = true;
    }
    busy_lanes = std::max(busy_lanes, static_cast<int>(std::ranges::count(used, true)));
    std::int64_t sum = 0;
    for (const Buffer& buffer : c.plan.buffers) sum += buffer.binding == Binding::arena ? buffer.bytes : 0;
    shared += sum > c.plan.arena_bytes + c.plan.further[0].arena_bytes;
  }
  EXPECT_GT(copies, cases);
  EXPECT_GT(codes, cases / 30);
  EXPECT_EQ(busy_lanes, 4);
  EXPECT_GT(shared, cases / 3);  // or nothing would be at stake
}

// Lanes that move values are threads there, and the second memory is memory, or a file.
TEST(Memories, TheCpuRunsPlansOverThem) {
  const ScratchFolder scratch;
  int files = 0;
  for (unsigned seed = 0; seed < seeds(300); ++seed) {
    const Case c = make_case(seed);
    for (const bool in_file : {false, true}) {
      WatchedDevice device(2);
      if (in_file) device.use_folder(1, scratch.path());
      ReadyPlan ready(c.graph, c.plan, device);
      files += device.find_file(ready.arena(1).base()) != nullptr;
      for (unsigned delay = 0; delay < 2; ++delay) {
        device.before = [&](int command) {
          const auto drawn = std::mt19937(static_cast<unsigned>(command) + seed)();
          if (delay > 0 && drawn % 8 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(drawn % 256));
        };
        std::vector<Literal> inputs = c.inputs;  // donated ones are written
        ready.run(inputs);
        EXPECT_EQ(bit_difference(ready.outputs(), c.expected), "")
            << "seed " << seed << ", delay " << delay << ", in a file: " << in_file;
      }
      for (std::size_t m = 0; m < memory_count(c.plan); ++m)
        EXPECT_EQ(ready.arena(m).high_water(), memory_of(c.plan, m).arena_bytes)
            << "seed " << seed << ", memory " << m;
    }
  }
  EXPECT_GT(files, static_cast<int>(seeds(300) / 2));
}

TEST(Memories, TheTimetableIsTheClock) {
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    const Case c = make_case(seed);
    const std::vector<double> seconds = delays(c.plan, seed);
    const SimulatedRun run = run_simulated(c.graph, c.plan, c.inputs, {.seconds = seconds}, pool());
    const Timetable table = timetable(c.plan, seconds);
    EXPECT_EQ(table.makespan, run.clock) << "seed " << seed;
    double sum = 0;
    for (double s : seconds) sum += s;
    EXPECT_LE(table.makespan, sum * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(Memories, PlansOverThemAreWrittenAndReadBack) {
  for (unsigned seed = 0; seed < seeds(40); ++seed) {
    const Case c = make_case(seed);
    const std::string text = to_json(c.plan);
    const Plan back = plan_from_json(text);
    EXPECT_EQ(to_json(back), text);
    EXPECT_EQ(plan_hash(back), plan_hash(c.plan));
    EXPECT_NE(plan_hash(c.plan), plan_hash(c.plain));
    EXPECT_TRUE(problems(c.graph, back, test_target()).empty());
  }
}

TEST(Memories, AFailureComesToTheHost) {
  const Case c = make_case(3);
  const std::vector<double> seconds = delays(c.plan, 1);
  for (std::size_t t = 0; t < c.plan.steps.size(); t += 5) {
    EXPECT_THROW(run_simulated(c.graph, c.plan, c.inputs, {.seconds = seconds, .fail_at = t}, pool()),
                 SimulatedFailure);
  }
}

// tanh(x) waits in another memory while exp(x) is computed, and comes back for their product.
struct FarAndBack {
  Graph graph;
  Plan plan;
  std::int32_t made, left, between, returned, used;  // steps

  FarAndBack() {
    Builder builder(graph);
    const Var x = builder.input({DType::f32, {100}});
    const Var a = tanh(x);
    const Var b = exp(x);
    graph.add_output((a * b).id());
    plan = make_plan(graph, test_target(), {.skip = {"fuse", "in_place", "order"}});
    const BufferId near = plan.steps[0].out[0].buffer;
    const Buffer like = plan.buffers[near.index];
    plan.buffers.push_back({.bytes = like.bytes, .begin = 1, .end = 4, .value = like.value, .memory = 1});
    const BufferId far(plan.buffers.size() - 1);
    plan.buffers.push_back(
        {.bytes = like.bytes, .offset = plan.arena_bytes, .begin = 3, .end = 5, .value = like.value});
    const BufferId fresh(plan.buffers.size() - 1);
    const Ref from = plan.steps[0].out[0];
    Ref away = from, back = from;
    away.buffer = far, back.buffer = fresh;
    plan.steps[2].in[0].buffer = fresh;
    plan.steps.insert(plan.steps.begin() + 2,
                      {.kind = StepKind::copy, .in = {away}, .out = {back}, .lane = 2, .waits = {1}});
    plan.steps.insert(plan.steps.begin() + 1,
                      {.kind = StepKind::copy, .in = {from}, .out = {away}, .lane = 1, .waits = {0}});
    made = 0, left = 1, between = 2, returned = 3, used = 4;
    plan.steps[4].waits = {returned};
    plan.buffers[near.index].end = 2;
    for (Buffer& buffer : plan.buffers) {
      if (buffer.binding == Binding::argument) buffer.end = 5;
    }
    const auto lives = [&](const Ref& ref, std::int32_t begin, std::int32_t end) {
      plan.buffers[ref.buffer.index].begin = begin, plan.buffers[ref.buffer.index].end = end;
    };
    lives(plan.steps[2].out[0], 2, 5);
    lives(plan.steps[4].out[0], 4, 5);
    plan.lanes = {{.name = "compute"}, {.name = "out", .computes = false}, {.name = "in", .computes = false}};
    const std::int64_t bytes = align_up(like.bytes, buffer_alignment);
    plan.further = {
        {.name = "far", .alignment = buffer_alignment, .arena_bytes = bytes, .lower_bound = bytes}};
    plan.arena_bytes += bytes;
    plan.lower_bound = plan.input_bytes + 3 * bytes;
    plan.store_all_bytes = 10 * plan.peak();
  }

  void expect_refused(std::string_view says, const std::function<void(Plan&)>& change) const {
    Plan wrong = plan;
    change(wrong);
    EXPECT_THAT(problems(graph, wrong, test_target()),
                ::testing::Contains(::testing::HasSubstr(std::string(says))));
  }
  Step& step(Plan& p, std::int32_t t) const { return p.steps[static_cast<std::size_t>(t)]; }
  Buffer& target(Plan& p, std::int32_t t) const { return p.buffers[step(p, t).out[0].buffer.index]; }
};

TEST(Memories, ProblemsAreNamed) {
  const FarAndBack c;
  EXPECT_THAT(problems(c.graph, c.plan, test_target()), ::testing::IsEmpty()) << to_text(c.graph, c.plan);
  c.expect_refused("neither happens before", [&](Plan& p) { c.step(p, c.left).waits.clear(); });
  c.expect_refused("neither happens before", [&](Plan& p) { c.step(p, c.returned).waits.clear(); });
  c.expect_refused("neither happens before", [&](Plan& p) { c.step(p, c.used).waits.clear(); });
  c.expect_refused("waits for step 4", [&](Plan& p) { c.step(p, c.left).waits = {c.used}; });
  c.expect_refused("of its own lane", [&](Plan& p) { c.step(p, c.used).waits = {c.between}; });
  c.expect_refused("no lane 7", [&](Plan& p) { c.step(p, c.left).lane = 7; });
  c.expect_refused("does not compute", [&](Plan& p) { c.step(p, c.between).lane = 1; });
  c.expect_refused("no lanes", [&](Plan& p) { p.lanes.clear(); });
  c.expect_refused("no memory 2", [&](Plan& p) { c.target(p, c.left).memory = 2; });
  c.expect_refused("not plain in the lane's memory",
                   [&](Plan& p) { c.target(p, c.returned).memory = 1, c.target(p, c.returned).offset = 0; });
  c.expect_refused("not plain in the lane's memory", [&](Plan& p) { p.lanes[0].memory = 1; });
  c.expect_refused("does not hold",
                   [&](Plan& p) { c.step(p, c.returned).in[0] = c.step(p, c.between).out[0]; });
  c.expect_refused("far: arena_bytes", [&](Plan& p) { p.further[0].arena_bytes += 64; });
  c.expect_refused("far: the peak is above", [&](Plan& p) { p.further[0].budget = 100; });
  c.expect_refused("has no form of", [&](Plan& p) { c.target(p, c.left).codec = find_codec("bits"); });
  c.expect_refused("not from plain to coded", [&](Plan& p) { c.step(p, c.left).kind = StepKind::encode; });
  c.expect_refused("1 operands and 1 results", [&](Plan& p) { c.step(p, c.left).kind = StepKind::fetch; });
  c.expect_refused("a slot", [&](Plan& p) { c.target(p, c.left).slot = 0; });
}

TEST(Memories, ACopyThatComputingHidesIsFree) {
  const FarAndBack c;
  const Timetable hidden = timetable(c.plan, std::vector<double>{1, 2, 5, 2, 1});
  EXPECT_EQ(hidden.makespan, 7);
  EXPECT_EQ(hidden.stalled[0], 0);
  const Timetable slow = timetable(c.plan, std::vector<double>{1, 4, 5, 3, 1});
  EXPECT_EQ(slow.makespan, 9);  // back at 8, two later than wanted
  EXPECT_EQ(slow.stalled[0], 2);
}

TEST(Memories, PlansOverThemAskForAnArenaOfEach) {
  const FarAndBack c;
  CpuDevice device(1);
  Arena arena(device, c.plan.arena_bytes);
  EXPECT_THROW(Executor(c.graph, verified(c.graph, c.plan, test_target()), device, arena), InternalError);
  Plan wrong = c.plan;
  wrong.steps[1].waits.clear();
  EXPECT_THROW(verified(c.graph, wrong, test_target()), InternalError);
}

// One change of a kind that could be a planner's mistake. False: there is nothing to change here.
class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  bool apply(const Graph& graph, Plan& plan) {
    Step& step = plan.steps[pick(plan.steps.size())];
    Buffer& buffer = plan.buffers[pick(plan.buffers.size())];
    switch (pick(12)) {
      case 0:  // a wait is forgotten
        if (step.waits.empty()) return false;
        step.waits.erase(step.waits.begin() + static_cast<std::ptrdiff_t>(pick(step.waits.size())));
        return true;
      case 1:  // waits for another
        if (step.waits.empty()) return false;
        step.waits[pick(step.waits.size())] = static_cast<std::int32_t>(pick(plan.steps.size()));
        return true;
      case 2:  // a buffer somewhere else
        if (buffer.binding != Binding::arena) return false;
        buffer.offset =
            align_up(static_cast<std::int64_t>(pick(static_cast<std::size_t>(plan.arena_bytes) + 1)),
                     memory_of(plan, static_cast<std::size_t>(buffer.memory)).alignment);
        return true;
      case 3: {  // on top of another
        const Buffer& other = plan.buffers[pick(plan.buffers.size())];
        if (buffer.binding != Binding::arena || other.binding != Binding::arena) return false;
        buffer.offset = other.offset;
        return true;
      }
      case 4:
        buffer.memory = 1 - buffer.memory;
        return true;
      case 5:
        step.lane = static_cast<std::int32_t>(pick(plan.lanes.size()));
        return true;
      case 6: {  // reads or writes another buffer that has room
        auto& refs = pick(2) == 0 ? step.in : step.out;
        if (refs.empty()) return false;
        refs[pick(refs.size())].buffer = BufferId(pick(plan.buffers.size()));
        return true;
      }
      case 7: {  // two steps change places
        if (plan.steps.size() < 2) return false;
        const std::size_t t = pick(plan.steps.size() - 1);
        std::swap(plan.steps[t], plan.steps[t + 1]);
        return true;
      }
      case 8:  // a step is lost; later waits name others then
        plan.steps.erase(plan.steps.begin() + (&step - plan.steps.data()));
        return true;
      case 9:
        buffer.codec = buffer.codec ? nullptr : find_codec("bits");
        return true;
      case 10: {
        constexpr StepKind kinds[] = {StepKind::compute, StepKind::copy, StepKind::encode, StepKind::decode,
                                      StepKind::fetch};
        step.kind = kinds[pick(5)];
        return true;
      }
      default: {  // a value is taken for another
        auto& refs = pick(2) == 0 ? step.in : step.out;
        if (refs.empty()) return false;
        refs[pick(refs.size())].value = ValueId(pick(graph.values().size()));
        return true;
      }
    }
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::mt19937_64 random_;
};

TEST(Memories, NoDamagedPlanThatIsAcceptedGivesOtherBits) {
  const unsigned programs = seeds(270), damages = 50;
  const std::uint64_t delays_tried = 4;
  int damaged = 0, refused = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    const Case c = make_case(seed);
    for (unsigned k = 0; k < damages; ++k) {
      Plan plan = c.plan;
      if (!Damage(seed * damages + k).apply(c.graph, plan) || plan_hash(plan) == plan_hash(c.plan)) continue;
      ++damaged;
      if (!problems(c.graph, plan, test_target()).empty()) {
        ++refused;
        continue;
      }
      for (std::uint64_t delay = 0; delay < delays_tried; ++delay) {
        ASSERT_EQ(difference(c, plan, delay), "")
            << "seed " << seed << ", damage " << k << ", delay " << delay << ":\n"
            << to_text(c.graph, c.plan) << "\nis now\n"
            << to_text(c.graph, plan);
      }
    }
  }
  RecordProperty("damaged", damaged);
  RecordProperty("refused", refused);
  EXPECT_GT(damaged, static_cast<int>(programs * damages / 2));
  EXPECT_GT(refused,
            damaged * 3 / 4);  // the rest are harmless: a wait too many, a buffer moved where there is room
}

}  // namespace
}  // namespace tidemark::testing
