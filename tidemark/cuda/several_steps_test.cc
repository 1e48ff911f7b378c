// Loops of stencils that take several steps at once: the same bits, fewer kernels, and only where that fits.
#include "tidemark/autodiff/several_steps.h"

#include <gtest/gtest.h>

#include "tests/support/gpu_nodes.h"
#include "tests/support/group_values.h"
#include "tests/support/loop_programs.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/plan_function.h"
#include "tidemark/ir/print.h"
#include "tidemark/ir/verify.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

ThreadPool& pool() {
  static ThreadPool one(1);
  return one;
}

std::vector<std::int64_t> trips_of(const Graph& graph) {
  std::vector<std::int64_t> trips;
  for (const Node& node : graph.nodes()) {
    if (node.op == &op::loop) trips.push_back(unpack<LoopAttrs>(node.attrs).trips);
  }
  return trips;
}

// u'' = medium Δu push, in steps; of each step, a few elements and a number are handed over.
struct Steps {
  std::int64_t steps = 19;
  int reach = 1;
  bool reverse = false;
  enum Body { stencil, two_dtypes, moves_by_flips, stacks_states, hands_a_number } body = stencil;

  Graph graph() const {
    constexpr std::int64_t cells = 20;
    const Type field{DType::f32, {cells, cells}}, number{DType::f32, Shape{}};
    Graph inner;
    Builder in(inner);
    const Type of_v = body == hands_a_number ? number
                      : body == two_dtypes   ? Type{DType::f64, field.shape}
                                             : field;
    const Var u = in.input(field), v = in.input(of_v), push = in.input(number), medium = in.input(field);
    const auto moved = [&](int y, int x) { return pad(u, constant_like(u, 0), {-y, -x}, {y, x}, {0, 0}); };
    Var bent = (moved(-reach, 0) + moved(reach, 0)) + (moved(0, -reach) + moved(0, reach));
    if (body == moves_by_flips) bent = flip(bent, {0});
    const Var pull = body == hands_a_number ? u * v : body == two_dtypes ? cast(v, DType::f32) : v;
    const Var next = u - pull + medium * bent * push;
    const Var old = body == hands_a_number ? v * push : body == two_dtypes ? cast(u, DType::f64) + v : u;
    const Var heard = slice(body == two_dtypes ? old : next, {3, 3}, {4, 6}, {1, 1});
    inner.add_output(next.id());
    inner.add_output(old.id());
    inner.add_output(body == stacks_states ? next.id() : heard.id());
    inner.add_output((push * push).id());
    Graph graph;
    Builder out(graph);
    const std::vector<Var> operands = {out.input(field), out.input(v.type()),
                                       out.input({DType::f32, {steps}}), out.input(field)};
    const LoopAttrs attrs{.trips = steps, .carries = 2, .scanned = 1, .reverse = reverse};
    for (const Var& result : out.call(op::loop, operands, pack(attrs), {inner}))
      graph.add_output(result.id());
    return graph;
  }
};

void expect_same_bits(const Graph& graph, const Graph& several) {
  std::vector<Literal> inputs;
  for (const Input& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    inputs.push_back(random_literal(type.dtype, type.shape, 5, -0.3, 0.3));
  }
  EXPECT_EQ(bit_difference(interpret(several, inputs, pool()), interpret(graph, inputs, pool())), "");
}

TEST(SeveralSteps, AreTheSameStepsInTheSameOrder) {
  for (const std::int64_t steps : {2, 7, 8, 19, 21}) {
    for (const int reach : {1, 2, 3}) {
      for (const bool reverse : {false, true}) {
        SCOPED_TRACE(fmt::format("{} steps, reach {}, reverse {}", steps, reach, reverse));
        const Graph graph = Steps{.steps = steps, .reach = reach, .reverse = reverse}.graph();
        const Graph several = take_several_steps(graph, cuda_target());
        const std::int64_t at_once = std::min(steps, 1 + cuda_target().most_halo / reach);
        std::vector<std::int64_t> trips = {steps / at_once};
        if (steps % at_once > 0) trips.push_back(steps % at_once);
        EXPECT_EQ(trips_of(several), trips);
        expect_same_bits(graph, several);
      }
    }
  }
}

TEST(SeveralSteps, MayHandOnStatesOfSeveralDtypes) {
  const Graph graph = Steps{.body = Steps::two_dtypes}.graph();
  const Graph several = take_several_steps(graph, cuda_target());
  EXPECT_EQ(trips_of(several), (std::vector<std::int64_t>{2, 5}));
  expect_same_bits(graph, several);
}

TEST(SeveralSteps, MayStandInACheckpoint) {
  Graph graph = Steps{}.graph();
  const CheckpointId checkpoint = graph.add_checkpoint({});
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) graph[NodeId(n)].checkpoint = checkpoint;
  const Graph several = take_several_steps(graph, cuda_target());
  verify_or_internal(several, "several steps");
  for (const Node& node : several.nodes()) EXPECT_EQ(node.checkpoint, checkpoint);
  expect_same_bits(graph, several);
}

TEST(SeveralSteps, AreNotTakenWhereTheyWouldNotBeOneKernel) {
  const auto stays = [](const Graph& graph, const Target& target) {
    return !has_steps_to_join(graph, target) && print(take_several_steps(graph, target)) == print(graph);
  };
  EXPECT_FALSE(stays(Steps{}.graph(), cuda_target()));
  Target no_tiles = cuda_target();
  no_tiles.most_halo = 0;
  EXPECT_TRUE(stays(Steps{}.graph(), no_tiles));
  EXPECT_TRUE(stays(Steps{.steps = 1}.graph(), cuda_target()));
  EXPECT_TRUE(stays(Steps{.reach = 7}.graph(), cuda_target())) << "too far for two steps";
  EXPECT_TRUE(stays(Steps{.body = Steps::moves_by_flips}.graph(), cuda_target()));
  EXPECT_TRUE(stays(Steps{.body = Steps::stacks_states}.graph(), cuda_target())) << "states would be copied";
  EXPECT_TRUE(stays(Steps{.body = Steps::hands_a_number}.graph(), cuda_target()));
}

PlanWithLoops planned(const Graph& graph, std::optional<std::int64_t> memory) {
  PlanWithLoops found =
      plan_with_loops(graph, {}, {.memory = memory, .machine = &h200_machine(), .target = &cuda_target()});
  TM_CHECK(found.plan, "{} do not fit", memory.value_or(0));
  return found;
}

TEST(SeveralSteps, OfAWaveAreOneKernelAndArePlannedWhereTheyFit) {
  const Wave wave{.cells = 512};
  const Wave::Medium medium = wave.medium();
  const auto loss = [=](const Tensor& courant2, const Wave::Medium& m, const Tensor& amplitudes) {
    return wave.heard(courant2, m, amplitudes);
  };
  constexpr std::int64_t steps = 64;
  const Graph graph = *trace_call(loss, std::tuple(medium.courant2, medium, wave.wavelet(steps)), {}).graph;
  const PlanWithLoops free = planned(graph, {});
  EXPECT_TRUE(free.loops.several_steps);
  EXPECT_EQ(trips_of(free.graph), std::vector<std::int64_t>{16});
  const GpuNodes nodes = count_gpu_nodes(free.graph, verified(free.graph, free.plan.value(), cuda_target()));
  // Of four steps: a kernel, and for each step what is heard; what that is, put together.
  EXPECT_LT(static_cast<double>(nodes.all()) / steps, 1.6);
  const std::int64_t peak = free.plan.value().peak();
  const PlanWithLoops tight = planned(graph, peak - 1);
  EXPECT_FALSE(tight.loops.several_steps);
  EXPECT_LE(tight.plan.value().peak(), peak - 1);
  EXPECT_GT(tight.plan.value().seconds, free.plan.value().seconds);
  EXPECT_TRUE(planned(graph, peak).loops.several_steps);
}

// A wave that nobody differentiates: its loop has no modes, and yet what is planned depends on the budget.
TEST(SeveralSteps, ArePartOfTheFrontier) {
  const Graph graph = Steps{.steps = 64}.graph();
  const PlanWithLoops free = planned(graph, {});
  ASSERT_TRUE(free.loops.several_steps);
  const PlanOptions options{.machine = &h200_machine(), .target = &cuda_target()};
  const std::vector<FrontierPoint> points = frontier_points(std::span(&graph, 1), {}, {}, options, 3);
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points.back().seconds, free.plan.value().seconds);
  EXPECT_EQ(points.back().extra_time, 0);
  for (const FrontierPoint& point : points) {
    EXPECT_LE(point.memory.count, point.budget.count);
    EXPECT_GE(point.extra_time, 0);
    EXPECT_LE(planned(graph, point.budget.count).plan.value().seconds, point.seconds * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace tidemark::cuda
