#include "tidemark/plan/verify/verify_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/plan/verify/verify_lanes.h"

namespace tidemark {
namespace {

using fake::Sketch;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr auto small = [] { return fake::WorkAttrs{.rows = {1}, .columns = {64}}; };

Var call(Sketch& s, const Var& x, const Op& op) { return s.many({x}, small(), op).front(); }

std::vector<std::string> effect_problems(const Graph& graph, const Plan& plan) {
  ProblemList problems;
  verify_effects(graph, plan, problems);
  return problems.take();
}

std::vector<std::string> lane_problems(const Graph& graph, const Plan& plan) {
  ProblemList problems;
  verify_lanes(plan, effect_pairs(graph, plan), problems);
  return problems.take();
}

// effect, exchange, effect, exchange, and a body with one of each, all of x; then what is put out.
struct Mixed {
  Mixed() {
    const Var x = s.input(1, 64);
    for (const Op* op : {&fake::effect, &fake::exchange, &fake::effect, &fake::exchange}) call(s, x, *op);
    Sketch body;
    const Var in = body.input(1, 64);
    call(body, in, fake::effect);
    body.output(call(body, in, fake::exchange));
    s.inside({x}, body.graph);
    s.output(s.node({x}, 1));
    plan = make_plan(s.graph, test_target(), {.skip = {"order"}});
  }
  Plan in_order(const std::vector<std::size_t>& steps) const {
    Plan p = plan;
    p.steps.clear();
    for (std::size_t t : steps) p.steps.push_back(plan.steps[t]);
    return p;
  }
  Sketch s;
  Plan plan;
};

TEST(VerifyEffects, KeepTheOrderOfTheirDomainAndMayPassOthers) {
  const Mixed m;
  ASSERT_EQ(m.plan.steps.size(), 6u);
  EXPECT_THAT(effect_problems(m.s.graph, m.plan), IsEmpty());
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({1, 0, 2, 3, 4, 5})), IsEmpty());
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({1, 3, 0, 2, 5, 4})), IsEmpty());
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({2, 1, 0, 3, 4, 5})),
              ElementsAre("step 2 (effect): effects out of order in the domain io"));
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 3, 2, 1, 4, 5})),
              ElementsAre("step 3 (exchange): effects out of order in the domain wire"));
  // The body does both.
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 1, 2, 4, 3, 5})),
              ElementsAre("step 4 (exchange): effects out of order in the domain wire"));
}

TEST(VerifyEffects, HappenAsOftenAsTheGraphSays) {
  const Mixed m;
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 1, 2, 3, 5})),
              ElementsAre("effect block never runs"));
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 2, 3, 4, 5})),
              ElementsAre("effect exchange never runs"));
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 0, 1, 2, 3, 4, 5})),
              ElementsAre("step 1 (effect): may not run twice"));
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 1, 2, 3, 4, 4, 5})),
              ElementsAre("step 5 (block): may not run twice"));
  // What may be repeated may be so later, after others of its domain.
  EXPECT_THAT(effect_problems(m.s.graph, m.in_order({0, 1, 2, 3, 4, 1, 5})), IsEmpty());
}

TEST(VerifyEffects, AreJudgedInBodies) {
  Mixed m;
  ASSERT_EQ(m.plan.bodies.size(), 1u);
  Plan& body = m.plan.bodies[0].regions[0];
  ASSERT_EQ(body.steps.size(), 2u);
  body.steps[1] = body.steps[0];
  EXPECT_THAT(problems(m.s.graph, m.plan, test_target()),
              Contains(HasSubstr("region 0: effect exchange never")));
  EXPECT_THAT(problems(m.s.graph, m.plan, test_target()),
              Contains(HasSubstr("region 0: step 1 (effect): may not run twice")));
}

// Every run of a domain comes behind the one before it, repeats too; lanes run side by side.
TEST(VerifyEffects, AreOrderedAcrossLanes) {
  const Mixed m;
  EXPECT_THAT(effect_pairs(m.s.graph, m.in_order({0, 1, 2, 3, 4, 1, 5})),
              ElementsAre(Pair(0, 2), Pair(1, 3), Pair(2, 4), Pair(3, 4), Pair(4, 5)));
  Sketch s;
  const Var x = s.input(1, 64);
  for (const Op* op : {&fake::effect, &fake::exchange, &fake::effect}) call(s, x, *op);
  s.output(s.node({x}, 1));
  Plan p = make_plan(s.graph, test_target(), {.skip = {"order"}});
  ASSERT_EQ(p.steps.size(), 4u);
  p.lanes.push_back({.name = "second"});
  const auto unordered = Contains("effects of step 0 and step 2 in no order");
  p.steps[1].lane = 1;
  EXPECT_THAT(lane_problems(s.graph, p), Not(unordered)) << "the other domain";
  p.steps[2].lane = 1;
  EXPECT_THAT(lane_problems(s.graph, p), unordered);
  p.steps[2].waits = {0};
  EXPECT_THAT(lane_problems(s.graph, p), Not(unordered));
}

}  // namespace
}  // namespace tidemark
