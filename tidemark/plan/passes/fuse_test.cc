// What becomes one kernel, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/support/fake_ops.h"
#include "tests/support/model_graphs.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/solve/load_profile.h"

namespace tidemark {
namespace {

using fake::Sketch;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

int kernels(const Plan& plan) { return static_cast<int>(kernel_count(plan)); }
const Step& step_of(const Graph& graph, const Plan& plan, const Var& v) {
  return *std::ranges::find(plan.steps, graph[v.id()].producer, &Step::node);
}
Binding binding_of(const Graph& graph, const Plan& plan, const Var& v) {
  return plan.buffers[step_of(graph, plan, v).out[0].buffer.index].binding;
}
Plan without_fuse(const Graph& graph) { return make_plan(graph, test_target(), {.skip = {"fuse"}}); }

TEST(Fuse, AChainIsOneKernelAndHasNoMemoryInside) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var a = s.pointwise({x}), b = s.pointwise({a, x}), c = s.pointwise({b});
  s.output(c);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(kernels(plan), 1);
  EXPECT_EQ(binding_of(s.graph, plan, a), Binding::tile);
  EXPECT_EQ(binding_of(s.graph, plan, b), Binding::tile);
  EXPECT_EQ(plan.arena_bytes, 8 * 64);
  // x once, c once; the arithmetic of all three.
  EXPECT_EQ(plan.bytes_moved, 2 * 8 * 64);
  EXPECT_EQ(plan.flops, without_fuse(s.graph).flops);
  EXPECT_LT(plan.seconds, without_fuse(s.graph).seconds);
}

TEST(Fuse, WhatIsAlsoWantedOutsideIsStored) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var a = s.pointwise({x}), b = s.pointwise({a});
  const Var c = s.node({b}, 8);
  s.output(s.node({a, c}, 8));
  s.output(b);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(step_of(s.graph, plan, a).group, step_of(s.graph, plan, b).group);
  EXPECT_GE(step_of(s.graph, plan, a).group, 0);
  EXPECT_EQ(binding_of(s.graph, plan, a), Binding::arena);
  EXPECT_EQ(binding_of(s.graph, plan, b), Binding::arena);
}

TEST(Fuse, RunsMoveNextToEachOther) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var a = s.pointwise({x});
  const Var other = s.node({s.node({x}, 1)}, 1);
  const Var b = s.pointwise({a});
  s.output(b);
  s.output(other);
  const Plan plan = make_plan(s.graph, test_target(), {.skip = {"order"}});
  EXPECT_EQ(step_of(s.graph, plan, a).group, step_of(s.graph, plan, b).group);
  EXPECT_EQ(kernels(plan), 3);
  // Unless the order is the caller's.
  EXPECT_EQ(kernels(make_plan(s.graph, test_target(), {.fixed_order = true})), 4);
}

TEST(Fuse, WhatLiesBetweenKeepsThemApart) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var a = s.pointwise({x});
  const Var b = s.pointwise({a, s.node({a}, 8)});
  s.output(b);
  EXPECT_EQ(kernels(make_plan(s.graph, test_target())), 3);
}

TEST(Fuse, OtherShapesAndOtherElementsStayOutside) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var a = s.pointwise({x});
  s.output(s.pointwise({s.transposed(a)}));  // element (i, j) of one is (j, i) of the other
  s.output(s.pointwise({s.rows(a, 2, 6)}));  // another shape
  s.output(s.pointwise({s.pointwise({s.input(1, 64)}), s.input(8, 64)}));  // a row, repeated: made outside
  for (const Step& step : make_plan(s.graph, test_target()).steps) EXPECT_LT(step.group, 0);
}

TEST(Fuse, OneElementJoinsAndIsNowhere) {
  Sketch s;
  const Var x = s.input(8, 64);
  const Var half = s.pointwise({s.input(1, 1)});
  const Var y = s.pointwise({x, half});
  s.output(y);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(kernels(plan), 1);
  EXPECT_EQ(binding_of(s.graph, plan, half), Binding::tile);

  // Read elsewhere, it has memory, and so is no part of the group.
  s.output(s.node({half}, 1));
  EXPECT_EQ(kernels(make_plan(s.graph, test_target())), 3);
}

TEST(Fuse, ReadersOfTheSameArraysJoin) {
  Sketch s;
  const Var x = s.node({s.input(8, 64)}, 8);
  const Var a = s.pointwise({x}), b = s.pointwise({x});
  s.output(a);
  s.output(b);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(kernels(plan), 2);
  EXPECT_EQ(plan.arena_bytes, 2 * 8 * 64) << "one of them lies where x was";
}

TEST(Fuse, AResultMayLieOnWhatAnEarlierRunReads) {
  Sketch s;
  const Var x = s.node({s.input(8, 64)}, 8), y = s.node({x}, 8);
  const Var a = s.pointwise({x, y});
  const Var b = s.pointwise({a});
  s.output(b);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(kernels(plan), 3);
  EXPECT_EQ(plan.arena_bytes, 2 * 8 * 64);
  const Step& last = step_of(s.graph, plan, b);
  EXPECT_THAT(step_of(s.graph, plan, a).in, Contains(testing::Field(&Ref::buffer, last.out[0].buffer)));
}

TEST(Fuse, NotOnWhatALaterRunReads) {
  Sketch s;
  const Var x = s.node({s.input(8, 64)}, 8);
  const Var a = s.pointwise({x}), b = s.pointwise({a, x});
  s.output(a);
  s.output(b);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(kernels(plan), 2);
  const BufferId from = step_of(s.graph, plan, x).out[0].buffer;
  EXPECT_NE(step_of(s.graph, plan, a).out[0].buffer, from);
  EXPECT_EQ(step_of(s.graph, plan, b).out[0].buffer, from);
}

TEST(Fuse, IsRefusedWhereItWouldTakeMoreMemory) {
  // `big` falls to `small` at once; joining the reader of `small` far below would keep `big` till then.
  Sketch s;
  const Var big = s.node({s.input(1, 1)}, 100, 100);
  const Var a = s.pointwise({big});  // may overwrite big
  const Var part = s.node({a}, 1);
  const Var large = s.node({part}, 100, 100);
  const Var end = s.node({large}, 1);
  const Var b = s.pointwise({a, end});
  s.output(s.node({b}, 1));
  const Plan plain = make_plan(s.graph, test_target(), {.skip = {"fuse", "order"}}),
             fused = make_plan(s.graph, test_target(), {.skip = {"order"}});
  EXPECT_LE(fused.peak(), plain.peak());
}

TEST(Fuse, NeverRaisesTheLoadOfATrainingStep) {
  const std::pair<const char*, Graph> cases[] = {{"mlp", models::mlp(4, 32, 64)},
                                                 {"mlp with adam", models::mlp(4, 16, 64, true)},
                                                 {"transformer", models::transformer(2, 4, 16, 64, 4)},
                                                 {"residual", models::residual(3, 2, 8, 16, true)}};
  for (const auto& [name, graph] : cases) {
    const Plan plain = without_fuse(graph),
               fused = make_plan(graph, test_target(), {.check_every_pass = true});
    EXPECT_LE(fused.lower_bound, plain.lower_bound) << name;
    EXPECT_LE(fused.peak(), plain.peak()) << name;
    EXPECT_LT(fused.seconds, plain.seconds) << name;
    EXPECT_LT(kernels(fused), 0.8 * kernels(plain)) << name;
    EXPECT_EQ(static_cast<int>(fused.steps.size()) - fused.duplicates.steps,
              static_cast<int>(plain.steps.size()))
        << name;
  }
}

TEST(Fuse, TheUpdateOfAParameterIsOneKernel) {
  const Graph graph = models::mlp(3, 16, 64, true);
  const Plan plan = make_plan(graph, test_target());
  for (std::size_t i = 0; i + 3 <= graph.outputs().size(); i += 3) {  // p, m, v
    std::set<std::int32_t> groups;
    for (std::size_t k = i; k < i + 3; ++k)
      groups.insert(std::ranges::find(plan.steps, graph[graph.outputs()[k]].producer, &Step::node)->group);
    EXPECT_EQ(groups.size(), 1u) << i;
    EXPECT_GE(*groups.begin(), 0) << i;
  }
}

// Pointwise ops among others: views, several readers, donated inputs, rows and single elements to be
// repeated.
class RandomPointwise {
 public:
  RandomPointwise(unsigned seed, int nodes) : random_(seed) {
    for (int i = 0; i < 3; ++i) pool_.push_back(s.input(6, 32, "x", draw(2) == 0));
    pool_.push_back(s.input(1, 32, "row"));
    pool_.push_back(s.input(1, 1, "one"));
    for (int n = 0; n < nodes; ++n) step();
    for (int i = 0; i < 4; ++i) s.output(pick());
  }
  Sketch s;

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Var pick() {
    const int n = static_cast<int>(pool_.size());
    return pool_[static_cast<std::size_t>(draw(3) ? n - 1 - draw(std::min(n, 6)) : draw(n))];
  }
  void step() {
    const Var x = pick(), y = pick();
    const auto meets = [](std::int64_t a, std::int64_t b) { return a == b || a == 1 || b == 1; };
    switch (draw(10)) {
      case 0:
        return pool_.push_back(s.transposed(x));
      case 1:
        return pool_.push_back(s.reads({x, y}, 6, 32));
      case 2:
        return pool_.push_back(s.node({x}, 1, draw(2) ? 32 : 1));
      case 3:
        if (x.shape()[0] > 1) return pool_.push_back(s.rows(x, 0, x.shape()[0] - 1));
        [[fallthrough]];
      default:
        if (meets(x.shape()[0], y.shape()[0]) && meets(x.shape()[1], y.shape()[1]))
          return pool_.push_back(s.pointwise({x, y}));
        return pool_.push_back(s.pointwise({x}));
    }
  }

  std::mt19937 random_;
  std::vector<Var> pool_;
};

TEST(Fuse, PlansOfRandomGraphsPassTheVerifierAndNeedNoMore) {
  int groups = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomPointwise random(seed, 10 + static_cast<int>(seed % 50));
    const Graph& graph = random.s.graph;
    const Plan fused = make_plan(graph, test_target(), {.effort = 0.05, .check_every_pass = true});
    const Plan plain = make_plan(graph, test_target(), {.skip = {"fuse"}, .effort = 0.05});
    EXPECT_LE(fused.lower_bound, plain.lower_bound) << seed;
    EXPECT_GE(fused.lower_bound, fused.order_free_bound) << seed;
    EXPECT_LE(fused.seconds, plain.seconds) << seed;
    groups += kernels(fused) < kernels(plain);
    EXPECT_EQ(to_json(plan_from_json(to_json(fused))), to_json(fused)) << seed;
    for (const char* pass : {"views", "donate", "order", "in_place"})
      EXPECT_NO_THROW(make_plan(graph, test_target(), {.skip = {pass}, .effort = 0.05}))
          << seed << " without " << pass;
  }
  EXPECT_GT(groups, 250);
}

// Two values wait for the backward half, each a pointwise function of one that is kept anyway. One is read by
// a pointwise step, the other by a step that reads memory: only the first costs next to nothing to compute
// again.
TEST(Fuse, WhatItsReaderTakesInIsComputedAgainFirst) {
  for (const bool first : {true, false}) {
    Sketch s;
    const Var x = s.input(64, 64), y = s.input(64, 64);
    const Var a = s.pointwise({first ? x : y}), b = s.pointwise({first ? y : x});
    const Var inside = first ? a : b, outside = first ? b : a;
    const Var narrow = s.node({s.node({s.node({a}, 1), s.node({b}, 1)}, 192)}, 1);  // the peak
    const Var large = s.node({narrow}, 64);
    s.output(s.node({s.pointwise({inside, large})}, 1));
    s.output(s.node({outside, large}, 1));
    const Plan free = make_plan(s.graph, test_target(), {.fixed_order = true});
    const Plan plan =
        make_plan(s.graph, test_target(), {.memory = free.peak() - 64 * 64, .fixed_order = true});
    const auto runs = [&](const Var& v) {
      return std::ranges::count(plan.steps, s.graph[v.id()].producer, &Step::node);
    };
    EXPECT_EQ(runs(inside), 2);
    EXPECT_EQ(runs(outside), 1);
  }
}

TEST(Fuse, BudgetsAreKept) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const RandomPointwise random(seed, 30);
    const Graph& graph = random.s.graph;
    const Plan free = make_plan(graph, test_target(), {.effort = 0.01});
    for (double part : {0.9, 0.7, 0.0}) {
      const auto memory =
          free.input_bytes + static_cast<std::int64_t>(part * static_cast<double>(free.arena_bytes));
      const Result<Plan, Infeasible> found =
          try_plan(graph, test_target(), {.memory = memory, .effort = 0.01});
      if (found) {
        EXPECT_LE(found.value().peak(), memory) << seed;
        continue;
      }
      const std::int64_t smallest = found.error().smallest.peak();
      EXPECT_TRUE(try_plan(graph, test_target(), {.memory = smallest, .effort = 0.01})) << seed;
    }
  }
}

// x ──▶ a ──▶ b ──▶ c (stored), with x read by c too; and beside it a step by itself.
class FusedPlan : public testing::Test {
 protected:
  FusedPlan() {
    x = s.node({s.input(8, 64)}, 8);
    a = s.pointwise({x});
    b = s.pointwise({a});
    c = s.pointwise({b, x});
    s.output(b);
    s.output(s.node({c}, 8));
    plan = make_plan(s.graph, test_target(), {.skip = {"order"}});
  }
  void expect_caught(std::string_view says, const std::function<void(Plan&)>& change) const {
    Plan broken = plan;
    change(broken);
    EXPECT_THAT(problems(s.graph, broken, test_target()), Contains(HasSubstr(std::string(says))));
  }
  BufferId result(std::size_t step) const { return plan.steps[step].out[0].buffer; }

  Sketch s;
  Var x, a, b, c;
  Plan plan;
};

TEST_F(FusedPlan, IsAccepted) {
  EXPECT_THAT(problems(s.graph, plan, test_target()), IsEmpty());
  ASSERT_EQ(plan.steps.size(), 5u);
  EXPECT_EQ(plan.steps[1].group, plan.steps[3].group);
  EXPECT_EQ(plan.buffers[result(1).index].binding, Binding::tile);
  EXPECT_EQ(result(3), result(0)) << "c lies on x";
}

TEST_F(FusedPlan, CatchesATornGroup) {
  expect_caught("not in a row", [](Plan& p) { p.steps[2].group = 7, p.steps[3].group = 0; });
  expect_caught("in a tile", [](Plan& p) { p.steps[1].group = -1; });
}

TEST_F(FusedPlan, CatchesAStepThatCannotJoin) {
  expect_caught("cannot join", [](Plan& p) { p.steps[0].group = p.steps[1].group; });
  expect_caught("cannot join", [](Plan& p) { p.steps[4].group = p.steps[1].group; });
}

TEST_F(FusedPlan, CatchesATileThatIsReadOutside) {
  expect_caught("outside", [&](Plan& p) { p.buffers[result(1).index].end = 5; });
  expect_caught("in a tile", [&](Plan& p) {
    Buffer& buffer = p.buffers[result(3).index];
    buffer.binding = Binding::tile;
    buffer.offset = 0;
  });
}

TEST_F(FusedPlan, CatchesAWriteThatALaterStepOfTheTileReads) {
  // b on x, which c reads for the same tile afterwards.
  expect_caught("does not hold",
                [&](Plan& p) { p.steps[2].out[0].buffer = p.steps[3].in[0].buffer = result(0); });
}

TEST_F(FusedPlan, CatchesLivesThatEndInside) {
  expect_caught("a part of it", [&](Plan& p) { p.buffers[result(2).index].begin = 2; });
}

TEST_F(FusedPlan, CatchesAWriteOnAnotherWindow) {
  Sketch t;
  const Var y = t.node({t.input(8, 8)}, 8, 8);
  const Var turned = t.pointwise({t.transposed(y)});
  const Var end = t.pointwise({turned});
  t.output(end);
  Plan p = make_plan(t.graph, test_target(), {.skip = {"order"}});
  ASSERT_EQ(p.steps.size(), 3u);
  ASSERT_THAT(problems(t.graph, p, test_target()), IsEmpty());
  ASSERT_NE(p.steps[2].out[0].buffer, p.steps[0].out[0].buffer);
  p.steps[2].out[0].buffer = p.outputs[0].buffer = p.steps[0].out[0].buffer;
  EXPECT_THAT(problems(t.graph, p, test_target()), Contains(HasSubstr("writes where")));
}

TEST(LoadProfile, KnowsTheHighestPointOfEveryStretch) {
  std::mt19937 random(3);
  constexpr int steps = 37;
  LoadProfile profile(steps);
  std::vector<std::int64_t> loads(steps, 0);
  for (int i = 0; i < 500; ++i) {
    int first = static_cast<int>(random() % steps), last = static_cast<int>(random() % steps);
    if (first > last) std::swap(first, last);
    const auto bytes = static_cast<std::int64_t>(random() % 100) - 40;
    profile.add(first, last, bytes);
    for (int t = first; t <= last; ++t) loads[static_cast<std::size_t>(t)] += bytes;
    const int from = static_cast<int>(random() % steps);
    EXPECT_EQ(profile.most(from, steps - 1), *std::max_element(loads.begin() + from, loads.end()));
    EXPECT_EQ(profile.most(), *std::ranges::max_element(loads));
  }
}

}  // namespace
}  // namespace tidemark
