// Plans over several memories and lanes, on the simulated device: right ones give the bits of the reference run under every
// delay tried and end when the timetable says; of damaged ones the verifier accepts none that gives other bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/simulated_device.h"
#include "tests/support/spread_plan.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/pipeline.h"
#include "tidemark/plan/plan_hash.h"
#include "tidemark/plan/plan_json.h"
#include "tidemark/plan/verify.h"

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
                      [](const Node& node) { return !find_cpu_kernel(*node.op) && node.op->expand; });
  made.plain = make_plan(made.graph);
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
  for (unsigned seed = 0; seed < seeds(300); ++seed) {
    const Case c = make_case(seed);
    const std::vector<std::string> found = problems(c.graph, c.plan);
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
  EXPECT_GT(copies, 300);
  EXPECT_GT(codes, 10);
  EXPECT_EQ(busy_lanes, 4);
  EXPECT_GT(shared, 100);  // or nothing would be at stake
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
    EXPECT_TRUE(problems(c.graph, back).empty());
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
      if (!problems(c.graph, plan).empty()) {
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
