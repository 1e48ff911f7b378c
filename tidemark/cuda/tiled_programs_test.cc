// Random simulations planned for a GPU and run, kernel by kernel, on the host: the bits of the graph as it
// was written, with one step at a time and with several, at every budget, and no two threads that meet in
// the memory they share.
#include <gtest/gtest.h>

#include <deque>

#include "tests/support/host_plans.h"
#include "tests/support/random_stencils.h"
#include "tidemark/autodiff/several_steps.h"
#include "tidemark/autodiff/transforms.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

ThreadPool& pool() {
  static ThreadPool one(1);
  return one;
}

// A graph, what to feed it and what that gives.
struct Written {
  Graph graph;
  std::vector<Literal> inputs;
  std::vector<Literal> expected;
  std::string text;
};

template <class F>
Written written(const RandomStencil& stencil, const F& function) {
  const auto call = trace_call(function, std::tuple(stencil.arguments()), {});
  Written made{.graph = *call.graph, .inputs = stencil.inputs(), .expected = {}, .text = stencil.text()};
  const Graph plain = prepare_graph(made.graph, {}, nullptr, {}, cuda_target());
  made.expected = interpret(plain, made.inputs, pool());
  return made;
}

// Plans of programs, run together.
class PlannedPrograms {
 public:
  void add(const Written& program, Graph graph, const Plan& plan, std::string how) {
    const std::size_t number = plans_.add(graph, verified(graph, plan, cuda_target()));
    runs_.push_back({number, &program, std::move(how), print(graph)});
  }
  // One step at a time, and several where there are such loops; with so much memory for what loops keep.
  void add_both(const Written& program, std::int64_t kept = unlimited_memory) {
    for (const bool several : {false, true}) {
      LoopMemory memory(kept);
      memory.several_steps = several;
      Graph graph = prepare_graph(program.graph, {}, nullptr, memory, cuda_target());
      if (!several && has_steps_to_join(graph, cuda_target())) ++joined_;

      const Plan plan = make_plan(graph, cuda_target(), {.machine = &h200_machine()});
      add(program, std::move(graph), plan, fmt::format("several steps {}, {} kept", several, kept));
    }
  }

  void expect_bits() {
    plans_.compile();
    for (const Run& run : runs_) {
      SCOPED_TRACE(run.program->text + ", " + run.how);
      for (const bool descending : {false, true}) {
        const std::vector<Literal> got = plans_.run(run.number, run.program->inputs, descending);
        EXPECT_EQ(bit_difference(got, run.program->expected, NaNs::alike), "") << run.graph;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }

  int tiled() const { return plans_.tiled(); }
  int joined() const { return joined_; }

 private:
  struct Run {
    std::size_t number;
    const Written* program;
    std::string how, graph;
  };
  HostPlans plans_;
  std::vector<Run> runs_;
  int joined_ = 0;
};

TEST(TiledPrograms, HaveTheBitsOfTheirStepsOneByOne) {
  std::deque<Written> programs;
  PlannedPrograms planned;
  for (unsigned s = 0; s < 45; ++s) {
    const RandomStencil stencil(s);
    planned.add_both(programs.emplace_back(written(stencil, stencil)));
  }
  EXPECT_GT(planned.tiled(), 20);
  EXPECT_GT(planned.joined(), 12);
  planned.expect_bits();
}

TEST(TiledPrograms, GradientsHaveTheBitsOfThePlainLoops) {
  std::deque<Written> programs;
  PlannedPrograms planned;
  for (unsigned s = 0; s < 8; ++s) {
    const RandomStencil stencil(s, {.smooth = true});
    const auto loss = [&](const std::vector<Tensor>& x) { return stencil.loss(x); };
    Written& program = programs.emplace_back(written(stencil, value_and_grad(loss)));
    planned.add_both(program);
    planned.add_both(program, 0);
  }
  EXPECT_GT(planned.tiled(), 8);
  EXPECT_GT(planned.joined(), 3);
  planned.expect_bits();
}

TEST(TiledPrograms, GradientsOfGradientsToo) {
  std::deque<Written> programs;
  PlannedPrograms planned;
  for (unsigned s = 0; s < 6; ++s) {
    const RandomStencil stencil(s, {.smooth = true, .odd = 10});
    const auto loss = [&](const std::vector<Tensor>& x) { return stencil.loss(x); };
    const auto twice = [&](const std::vector<Tensor>& x) { return hvp(loss, x, x); };
    planned.add_both(programs.emplace_back(written(stencil, twice)));
  }
  EXPECT_GT(planned.tiled(), 5);
  EXPECT_GT(planned.joined(), 1);
  planned.expect_bits();
}

// Whose plans are of all kinds: with several steps at once or one by one, with everything kept or less, with
// what is made again because it is faster, and needs less memory so.
TEST(TiledPrograms, StayWithinTheirBudgets) {
  std::deque<Written> programs;
  PlannedPrograms planned;
  int several = 0;
  for (const unsigned seed : {0u, 3u, 8u, 11u, 21u, 65u}) {
    const bool smooth = seed % 2 == 1;
    const RandomStencil stencil(seed, {.smooth = smooth, .odd = 10});
    const auto loss = [&](const std::vector<Tensor>& x) { return stencil.loss(x); };
    const Written& program =
        programs.emplace_back(smooth ? written(stencil, value_and_grad(loss)) : written(stencil, stencil));
    SCOPED_TRACE(program.text);
    PlanOptions options{.machine = &h200_machine(), .target = &cuda_target()};
    const PlanWithLoops free = plan_with_loops(program.graph, {}, options);
    several += free.loops.several_steps;
    const std::int64_t most = free.plan.value().peak();
    planned.add(program, free.graph, free.plan.value(), "without a budget");
    options.memory = 1;
    const PlanWithLoops none = plan_with_loops(program.graph, {}, options);
    const std::int64_t least = none.plan.error().smallest.peak();
    EXPECT_LE(least, most);
    for (const std::int64_t budget : {least, least + (most - least) / 2, most - 1, most}) {
      if (budget < least) continue;
      options.memory = budget;
      const PlanWithLoops found = plan_with_loops(program.graph, {}, options);
      ASSERT_TRUE(found.plan) << budget << " of " << least << " to " << most;
      EXPECT_LE(found.plan.value().peak(), budget);
      if (budget == most) {
        EXPECT_LE(found.plan.value().seconds, free.plan.value().seconds * (1 + 1e-9));
      }
      planned.add(program, found.graph, found.plan.value(), fmt::format("{} bytes", budget));
    }
  }
  EXPECT_GT(several, 1);
  planned.expect_bits();
}

}  // namespace
}  // namespace tidemark::cuda
