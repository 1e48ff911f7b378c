// Graphs may be as deep as the user likes: nothing recurses along them, and nothing takes the square of their
// length. All of it runs on a stack of 256 KiB, which a few thousand frames would fill.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tests/support/fake_ops.h"
#include "tests/support/small_stack.h"
#include "tests/support/test_target.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ir/verify.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/solve/dag/dag.h"
#include "tidemark/solve/dag/schedule.h"
#include "tidemark/tidemark.h"

namespace tidemark::testing {
namespace {

constexpr int share = sanitized ? 10 : 1;
constexpr int deep = 100'000 / share, deepest = 1'000'000 / share;
constexpr double little = 0.001;

// x → −x → … , n times.
Graph chain(int n) {
  Graph graph;
  Builder builder(graph);
  Var x = builder.input({DType::f32, {4, 4}}, "x");
  for (int i = 0; i < n; ++i) x = i % 2 ? sin(x) : tanh(x);
  graph.add_output(x.id());
  return graph;
}

// x → xᵀ → xᵀᵀ → … : windows on windows, and each hundredth is read.
Graph view_chain(int n) {
  Graph graph;
  Builder builder(graph);
  Var x = builder.input({DType::f32, {3, 5}}, "x"), sum;
  for (int i = 0; i < n; ++i) {
    x = transpose(x, {1, 0});
    if (i % 100 != 99) continue;
    const Var part = reduce_sum(x, {0, 1});
    sum = sum ? sum + part : part;
  }
  graph.add_output(sum.id());
  graph.add_output((x * 2).id());
  return graph;
}

TEST(DeepGraphs, ArePrintedParsedVerifiedAndCompared) {
  on_small_stack([] {
    const Graph graph = chain(deepest / 4);
    verify(graph);
    const Graph back = parse(print(graph), {.find = &find_op}, "deep.ir");
    EXPECT_TRUE(same_graph(graph, back));
    EXPECT_EQ(hash_graph(graph), hash_graph(back));
  });
}

TEST(DeepGraphs, OfViewsArePlanned) {
  on_small_stack([] {
    const Graph graph = view_chain(deep);
    const Plan plan = make_plan(graph, test_target(), {.effort = little});
    EXPECT_EQ(problems(graph, plan, test_target()), std::vector<std::string>());
    EXPECT_LT(plan.steps.size(), static_cast<std::size_t>(deep / 10));
  });
}

// Where every link of the chain is read and nothing else.
TEST(DeepGraphs, OfViewsThatAreAllReadArePlanned) {
  on_small_stack([] {
    fake::Sketch s;
    Var x = s.node({s.input(4, 16)}, 16);
    for (int i = 0; i < deep / 4; ++i) {
      x = s.transposed(x);
      s.reads({x}, 1, 1);
    }
    s.output(s.reads({x}, 1, 1));
    const Plan plan = make_plan(s.graph, test_target(), {.effort = little});
    EXPECT_EQ(plan.steps.size(), static_cast<std::size_t>(deep / 4) + 2);
  });
}

TEST(DeepGraphs, AreDifferentiatedOptimisedPlannedAndRun) {
  on_small_stack([] {
    Graph graph = chain(deep / 10);
    Builder builder(graph);
    const Var x(builder, graph.inputs()[0].value), y(builder, graph.outputs()[0]);
    const std::vector<Var> outputs{reduce_sum(y, {0, 1})}, seeds{constant(builder, DType::f32, 1)}, inputs{x};
    graph.add_output(pull_back(builder, outputs, seeds, inputs).front().id());
    const Graph prepared = prepare_graph(graph);
    const Plan plan = make_plan(prepared, test_target(), {.effort = little});
    const Plan back = plan_from_json(to_json(plan));
    EXPECT_EQ(plan_hash(back), plan_hash(plan));
    EXPECT_EQ(problems(prepared, back, test_target()), std::vector<std::string>());
    CpuDevice device(1);
    Arena arena(device, plan.arena_bytes);
    Executor executor(prepared, verified(prepared, plan, test_target()), device, arena);
    std::vector<float> values(16, 0.5f);
    alignas(64) std::byte memory[64];
    std::memcpy(memory, values.data(), sizeof memory);
    const Address input = host_address(memory);
    executor.run({&input, 1});
  });
}

TEST(DeepGraphs, WithinABudgetArePlanned) {
  on_small_stack([] {
    fake::Sketch s;
    std::vector<Var> forward{s.input(4, 64)};
    for (int i = 0; i < deep / 20; ++i) forward.push_back(s.node({forward.back()}, 4));
    Var back = forward.back();
    for (std::size_t i = forward.size(); i-- > 1;) back = s.node({back, forward[i]}, 4);
    s.output(back);
    const Plan free = make_plan(s.graph, test_target(), {.effort = little});
    const Result<Plan, Infeasible> less =
        try_plan(s.graph, test_target(), {.memory = free.peak() * 9 / 10, .effort = little});
    EXPECT_LE((less ? less.value() : less.error().smallest).peak(), free.peak());
  });
}

TEST(DeepGraphs, AreTracedAndFreed) {
  on_small_stack([] {
    const auto traced = trace_call(
        [](Tensor u) {
          for (int i = 0; i < deep; ++i) u = tanh(u);
          return u;
        },
        std::tuple(full({4}, 0.5f)), {});
    EXPECT_GE(traced.graph->nodes().size(), static_cast<std::size_t>(deep));
    Tensor eager = full({4}, 0.5f);
    for (int i = 0; i < deep / 10; ++i) eager = tanh(eager) + eager.at(Range{0, 4});
    EXPECT_EQ(eager.shape(), (Shape{4}));
  });
}

TEST(DeepGraphs, OfLoopsInLoopsHaveALimit) {
  const std::function<Tensor(Tensor, int)> nest = [&](Tensor u, int depth) {
    return depth == 0 ? u * 0.5
                      : repeat(
                            1, [&](Tensor v) { return nest(v, depth - 1); }, u);
  };
  const auto trace_of = [&](int depth) {
    return trace_call([&](Tensor u) { return nest(u, depth); }, std::tuple(full({4}, 0.5f)), {});
  };
  EXPECT_NO_THROW(trace_of(20));
  try {
    trace_of(65);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_graph);
    EXPECT_NE(std::string(error.what()).find("nested more than 64 deep"), std::string::npos) << error.what();
  }
}

TEST(DeepGraphs, OfCostsAndBytesAreReadAndJudged) {
  on_small_stack([] {
    Dag dag;
    for (int i = 0; i < deep; ++i) {
      dag.names.push_back("n");
      dag.cost.push_back(1);
      dag.bytes.push_back(64);
      dag.backward.push_back(false);
      if (i > 0) dag.edges.push_back({i - 1, i});
    }
    const Dag back = dag_from_json(to_json(dag), "deep.dag.json");
    std::vector<int> order(static_cast<std::size_t>(deep));
    for (int i = 0; i < deep; ++i) order[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(check_schedule(back, order).peak, 128);
  });
}

}  // namespace
}  // namespace tidemark::testing
