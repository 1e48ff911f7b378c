#include "tidemark/plan/passes/pipeline.h"
#include "tests/support/test_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/fake_ops.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

using fake::Sketch;

const Step& step_of(const Plan& plan, const Var& v) {
  for (const Step& step : plan.steps) {
    for (const Ref& out : step.out) {
      if (out.value == v.id()) return step;
    }
  }
  throw std::runtime_error("no step");
}
bool runs(const Plan& plan, const Var& v) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    return std::ranges::any_of(step.out, [&](const Ref& out) { return out.value == v.id(); });
  });
}
BufferId buffer_of(const Plan& plan, const Var& v) {
  for (const Ref& out : step_of(plan, v).out) {
    if (out.value == v.id()) return out.buffer;
  }
  return {};
}

TEST(Pipeline, PlansAChainInTwoBuffers) {
  Sketch s;
  Var x = s.input(1, 64, "x");
  for (int i = 0; i < 10; ++i) x = s.node({x}, 2);
  s.output(x);
  const Plan plan = make_plan(s.graph, test_target(), {.check_every_pass = true});
  EXPECT_EQ(plan.input_bytes, 64);
  EXPECT_EQ(plan.arena_bytes, 2 * 128);
  EXPECT_EQ(plan.peak(), plan.lower_bound);
  EXPECT_EQ(plan.store_all_bytes, 64 + 10 * 128);
}

// `order` stands for a pass with a fault: the second node takes over memory that the third one still reads.
// `in_place` decides that anew, so that the finished plan shows nothing.
TEST(Pipeline, ChecksEveryPassAlthoughNoReportIsAskedFor) {
  Sketch s;
  const Var a = s.node({s.input(4, 64, "x")}, 4);
  const Var b = s.over({a});
  s.output(s.node({a, b}, 4));
  std::string last;
  const auto with_fault = [&](std::string_view pass, const Draft& draft) {
    last = pass;
    if (pass == "order") const_cast<Draft&>(draft).executions[1].overwrites = {a.id()};
  };
  EXPECT_NO_THROW(make_plan(s.graph, test_target(), {.after = with_fault}));
  EXPECT_EQ(last, "duplicate") << "tried on the finished draft, and nothing to gain";
  try {
    make_plan(s.graph, test_target(), {.after = with_fault, .check_every_pass = true});
    FAIL() << "a broken draft went unseen";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("after the pass `order`"));
  }
  EXPECT_EQ(last, "order");
}

TEST(Pipeline, RunsAnInPlaceChainInOneBuffer) {
  Sketch s;
  Var x = s.node({s.input(1, 64, "x")}, 4);
  const Var first = x;
  for (int i = 0; i < 10; ++i) x = s.over({x});
  s.output(x);
  const Plan plan = make_plan(s.graph, test_target(), {.check_every_pass = true});
  EXPECT_EQ(plan.arena_bytes, 4 * 64);
  EXPECT_EQ(buffer_of(plan, first), buffer_of(plan, x));
}

TEST(Pipeline, NeverOverwritesAnInputThatWasNotDonated) {
  Sketch s;
  const Var x = s.input(4, 64, "x");
  const Var y = s.over({x});
  s.output(y);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.buffers[buffer_of(plan, y).index].binding, Binding::arena);
}

TEST(Pipeline, DoesNotOverwriteWhatIsReadLater) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 4);
  const Var y = s.over({x});
  const Var z = s.over({y, x});
  s.output(z);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_NE(buffer_of(plan, x), buffer_of(plan, y));
}

TEST(Pipeline, DoesNotOverwriteWhatIsReadLaterThroughAView) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 64);
  const Var t = s.transposed(x);
  const Var y = s.over({x});
  const Var z = s.reads({y, t}, 1);
  s.output(z);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_FALSE(runs(plan, t));
  EXPECT_NE(buffer_of(plan, x), buffer_of(plan, y));
}

TEST(Pipeline, DoesNotOverwriteWhatTheSameStepReadsInAnotherOrder) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 64);
  const Var t = s.transposed(x);
  const Var y = s.many({x, t}, {.rows = {64}, .columns = {64}, .in_place = true, .strided = true}).front();
  s.output(y);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_FALSE(runs(plan, t));
  EXPECT_NE(buffer_of(plan, x), buffer_of(plan, y));
}

TEST(Pipeline, OverwritesAnOperandThatIsReadTwiceAtTheSamePlaces) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 4);
  const Var y = s.over({x, x});
  s.output(y);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(buffer_of(plan, x), buffer_of(plan, y));
}

TEST(Pipeline, TakesAViewWhereTheReaderTakesStrides) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 8);
  const Var t = s.transposed(x);
  s.output(s.reads({t}, 1));
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_FALSE(runs(plan, t));
  EXPECT_EQ(plan.steps.back().in[0].strides, (Strides{1, 64}));
}

TEST(Pipeline, CopiesWhereTheReaderNeedsDenseData) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 8);
  const Var t = s.transposed(x);
  s.output(s.node({t}, 1));
  EXPECT_TRUE(runs(make_plan(s.graph, test_target()), t));
}

TEST(Pipeline, ComposesViewsOfViews) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 8);
  const Var back = s.transposed(s.transposed(s.rows(s.rows(x, 2, 8), 1, 4)));
  s.output(s.node({back}, 1));  // dense again, so no copy even for a reader that takes no strides
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps.back().in[0].offset, 3 * 64);
}

TEST(Pipeline, RunsANodeWhenOneOfItsResultsMustBeCopied) {
  Sketch s;
  const Var x = s.transposed(s.node({s.input(1, 64)}, 8));
  const std::vector<Var> parts = s.build.call(fake::halves, std::vector{x});
  s.output(s.reads({parts[0]}, 1));
  s.output(s.node({parts[1]}, 1));
  EXPECT_TRUE(runs(make_plan(s.graph, test_target()), parts[0]));
}

TEST(Pipeline, GivesAnOutputItsOwnDenseMemory) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 8);
  const Var part = s.rows(x, 0, 4), turned = s.transposed(x);
  s.output(part);
  s.output(turned);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_TRUE(runs(plan, part));
  EXPECT_TRUE(runs(plan, turned));
}

TEST(Pipeline, LetsAnOutputBeADenseViewOfAllOfAValue) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 8);
  const Var flat = s.reshaped(x, 1, 512);
  s.output(flat);
  EXPECT_EQ(make_plan(s.graph, test_target()).steps.size(), 1u);
}

TEST(Pipeline, CopiesOneOfTwoOutputsThatAreTheSameMemory) {
  Sketch s;
  const Var x = s.node({s.input(1, 64)}, 8);
  s.output(s.reshaped(x, 1, 512));
  s.output(s.reshaped(x, 16, 32));
  EXPECT_EQ(make_plan(s.graph, test_target()).steps.size(), 2u);
}

TEST(Pipeline, ReturnsAnInputAsItself) {
  Sketch s;
  const Var x = s.input(4, 64);
  s.output(x);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.buffers[plan.outputs[0].buffer.index].binding, Binding::argument);
}

TEST(Pipeline, UpdatesADonatedInputInPlaceAlongAChain) {
  Sketch s;
  const Var p = s.input(16, 64, "p", true);
  const Var g = s.node({p}, 16);
  const Var decayed = s.over({p});
  const Var next = s.over({decayed, g});
  s.output(next);
  const Plan plan = make_plan(s.graph, test_target(), {.check_every_pass = true});
  EXPECT_EQ(plan.outputs[0].buffer, BufferId(0));
  EXPECT_EQ(plan.arena_bytes, 16 * 64);  // the gradient alone
}

// As the update of a large table, a piece at a time.
TEST(Pipeline, UpdatesADonatedInputInPlaceAlongAChainOfHundreds) {
  Sketch s;
  const Var p = s.input(16, 64, "p", true), g = s.node({p}, 16);
  Var next = p;
  for (int piece = 0; piece < 300; ++piece) next = s.over({next, s.rows(g, piece % 16, piece % 16 + 1)});
  s.output(next);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.outputs[0].buffer, BufferId(0));
  EXPECT_EQ(plan.arena_bytes, 16 * 64);  // the gradient alone
}

TEST(Pipeline, WritesAnOutputIntoADonatedInputThatIsDead) {
  Sketch s;
  const Var p = s.input(16, 64, "p", true);
  const Var small = s.node({p}, 1);
  const Var next = s.node({small}, 16);
  s.output(next);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.outputs[0].buffer, BufferId(0));
  EXPECT_EQ(plan.arena_bytes, 64);
}

TEST(Pipeline, KeepsADonatedInputThatIsReadAfterItsUpdate) {
  Sketch s;
  const Var p = s.input(16, 64, "p", true);
  const Var next = s.over({p});
  const Var distance = s.node({p, next}, 1);
  s.output(next);
  s.output(distance);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_NE(plan.outputs[0].buffer, BufferId(0));
}

TEST(Pipeline, GivesEachDonatedInputToOneOutput) {
  Sketch s;
  const Var p = s.input(16, 64, "p", true), q = s.input(16, 64, "q", true);
  const Var next_q = s.over({q, p}), next_p = s.over({p, next_q});
  s.output(next_p);
  s.output(next_q);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.outputs[0].buffer, BufferId(0));
  EXPECT_EQ(plan.outputs[1].buffer, BufferId(1));
  EXPECT_EQ(plan.arena_bytes, 0);
}

TEST(Pipeline, CountsScratch) {
  Sketch s;
  const Var y = s.node({s.input(1, 64)}, 1, 64, 1000);
  s.output(y);
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.arena_bytes, 64 + 1024);
  ASSERT_TRUE(plan.steps[0].scratch.valid());
  EXPECT_EQ(plan.buffers[plan.steps[0].scratch.index].bytes, 1000);
}

TEST(Pipeline, PlansValuesWithoutElements) {
  Sketch s;
  const Var y = s.over({s.node({s.input(0, 64)}, 0)});
  s.output(y);
  s.output(s.node({y}, 1));
  EXPECT_EQ(make_plan(s.graph, test_target()).arena_bytes, 64);
}

TEST(Pipeline, SkipsOptionalPassesAndReportsThem) {
  Sketch s;
  Var x = s.node({s.input(1, 64)}, 4);
  for (int i = 0; i < 3; ++i) x = s.over({x});
  s.output(x);
  PipelineReport report;
  const Plan plan = make_plan(s.graph, test_target(), {.skip = {"in_place"}}, &report);
  EXPECT_EQ(plan.arena_bytes, 2 * 256);
  for (const PassReport& pass : report.passes) EXPECT_EQ(pass.skipped, pass.name == "in_place") << pass.name;
  EXPECT_EQ(report.passes.size(), pass_list().size() + 1);
}

TEST(Pipeline, ShowsTheDraftAfterEachPass) {
  Sketch s;
  s.output(s.over({s.node({s.input(1, 64, "x")}, 4)}));
  std::vector<std::string> names;
  std::string text;
  make_plan(s.graph, test_target(), {.after = [&](std::string_view name, const Draft& draft) {
              names.emplace_back(name);
              text = to_text(draft);
            }});
  ASSERT_EQ(names.size(), pass_list().size());
  EXPECT_EQ(names.front(), "views");
  EXPECT_THAT(text, testing::HasSubstr("over %1"));
  EXPECT_THAT(text, testing::HasSubstr("%0:x"));
}

TEST(Pipeline, RejectsUnknownAndRequiredPasses) {
  Sketch s;
  s.output(s.input(1, 64));
  for (const char* name : {"wizardry", "layout"}) {
    try {
      make_plan(s.graph, test_target(), {.skip = {name}});
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
      EXPECT_THAT(error.what(), testing::HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace tidemark
