// What kernels make for themselves, and what they read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_ops.h"
#include "tests/support/memory_bound.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_json.h"

namespace tidemark {
namespace {

using fake::Sketch;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t size = 64 * 64;  // of the matrices

PlanOptions on_bytes() { return {.machine = &testing::memory_bound(), .check_every_pass = true}; }
Plan with(const Graph& graph, PlanOptions options = on_bytes()) {
  return make_plan(graph, test_target(), options);
}
Plan without(const Graph& graph, PlanOptions options = on_bytes()) {
  options.skip.emplace_back("duplicate");
  return make_plan(graph, test_target(), options);
}

int runs(const Graph& graph, const Plan& plan, const Var& v) {
  return static_cast<int>(std::ranges::count(plan.steps, graph[v.id()].producer, &Step::node));
}
// Of all its runs.
std::vector<Binding> bindings(const Graph& graph, const Plan& plan, const Var& v) {
  std::vector<Binding> list;
  for (const Step& step : plan.steps) {
    if (step.node == graph[v.id()].producer) list.push_back(plan.buffers[step.out[0].buffer.index].binding);
  }
  return list;
}

// x ──▶ v ──▶ a ──▶ far ──▶ c      v is read by the kernel that makes it and by one behind `far`, which lies
//       └───────────────────┘      between them
struct ReadTwice {
  explicit ReadTwice(bool donated = false) : x(s.input(64, 64, "x", donated)) {
    s.output(c);
    s.output(a);
  }
  Sketch s;
  const Var x;
  const Var v = s.pointwise({x}), a = s.pointwise({v});
  const Var far = s.node({a}, 64);
  const Var c = s.pointwise({v, far});
};

TEST(Duplicate, WhatTwoKernelsReadIsMadeInBothAndNowhere) {
  const ReadTwice g;
  const Plan before = without(g.s.graph), plan = with(g.s.graph);
  EXPECT_EQ(runs(g.s.graph, before, g.v), 1);
  EXPECT_EQ(runs(g.s.graph, plan, g.v), 2);
  EXPECT_THAT(bindings(g.s.graph, plan, g.v), Each(Binding::tile));
  EXPECT_EQ(before.bytes_moved - plan.bytes_moved, size) << "it is not written; x is read in its place";
  EXPECT_LT(plan.seconds, before.seconds);
  EXPECT_LT(plan.peak(), before.peak());
  EXPECT_EQ(plan.duplicates.values, 1);
  EXPECT_EQ(plan.duplicates.steps, 1);
  EXPECT_NEAR(plan.duplicates.seconds, before.seconds - plan.seconds, 1e-15);
}

TEST(Duplicate, ThePlanSaysWhatItSaves) {
  const ReadTwice g;
  const Plan plan = with(g.s.graph);
  EXPECT_EQ(plan.extra_time(), 0) << "extra is what want of memory costs";
  EXPECT_EQ(plan.seconds_bound, plan.seconds);
  EXPECT_THAT(summary(g.s.graph, plan),
              HasSubstr("1 values made by kernels that read them, in 1 more steps: -"));
  EXPECT_THAT(summary(g.s.graph, plan), HasSubstr("recomputing 0 of 4 steps"));
  EXPECT_EQ(to_json(plan_from_json(to_json(plan))), to_json(plan));
}

TEST(Duplicate, NothingIsMadeAgainThatIsSlower) {
  const ReadTwice g;  // bytes are few beside the arithmetic that makes them
  const Plan plan = make_plan(g.s.graph, test_target());
  EXPECT_EQ(runs(g.s.graph, plan, g.v), 1);
  EXPECT_EQ(plan.duplicates.values, 0);
}

TEST(Duplicate, NorWhereRecomputingIsNotAllowed) {
  const ReadTwice g;
  PlanOptions keeping = on_bytes();
  keeping.allow = {Choice::keep};
  EXPECT_EQ(to_json(with(g.s.graph, keeping)), to_json(without(g.s.graph)));
  PlanOptions apart = on_bytes();
  apart.skip = {"fuse"};
  EXPECT_EQ(to_json(with(g.s.graph, apart)), to_json(without(g.s.graph, apart))) << "it makes no groups";
}

TEST(Duplicate, WhatAHintKeepsIsReadByAll) {
  ReadTwice g;
  g.s.graph.add_hint({.kind = HintKind::keep, .value = g.v.id()});
  EXPECT_EQ(runs(g.s.graph, with(g.s.graph), g.v), 1);
}

TEST(Duplicate, AChainComesWithWhatItIsMadeOf) {
  Sketch s;
  const Var x = s.input(64, 64), half = s.pointwise({s.input(1, 1)});
  const Var u = s.pointwise({x, half}), v = s.pointwise({u, u}), a = s.pointwise({v});
  const Var c = s.pointwise({s.node({a}, 64), v});
  s.output(c);
  s.output(a);
  const Plan plan = with(s.graph);
  for (const Var& made : {half, u, v}) {
    EXPECT_EQ(runs(s.graph, plan, made), 2);
    EXPECT_THAT(bindings(s.graph, plan, made), Each(Binding::tile));
  }
  EXPECT_EQ(plan.duplicates.values, 3);
}

TEST(Duplicate, ItsOwnKernelMayBeLeftOut) {
  Sketch s;
  const Var x = s.input(64, 64);
  const Var v = s.pointwise({x});  // not next to either reader: both need something of `far`
  const Var far = s.node({v}, 64), a = s.pointwise({v, far}), c = s.pointwise({s.node({a}, 64), v});
  s.output(a);
  s.output(c);
  const Plan before = without(s.graph), plan = with(s.graph);
  // `far` reads it from memory, so it stays; the others read x instead of it only if that saves bytes.
  EXPECT_EQ(plan.steps.size(), before.steps.size());

  Sketch t;
  const Var y = t.input(64, 64), early = t.node({y}, 64);
  const Var w = t.pointwise({y}), b = t.pointwise({w, early});
  const Var d = t.pointwise({t.node({b}, 64), w});
  t.output(b);
  t.output(d);
  const Plan moved = with(t.graph);
  EXPECT_THAT(bindings(t.graph, moved, w), Each(Binding::tile));
  EXPECT_LT(moved.seconds, without(t.graph).seconds);
}

// The last reader takes v from memory; the one in between has x at hand and makes v for itself. Who comes
// after it reads the version in memory, not that of the kernel.
TEST(Duplicate, OthersGoOnReadingTheVersionInMemory) {
  Sketch s;
  const Var x = s.input(64, 64);
  const Var v = s.pointwise({x}), a = s.node({v}, 64);
  const Var c = s.pointwise({v, x, a}), d = s.node({v, c}, 64);
  const Var e = s.pointwise({d, v, x});
  s.output(e);
  const Plan before = without(s.graph), plan = with(s.graph);
  EXPECT_EQ(plan.duplicates.values, 2);
  EXPECT_EQ(before.bytes_moved - plan.bytes_moved, 2 * size);
  BufferId stored;
  for (const Step& step : plan.steps) {
    const BufferId out = step.out[0].buffer;
    if (step.node == s.graph[v.id()].producer && plan.buffers[out.index].binding == Binding::arena)
      stored = out;
    if (step.node == s.graph[d.id()].producer) {
      EXPECT_EQ(step.in[0].buffer, stored);
    }
  }
  EXPECT_TRUE(stored.valid());
}

TEST(Duplicate, NotWhereOperandsWouldHaveToWaitAtThePeak) {
  Sketch s;
  const Var x = s.node({s.input(64, 64)}, 64), y = s.node({s.input(64, 64)}, 64);
  const Var v = s.pointwise({x, y}), a = s.pointwise({v});  // x and y end here
  const Var narrow = s.node({s.node({a}, 640)}, 1);         // the peak
  const Var c = s.pointwise({v, narrow});
  s.output(c);
  const Plan before = without(s.graph), plan = with(s.graph);
  EXPECT_EQ(runs(s.graph, plan, v), 1);
  EXPECT_EQ(plan.peak(), before.peak());
}

TEST(Duplicate, NotOfWhatIsOverwrittenByThen) {
  Sketch s;
  const Var state = s.input(64, 64, "state", true);
  const Var v = s.pointwise({state}), a = s.pointwise({v});
  const Var next = s.over({state});  // in the memory of `state`, between the two kernels
  const Var far = s.node({a, next}, 64);
  const Var c = s.pointwise({v, far});
  s.output(next);
  s.output(c);
  s.output(a);
  const Plan plan = with(s.graph);
  bool overwritten = false;
  for (const Step& step : plan.steps) {
    overwritten |= step.node == s.graph[next.id()].producer;
    EXPECT_FALSE(overwritten && step.node == s.graph[v.id()].producer);
  }
  EXPECT_EQ(runs(s.graph, plan, v), 1);
}

TEST(Duplicate, AGivenOrderStays) {
  Sketch s;
  const Var x = s.input(64, 64);
  const Var v = s.pointwise({x});
  const Var far = s.node({x}, 64);
  s.output(s.pointwise({v, far}));
  PlanOptions given = on_bytes();
  given.fixed_order = true;
  const Plan plan = with(s.graph, given);
  std::vector<std::uint32_t> first;
  for (const Step& step : plan.steps) {
    if (std::ranges::count(first, step.node.index) == 0) first.push_back(step.node.index);
  }
  EXPECT_TRUE(std::ranges::is_sorted(first));
}

TEST(Duplicate, SomethingThatRunsOnceRunsOnce) {
  Sketch s;
  const Var x = s.input(64, 64);
  const Var v =
      s.many({x}, {.rows = {64}, .columns = {64}, .strided = true, .pointwise = true}, fake::effect).front();
  const Var a = s.pointwise({v}), c = s.pointwise({v, s.node({a}, 64)});
  s.output(a);
  s.output(c);
  EXPECT_EQ(runs(s.graph, with(s.graph), v), 1);
}

}  // namespace
}  // namespace tidemark
