// Loops in segments, of random programs: the gradients, and the gradients of gradients, have the bits of
// whole loops, with everything in memory and with values that wait on the disk.
#include <gtest/gtest.h>

#include "tests/programs/check.h"
#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

LoopMemory in_segments(std::int64_t count) {
  LoopMemory memory;
  memory.each.segments = count;
  return memory;
}

// As loops with a disk are cut: so many of the first segments run again from the states they begin with.
LoopMemory on_disk(std::int64_t count, std::int64_t again, std::int64_t own) {
  LoopMemory memory;
  memory.each = {.own = own, .segments = count, .again = again, .on_disk = true};
  return memory;
}

int loops_in(const Graph& graph) {
  return static_cast<int>(std::ranges::count(graph.nodes(), &op::loop, &Node::op));
}

bool reverses_loops(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.op == &op::loop_reverse; });
}

class RandomSegments {
 public:
  RandomSegments() : device_(std::make_shared<CpuDevice>(2)) { device_->use_folder(1, folder_.path()); }

  // What is wrong; `cut` counts loops that became several, `moved` plans that used the disk.
  std::string difference(const GraphCase& program) {
    const Graph whole = prepare_graph(program.graph);
    std::vector<Literal> expected;
    try {
      expected = interpret(whole, program.inputs, device_->pool());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::numeric) throw;
      return "";  // a singular matrix: there are no bits
    }
    for (const std::int64_t count : {2, 3, 7}) {
      const Graph segments = prepare_graph(program.graph, {}, nullptr, in_segments(count));
      cut += loops_in(segments) > loops_in(whole);
      const std::string text =
          bit_difference(interpret(segments, program.inputs, device_->pool()), expected, NaNs::alike);
      if (!text.empty()) return fmt::format("in {} segments: {}", count, text);
      if (count != 3 || ++programs_ % 2 != 0) continue;
      if (std::string wrong = planned_difference(segments, program.inputs, expected); !wrong.empty())
        return wrong;
    }
    for (const auto& [count, again, own] : on_disk_cuts) {
      const Graph segments = prepare_graph(program.graph, {}, nullptr, on_disk(count, again, own));
      const std::string text =
          bit_difference(interpret(segments, program.inputs, device_->pool()), expected, NaNs::alike);
      if (!text.empty()) return fmt::format("in {} segments, {} again, {} each: {}", count, again, own, text);
      if (count != 4 || programs_ % 4 != 0) continue;
      if (std::string wrong = planned_difference(segments, program.inputs, expected); !wrong.empty())
        return "on disk, " + wrong;
    }
    return "";
  }

  int cut = 0, moved = 0;

 private:
  struct OnDisk {
    std::int64_t count, again, own;
  };
  // States in one slot and in some, records; all of what is kept waits, a part, or states alone.
  static constexpr OnDisk on_disk_cuts[] = {{2, 1, 1}, {4, 2, 600}, {7, 0, 600}, {5, 4, unlimited_memory}};

  // With the disk alone, so that something moves.
  std::string planned_difference(const Graph& segments, const std::vector<Literal>& inputs,
                                 const std::vector<Literal>& expected) {
    PlanOptions options{.tiers = {{std::string(disk_memory_name), std::int64_t{64} << 20}},
                        .allow = {Choice::disk},
                        .effort = trial_effort};
    Graph least = segments;
    options.memory = 0;
    const Result<Plan, Infeasible> none = plan_safely(least, options);
    const std::int64_t floor = none ? none.value().peak() : none.error().smallest.peak();
    for (const std::int64_t extra : {0, 512}) {
      Graph graph = segments;
      options.memory = floor + extra;
      const Result<Plan, Infeasible> planned = plan_safely(graph, options);
      if (!planned) return fmt::format("nothing within {}, and {} is the smallest", *options.memory, floor);
      if (planned.value().peak() > *options.memory) return "above the budget";
      moved += std::ranges::any_of(planned.value().steps,
                                   [](const Step& step) { return step.kind == StepKind::copy; });
      Program run(graph, planned.value(), std::make_shared<Workspace>(device_));
      std::vector<Tensor> tensors;
      for (const Literal& input : inputs) tensors.push_back(tensor_of(input));
      const std::string text = bit_difference(literals_of(run.run(tensors, {})), expected, NaNs::alike);
      if (!text.empty()) return fmt::format("planned within {}: {}", *options.memory, text);
      if (run.arena_high_water() != run.plan().arena_bytes) return "another peak than planned";
    }
    return "";
  }

  int programs_ = 0;
  ScratchFolder folder_;
  std::shared_ptr<CpuDevice> device_;
};

class LoopSegmentPrograms : public ::testing::TestWithParam<int> {};

TEST_P(LoopSegmentPrograms, HaveTheBitsOfWholeLoops) {
  constexpr unsigned share = 300;
  RandomSegments segments;
  for (unsigned k = 0; k < seeds(share); ++k) {
    const std::uint64_t seed = 2'000'000 + static_cast<unsigned>(GetParam()) * share + k;
    SCOPED_TRACE(seed);
    GraphCase once, twice;
    try {
      once = with_gradients(graph_of(RandomFunction(seed), Part::gradient));
      if (!reverses_loops(once.graph)) continue;
      twice = k % 2 ? with_gradients(once) : once;
      (void)prepare_graph(twice.graph);
    } catch (const Error&) {
      continue;  // it has no gradient, or what it was given is the caller's mistake
    }
    ASSERT_EQ(segments.difference(twice), "");
  }
  if (!few) {
    EXPECT_GT(segments.cut, 5);
    EXPECT_GT(segments.moved, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Halves, LoopSegmentPrograms, ::testing::Range(0, 2));

}  // namespace
}  // namespace tidemark::testing
