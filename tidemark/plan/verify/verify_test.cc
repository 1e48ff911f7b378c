#include "tidemark/plan/verify/verify.h"
#include "tests/support/test_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/budget_graphs.h"
#include "tests/support/random_graphs.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

using fake::Sketch;
using testing::HasSubstr;

// Something of everything, small enough to corrupt by hand. In the given order:
//   0 a = node(x)   1 b = over(a)   2 c = reads(transpose(b), scratch)   3 halves of b, one of them read
//   densely
//   4 next = over(p), p donated      5 d = node(b, c)
class Verify : public testing::Test {
 protected:
  Verify() {
    const Var x = s.input(4, 64, "x"), p = s.input(8, 64, "p", true);
    const Var a = s.node({x}, 8);
    const Var b = s.over({a});
    const Var turned = s.transposed(b);
    const Var c = s.many({turned}, {.rows = {8}, .columns = {64}, .scratch = 300, .strided = true}).front();
    const Var part = s.rows(b, 2, 6);
    const Var e = s.node({part}, 8);
    const Var next = s.over({p, e});
    const Var d = s.node({b, c}, 8);
    s.output(next);
    s.output(d);
    s.output(x);
    plan = make_plan(s.graph, test_target(), {.skip = {"order", "release"}});
  }
  Plan broken(const std::function<void(Plan&)>& change) const {
    Plan copy = plan;
    change(copy);
    return copy;
  }
  void expect_caught(std::string_view says, const std::function<void(Plan&)>& change) const {
    EXPECT_THAT(problems(s.graph, broken(change), test_target()),
                testing::Contains(HasSubstr(std::string(says))));
  }
  BufferId result(std::size_t step) const { return plan.steps[step].out[0].buffer; }

  Sketch s;
  Plan plan;
};

TEST_F(Verify, AcceptsThePlan) {
  EXPECT_THAT(problems(s.graph, plan, test_target()), testing::IsEmpty());
  EXPECT_NO_THROW(verify_or_throw(s.graph, plan, test_target()));
  ASSERT_EQ(plan.steps.size(), 6u);
  EXPECT_EQ(result(0), result(1));                 // in place
  EXPECT_TRUE(plan.steps[2].scratch.valid());      // scratch
  EXPECT_EQ(plan.outputs[0].buffer, BufferId(1));  // donated
}

TEST_F(Verify, ThrowsAnInternalErrorWithTheProblems) {
  Plan bad = plan;
  bad.arena_bytes += 64;
  try {
    verify_or_throw(s.graph, bad, test_target());
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("arena_bytes"));
  }
}

TEST_F(Verify, CatchesAReadBeforeTheWrite) {
  expect_caught("does not hold", [](Plan& p) { std::swap(p.steps[1], p.steps[2]); });
}

TEST_F(Verify, CatchesAMissingStep) {
  expect_caught("does not hold", [](Plan& p) { p.steps[1] = p.steps[0]; });
  expect_caught("lives in", [](Plan& p) { p.steps.pop_back(); });
}

TEST_F(Verify, CatchesAMissingOutput) {
  expect_caught("output 1", [](Plan& p) { p.steps[5] = p.steps[3]; });
  expect_caught("outputs", [](Plan& p) { p.outputs.pop_back(); });
}

TEST_F(Verify, CatchesAnOverwrittenOperand) {
  // The last step reads b; writing c there destroys it.
  expect_caught("does not hold", [&](Plan& p) { p.steps[2].out[0].buffer = result(1); });
}

TEST_F(Verify, CatchesAReuseThatTheOpDoesNotAllow) {
  expect_caught("may not overwrite", [&](Plan& p) { p.steps[5].out[0].buffer = p.steps[5].in[1].buffer; });
}

TEST_F(Verify, CatchesAPartialReuse) {
  Sketch t;
  const Var a = t.node({t.input(1, 64)}, 8);
  const Var b = t.over({t.rows(a, 0, 4)});
  t.output(b);
  Plan p = make_plan(t.graph, test_target());
  ASSERT_EQ(problems(t.graph, p, test_target()), std::vector<std::string>{});
  p.steps[1].out[0].buffer = p.steps[0].out[0].buffer;
  p.steps[1].out[0].offset = 64;
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("overwrites a part")));
}

TEST_F(Verify, CatchesTwoResultsInOnePlace) {
  Sketch t;
  const auto r = t.many({t.input(1, 64)}, {.rows = {2, 2}, .columns = {64, 64}});
  t.output(r[0]);
  t.output(r[1]);
  Plan p = make_plan(t.graph, test_target());
  p.steps[0].out[1].buffer = p.steps[0].out[0].buffer;
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("results 0 and 1 overlap")));
}

TEST_F(Verify, CatchesAWriteToAnInputThatWasNotDonated) {
  expect_caught("not the size of input", [](Plan& p) { p.buffers[0].bytes = 8 * 64; });
  Sketch t;
  t.output(t.over({t.input(4, 64)}));
  Plan p = make_plan(t.graph, test_target());
  p.steps[0].out[0].buffer = BufferId(0);
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("not donated")));
}

TEST_F(Verify, CatchesReadsOutsideTheBuffer) {
  expect_caught("bytes [", [](Plan& p) { p.steps[3].in[0].offset += 4 * 64; });
  expect_caught("bytes [", [](Plan& p) { p.steps[3].in[0].offset = -64; });
  expect_caught("bytes [", [](Plan& p) { p.steps[2].in[0].strides = {64, 64}; });
}

TEST_F(Verify, CatchesTheWrongWindow) {
  expect_caught("does not hold", [](Plan& p) { p.steps[3].in[0].offset += 64; });
  expect_caught("does not hold", [](Plan& p) { p.steps[2].in[0].strides = {1, 8}; });
  expect_caught("rank", [](Plan& p) { p.steps[2].in[0].strides = {1}; });
}

TEST_F(Verify, CatchesTheWrongValue) {
  expect_caught("instead of", [](Plan& p) { p.steps[5].in[0].value = p.steps[5].in[1].value; });
  expect_caught("does not hold", [](Plan& p) { p.steps[5].in[0].buffer = p.steps[5].in[1].buffer; });
  expect_caught("operands and", [](Plan& p) { p.steps[5].in.pop_back(); });
}

TEST_F(Verify, CatchesStridesTheKernelDoesNotTake) {
  Sketch t;
  const Var turned = t.transposed(t.node({t.input(1, 64)}, 8));
  t.output(t.node({turned}, 1));
  Plan p = make_plan(t.graph, test_target());
  ASSERT_EQ(p.steps.size(), 3u);
  p.steps[2].in[0].buffer = p.steps[0].out[0].buffer;
  p.steps[2].in[0].strides = {1, 64};
  p.buffers[p.steps[0].out[0].buffer.index].end = 3;
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("must be dense")));
}

TEST_F(Verify, CatchesOverlappingBuffers) {
  expect_caught("overlap",
                [&](Plan& p) { p.buffers[result(2).index].offset = p.buffers[result(1).index].offset; });
  expect_caught("overlap", [&](Plan& p) {
    p.buffers[p.steps[2].scratch.index].offset = p.buffers[result(2).index].offset;
  });
}

TEST_F(Verify, CatchesUseOutsideALifetime) {
  expect_caught("not alive", [&](Plan& p) { p.buffers[result(1).index].end -= 1; });
  expect_caught("not alive", [&](Plan& p) { p.buffers[result(1).index].begin += 1; });
  expect_caught("not alive", [&](Plan& p) {
    p.buffers[p.steps[2].scratch.index].begin = 3, p.buffers[p.steps[2].scratch.index].end = 4;
  });
  expect_caught("not alive at the end", [&](Plan& p) { p.buffers[result(5).index].end = 5; });
  expect_caught("lives in", [&](Plan& p) { p.buffers[result(1).index].end = 100; });
  expect_caught("lives from", [](Plan& p) { p.buffers[0].end -= 1; });
}

TEST_F(Verify, CatchesBadScratch) {
  expect_caught("needs 300 bytes", [](Plan& p) { p.buffers[p.steps[2].scratch.index].bytes = 299; });
  expect_caught("needs 300 bytes", [](Plan& p) { p.steps[2].scratch = {}; });
  expect_caught("scratch is no scratch", [&](Plan& p) { p.steps[2].scratch = result(5); });
  expect_caught("no such scratch", [](Plan& p) { p.steps[2].scratch = BufferId(99); });
  expect_caught("a value in scratch", [](Plan& p) { p.steps[2].out[0].buffer = p.steps[2].scratch; });
}

TEST_F(Verify, CatchesBadBuffers) {
  expect_caught("offset", [&](Plan& p) { p.buffers[result(1).index].offset += 8; });
  expect_caught("offset", [&](Plan& p) { p.buffers[result(1).index].offset = -64; });
  expect_caught("above the arena", [&](Plan& p) { p.buffers[result(1).index].offset += 1 << 20; });
  expect_caught("bytes [", [&](Plan& p) { p.buffers[result(1).index].bytes -= 1; });
  expect_caught("bytes", [&](Plan& p) { p.buffers[result(1).index].bytes = -1; });
  expect_caught("no such buffer", [](Plan& p) { p.steps[0].out[0].buffer = BufferId(1000); });
  expect_caught("no such node", [](Plan& p) { p.steps[0].node = NodeId(1000); });
  expect_caught("bound by", [](Plan& p) { p.buffers[1].slot = 0; });
  expect_caught("bound to no input", [](Plan& p) { p.buffers[1].slot = 7; });
  expect_caught("purpose", [](Plan& p) { p.buffers[0].purpose = Purpose::donated; });
  expect_caught("purpose", [&](Plan& p) { p.buffers[result(5).index].purpose = Purpose::value; });
}

TEST_F(Verify, CatchesBadOutputs) {
  expect_caught("not dense", [](Plan& p) { p.outputs[1].strides = {1, 8}; });
  expect_caught("output 1", [](Plan& p) { std::swap(p.outputs[0], p.outputs[1]); });
  expect_caught("output 1: no such buffer", [](Plan& p) { p.outputs[1].buffer = {}; });
}

TEST_F(Verify, CatchesBadFigures) {
  expect_caught("input_bytes", [](Plan& p) { p.input_bytes -= 1; });
  expect_caught("lower_bound", [](Plan& p) { p.lower_bound -= 64; });
  expect_caught("order_free_bound", [](Plan& p) { p.order_free_bound = p.lower_bound + 1; });
  expect_caught("store_all_bytes", [](Plan& p) { p.store_all_bytes = p.peak() - 1; });
  expect_caught("flops", [](Plan& p) { p.flops += 1; });
  expect_caught("bytes_moved", [](Plan& p) { p.bytes_moved += 1; });
}

// Thirds, as factorisations count them, add up to other last bits in another order.
TEST_F(Verify, AllowsFiguresTheirRounding) {
  const Plan rounded = broken([](Plan& p) { p.flops *= 1 + 4e-16, p.bytes_moved *= 1 - 4e-16; });
  EXPECT_NE(rounded.flops, plan.flops);
  EXPECT_THAT(problems(s.graph, rounded, test_target()), testing::IsEmpty());
}

TEST_F(Verify, CatchesEffectsThatAreLostRepeatedOrSwapped) {
  Sketch t;
  const Var x = t.input(1, 64);
  t.many({x}, {.rows = {1}, .columns = {1}}, fake::effect);
  t.many({x}, {.rows = {1}, .columns = {1}}, fake::effect);
  t.output(t.node({x}, 1));
  const Plan good = make_plan(t.graph, test_target());
  Plan p = good;
  std::swap(p.steps[0], p.steps[1]);
  std::swap(p.steps[0].out, p.steps[1].out);
  p.steps[0].out[0].value = t.graph.nodes()[p.steps[0].node.index].results[0];
  p.steps[1].out[0].value = t.graph.nodes()[p.steps[1].node.index].results[0];
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("out of order")));
  p = good;
  p.steps[1] = p.steps[0];
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("may not run twice")));
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("never runs")));
}

// A body (x) → (y) of one node of the given op, `depth` regions deep.
Graph body_of(const Op& op, std::int64_t rows, int depth = 1) {
  Sketch body;
  const Var x = body.input(rows, 64);
  body.output(depth > 1 ? body.inside({x}, body_of(op, rows, depth - 1))
                        : body.many({x}, {.rows = {rows}, .columns = {64}}, op).front());
  return body.graph;
}

TEST_F(Verify, CatchesARepeatOfABodyWithWhatMayNotRunTwice) {
  for (const Op* op : {&fake::effect, &fake::once, &fake::work}) {
    for (int depth : {1, 2, 3}) {
      Sketch t;
      const Var once = t.inside({t.input(1, 64)}, body_of(*op, 1, depth));
      t.output(t.node({once}, 1));
      Plan p = make_plan(t.graph, test_target(), {.skip = {"order"}});
      ASSERT_EQ(p.steps.size(), 2u);
      p.steps[1] = p.steps[0];
      const auto twice = testing::Contains(HasSubstr("step 1 (block): may not run twice"));
      if (op == &fake::work) {
        EXPECT_THAT(problems(t.graph, p, test_target()), testing::Not(twice)) << depth;
      } else {
        EXPECT_THAT(problems(t.graph, p, test_target()), twice) << op->name << ", " << depth;
      }
    }
  }
}

// The plan of a body is a plan like any other.
TEST_F(Verify, CatchesARepeatWithinABody) {
  Sketch body, t;
  const Var x = body.input(1, 64);
  const Var once = body.many({x}, {.rows = {1}, .columns = {64}}, fake::once).front();
  body.output(body.node({body.node({once}, 1)}, 1));
  t.output(t.inside({t.input(1, 64)}, body.graph));
  Plan p = make_plan(t.graph, test_target());
  Plan& region = p.bodies.at(0).regions.at(0);
  region.steps[1] = region.steps[0];
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("(once): may not run twice")));
}

TEST_F(Verify, CatchesEffectsOfBodiesThatAreLostOrSwapped) {
  Sketch t;
  const Var x = t.input(1, 64);
  t.inside({x}, body_of(fake::effect, 1));
  t.inside({x}, body_of(fake::effect, 1));
  t.many({x}, {.rows = {1}, .columns = {64}}, fake::effect);
  t.output(t.node({x}, 1));
  const Plan good = make_plan(t.graph, test_target(), {.skip = {"order"}});
  ASSERT_EQ(good.steps.size(), 4u);
  for (std::size_t first : {0, 1}) {
    Plan p = good;
    std::swap(p.steps[first], p.steps[first + 1]);
    EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("effects out of order")))
        << first;
  }
  Plan p = good;
  p.steps[0] = p.steps[3];
  EXPECT_THAT(problems(t.graph, p, test_target()), testing::Contains(HasSubstr("never runs")));
}

// Whatever single thing is changed about a read, a write or an address, the plan is no longer right.
TEST_F(Verify, CatchesRandomCorruption) {
  std::mt19937 random(5);
  const auto draw = [&](std::size_t n) { return random() % n; };
  int tried = 0;
  for (unsigned seed = 0; seed < 80; ++seed) {
    const fake::RandomGraph graph(seed, 25);
    const Plan good = make_plan(graph.graph(), test_target(), {.effort = 0.05});
    for (int change = 0; change < 20; ++change) {
      Plan p = good;
      Step& step = p.steps[draw(p.steps.size())];
      auto& refs = step.in.empty() || draw(2) ? step.out : step.in;
      if (refs.empty()) continue;
      Ref& ref = refs[draw(refs.size())];
      const Type& type = graph.graph().type(ref.value);
      if (type.count() == 0) continue;
      switch (draw(4)) {
        case 0:
          ref.offset += 1;
          break;
        case 1:
          ref.value = ValueId(ref.value.index + 1);
          break;
        case 2:
          if (type.shape[0] == 1) continue;
          ref.strides[0] += 1;
          break;
        default:
          p.buffers[ref.buffer.index].bytes -= 1;
          break;
      }
      ++tried;
      EXPECT_FALSE(problems(graph.graph(), p, test_target()).empty()) << seed;
    }
  }
  EXPECT_GT(tried, 500);
}

}  // namespace
}  // namespace tidemark
