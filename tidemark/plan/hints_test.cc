#include "tidemark/plan/hints.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/random_graphs.h"
#include "tests/support/random_hints.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

using fake::Sketch;
using testing::with_random_hints;

// x ─▶ h0 ─▶ h1 … ─▶ loss, and a backward chain that reads every h. Segments of `segment` layers are
// checkpoints.
struct Chain {
  Chain(int layers, int segment) {
    h.push_back(s.input(16, 64, "x"));
    CheckpointId c;
    for (int l = 0; l < layers; ++l) {
      if (segment > 0 && l % segment == 0) {
        c = s.graph.add_checkpoint({.name = "segment" + std::to_string(l / segment)});
        s.build.set_checkpoint(c);
      }
      h.push_back(s.node({h.back()}, 16));
      if (c.valid()) s.graph[c].results = {h.back().id()};
    }
    s.build.set_checkpoint({});
    Var g = s.node({h.back()}, 16);
    for (std::size_t l = h.size(); l-- > 1;) g = s.node({g, h[l]}, 16);
    s.output(g);
  }

  NodeId producer(std::size_t layer) const { return s.graph[h[layer].id()].producer; }
  int runs(const Plan& plan, std::size_t layer) const {
    return static_cast<int>(std::ranges::count(plan.steps, producer(layer), &Step::node));
  }

  Sketch s;
  std::vector<Var> h;  // h[0] is the input
};

constexpr std::int64_t layer_bytes = 1024;

const HintReport& report(const Plan& plan, std::string_view name) {
  return *std::ranges::find(plan.hints, name, &HintReport::name);
}

TEST(Hints, WithoutAnyThePlanIsAsBefore) {
  const Chain chain(6, 0);
  const Plan plan = make_plan(chain.s.graph, test_target()),
             skipped = make_plan(chain.s.graph, test_target(), {.skip = {"hints"}});
  EXPECT_EQ(to_json(plan), to_json(skipped));
  EXPECT_TRUE(plan.hints.empty());
}

TEST(Hints, ACheckpointsInsideIsComputedAgainForTheBackward) {
  const Chain chain(16, 4), plain(16, 0);
  const Plan plan = make_plan(chain.s.graph, test_target(), {.check_every_pass = true}),
             stored = make_plan(plain.s.graph, test_target());
  for (std::size_t l = 1; l <= 16; ++l) EXPECT_EQ(chain.runs(plan, l), l % 4 == 0 ? 1 : 2) << l;
  // Stored: all layers. With segments: four results, and one segment's inside at a time.
  EXPECT_GE(stored.arena_bytes, 16 * layer_bytes);
  EXPECT_LE(plan.arena_bytes, (4 + 3 + 2) * layer_bytes);
  const HintReport& segment = report(plan, "segment1");
  EXPECT_TRUE(segment.honoured);
  EXPECT_EQ(segment.bytes, 3 * layer_bytes);
  EXPECT_EQ(segment.runs, 3);
  EXPECT_GT(segment.seconds, 0);
}

TEST(Hints, SayWhatLaterPassesMayNotDo) {
  const Chain chain(8, 4);
  const PlanHints hints = hints_of(Draft(chain.s.graph, test_target()));
  EXPECT_TRUE(hints.never_repeat[chain.producer(4).index]) << "it enters the second segment";
  EXPECT_FALSE(hints.never_repeat[chain.producer(3).index]);
  EXPECT_TRUE(hints.must_drop[chain.h[3].id().index]);
  EXPECT_FALSE(hints.must_drop[chain.h[4].id().index]);
}

TEST(Hints, AddedExecutionsAreMarked) {
  const Chain chain(8, 4);
  int required = 0;
  make_plan(chain.s.graph, test_target(), {.after = [&](std::string_view pass, const Draft& draft) {
              if (pass == "hints")
                required = static_cast<int>(std::ranges::count(draft.executions, true, &Execution::required));
            }});
  EXPECT_EQ(required, 6);
}

TEST(Hints, KeepWinsOverTheCheckpointAround) {
  Chain chain(8, 4);
  chain.s.graph.add_hint({.kind = HintKind::keep, .value = chain.h[2].id()});
  chain.s.graph[chain.h[2].id()].name = "kept";
  const Plan plan = make_plan(chain.s.graph, test_target());
  EXPECT_EQ(chain.runs(plan, 1), 2);
  EXPECT_EQ(chain.runs(plan, 2), 1);
  EXPECT_EQ(chain.runs(plan, 3), 2);
  EXPECT_TRUE(report(plan, "kept").honoured);
  EXPECT_EQ(report(plan, "kept").bytes, layer_bytes);
}

TEST(Hints, RecomputeDropsAValueOverItsLongestGap) {
  Chain chain(8, 0);
  for (std::size_t l : {3, 4, 5}) {
    chain.s.graph.add_hint({.kind = HintKind::recompute, .value = chain.h[l].id()});
    chain.s.graph[chain.h[l].id()].name = "h" + std::to_string(l);
  }
  const Plan plan = make_plan(chain.s.graph, test_target()),
             stored = make_plan(chain.s.graph, test_target(), {.skip = {"hints"}});
  for (std::size_t l = 1; l <= 8; ++l) EXPECT_EQ(chain.runs(plan, l), l >= 3 && l <= 5 ? 2 : 1) << l;
  EXPECT_LT(plan.arena_bytes, stored.arena_bytes);
  for (const char* name : {"h3", "h4", "h5"}) EXPECT_EQ(report(plan, name).runs, 1) << name;
}

TEST(Hints, RecomputationGoesBackToWhatIsThereAnyway) {
  // h = b(a(x)), and nothing else reads a's result: storing that in place of h would save nothing.
  Sketch s;
  const Var x = s.input(16, 64), a = s.node({x}, 16), h = s.node({a}, 16);
  Var g = s.node({h}, 16);
  for (int i = 0; i < 6; ++i) g = s.node({g}, 16);
  s.output(s.node({g, h}, 16));
  s.graph.add_hint({.kind = HintKind::recompute, .value = h.id()});
  const Plan plan = make_plan(s.graph, test_target());
  EXPECT_EQ(plan.hints[0].runs, 2) << "a and h";
  EXPECT_EQ(plan.steps.size(), s.graph.nodes().size() + 2);
}

TEST(Hints, AMuchSmallerOperandIsRatherKept) {
  Sketch s;
  const Var x = s.input(16, 64), a = s.node({x}, 1), h = s.node({a}, 16);
  Var g = s.node({h}, 16);
  for (int i = 0; i < 6; ++i) g = s.node({g}, 16);
  s.output(s.node({g, h}, 16));
  s.graph.add_hint({.kind = HintKind::recompute, .value = h.id()});
  EXPECT_EQ(make_plan(s.graph, test_target()).hints[0].runs, 1);
}

TEST(Hints, TheMemoryOfACheckpointKeepsWhatIsWorthMost) {
  Chain chain(8, 8);
  chain.s.graph[CheckpointId(0)].memory = Bytes(3 * layer_bytes);
  const Plan plan = make_plan(chain.s.graph, test_target());
  int again = 0;
  for (std::size_t l = 1; l <= 8; ++l) again += chain.runs(plan, l) - 1;
  EXPECT_EQ(again, 4);
  EXPECT_EQ(report(plan, "segment0").kept_bytes, 3 * layer_bytes);
  EXPECT_EQ(report(plan, "segment0").bytes, 4 * layer_bytes);

  chain.s.graph[CheckpointId(0)].memory = Bytes(1 << 20);
  const Plan roomy = make_plan(chain.s.graph, test_target());
  EXPECT_EQ(roomy.steps.size(), chain.s.graph.nodes().size());
  EXPECT_EQ(report(roomy, "segment0").reason, "all of it fits into the checkpoint's memory");
}

TEST(Hints, InnerCheckpointsAreRecomputedForTheOuterOneAndForThemselves) {
  // outer: two inner ones of four layers each, then a tail outside that makes the gap long.
  Sketch s;
  std::vector<Var> h{s.input(16, 64)};
  const CheckpointId outer = s.graph.add_checkpoint({.name = "outer"});
  for (int block = 0; block < 2; ++block) {
    const CheckpointId inner =
        s.graph.add_checkpoint({.parent = outer, .name = "inner" + std::to_string(block)});
    s.build.set_checkpoint(inner);
    for (int l = 0; l < 4; ++l) h.push_back(s.node({h.back()}, 16));
    s.graph[inner].results = {h.back().id()};
  }
  s.graph[outer].results = {h.back().id()};
  s.build.set_checkpoint({});
  Var g = h.back();
  for (int l = 0; l < 8; ++l) g = s.node({g}, 16);
  for (std::size_t l = h.size(); l-- > 1;) g = s.node({g, h[l]}, 16);
  s.output(g);
  const Plan plan = make_plan(s.graph, test_target(), {.check_every_pass = true});
  const auto runs = [&](std::size_t l) {
    return std::ranges::count(plan.steps, s.graph[h[l].id()].producer, &Step::node);
  };
  for (std::size_t l : {1, 2, 3}) EXPECT_EQ(runs(l), 3) << l << ": first run, for h4, for its own backward";
  EXPECT_EQ(runs(4), 2);
  for (std::size_t l : {5, 6, 7}) EXPECT_EQ(runs(l), 2) << l;
  EXPECT_EQ(runs(8), 1) << "it is the outer one's result";
}

TEST(Hints, WithoutEffectAreReportedWithTheReason) {
  Sketch s;
  const Var x = s.input(16, 64, "x"), in = s.input(16, 64, "donated", true);
  const Var a = s.node({x}, 16), once = s.many({a}, {.rows = {16}, .columns = {64}}, fake::effect).front();
  const Var both = s.node({a}, 16), small = s.node({x}, 1), updated = s.over({in});
  const Var brief = s.node({both}, 16);
  const Var last = s.node({brief, once, both, small}, 16);
  s.output(last);
  s.output(updated);
  const auto ask = [&](HintKind kind, const Var& v, const std::string& name) {
    s.graph.add_hint({.kind = kind, .value = v.id(), .where = {}});
    s.graph[v.id()].name = name;
  };
  ask(HintKind::recompute, x, "x");
  ask(HintKind::keep, last, "last");
  ask(HintKind::recompute, once, "once");
  ask(HintKind::recompute, brief, "brief");
  ask(HintKind::recompute, small, "small");
  ask(HintKind::recompute, updated, "updated");
  ask(HintKind::recompute, both, "both");
  s.graph.add_hint({.kind = HintKind::keep, .value = both.id()});
  s.graph.add_hint({.kind = HintKind::keep, .value = {}, .where = {"a.cc", 3}});
  s.graph.add_checkpoint({.name = "empty"});
  const Plan plan = make_plan(s.graph, test_target(), {.skip = {"order"}});
  EXPECT_EQ(plan.steps.size(), s.graph.nodes().size());
  const auto why = [&](std::string_view name) { return report(plan, name).reason; };
  EXPECT_EQ(why("x"), "an input is always there");
  EXPECT_EQ(why("last"), "a result of the program stays to its end");
  EXPECT_EQ(why("once"), "effect may not run twice");
  EXPECT_EQ(why("brief"), "its readers follow each other without a wait");
  EXPECT_EQ(why("small"), "it has only 64 bytes");
  EXPECT_EQ(why("updated"), "a result of the program stays to its end");
  EXPECT_EQ(why("both"), "it is both to be kept and to be recomputed");
  EXPECT_EQ(why(""), "the value was optimised away");
  EXPECT_EQ(why("empty"), "its operations were optimised away");
  for (const HintReport& hint : plan.hints) EXPECT_EQ(hint.honoured, hint.reason.empty()) << hint.name;
  const std::string text = summary(s.graph, plan);
  EXPECT_NE(text.find("(a.cc:3) has no effect: the value was optimised away"), std::string::npos) << text;
}

TEST(Hints, NothingIsComputedAgainFromOverwrittenMemory) {
  // The weight's update overwrites it before the backward of the first layer would need it for h.
  Sketch s;
  const Var x = s.input(16, 64), w = s.input(16, 64, "w", true);
  const Var h = s.node({x, w}, 16), y = s.node({h}, 16);
  const Var updated = s.over({w, y});
  Var g = updated;
  for (int i = 0; i < 4; ++i) g = s.node({g}, 16);
  s.output(updated);
  s.output(s.node({g, h}, 16));
  s.graph.add_hint({.kind = HintKind::recompute, .value = h.id()});
  const Plan plan = make_plan(s.graph, test_target(), {.check_every_pass = true});
  EXPECT_FALSE(plan.hints[0].honoured);
  EXPECT_EQ(plan.hints[0].reason, "what it is computed from has been overwritten in donated memory by then");
}

TEST(Hints, ABudgetIsMetAroundThem) {
  Chain chain(16, 0);
  chain.s.graph.add_hint({.kind = HintKind::keep, .value = chain.h[8].id()});
  const std::int64_t all = make_plan(chain.s.graph, test_target()).peak();
  const Plan plan = make_plan(chain.s.graph, test_target(), {.memory = all * 6 / 10});
  EXPECT_LE(plan.peak(), all * 6 / 10);
  EXPECT_GT(plan.steps.size(), chain.s.graph.nodes().size());
  EXPECT_EQ(chain.runs(plan, 8), 1);

  const Chain segments(16, 4);
  const Plan hinted = make_plan(segments.s.graph, test_target());
  EXPECT_EQ(make_plan(segments.s.graph, test_target(), {.memory = hinted.peak()}).steps.size(),
            hinted.steps.size());
}

TEST(Hints, ChainsOfAnyLengthTakeNoStack) {
  const int layers = 20'000;
  const Chain chain(layers, layers);
  const Plan plan = make_plan(chain.s.graph, test_target(), {.skip = {"order"}, .effort = 0.01});
  EXPECT_EQ(plan.steps.size(), chain.s.graph.nodes().size() + static_cast<std::size_t>(layers) - 1);
}

TEST(Hints, AskingForTooMuchIsReported) {
  // Every layer drops its operands' memory too, so each recomputation starts at the input: 300²/2 runs.
  Sketch s;
  std::vector<Var> h{s.input(16, 64)};
  for (int l = 0; l < 300; ++l) h.push_back(s.node({h.back()}, 16));
  Var g = h.back();
  for (std::size_t l = 1; l < h.size(); ++l) {  // forwards, so that no later request finds what it needs
    g = s.node({g, h[h.size() - l]}, 16);
    for (int i = 0; i < 3; ++i) g = s.node({g}, 16);
  }
  s.output(g);
  for (const Var& v : h) s.graph.add_hint({.kind = HintKind::recompute, .value = v.id()});
  const Plan plan = make_plan(s.graph, test_target(), {.effort = 0.1});
  EXPECT_LE(plan.steps.size(), 20 * s.graph.nodes().size());
}

TEST(HintLaws, AnyHintsGiveAPlanThatTheVerifierAccepts) {
  int added = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const fake::RandomGraph random(seed, 5 + static_cast<int>(seed % 60));
    const Graph graph = with_random_hints(random.graph(), seed);
    PipelineReport passes;
    const Plan plan = make_plan(graph, test_target(), {.effort = 0.1, .check_every_pass = true}, &passes);
    EXPECT_EQ(plan.hints.size(), graph.hints().size() + graph.checkpoints().size());
    for (const HintReport& hint : plan.hints) EXPECT_EQ(hint.honoured, hint.reason.empty()) << seed;
    EXPECT_EQ(to_json(plan_from_json(to_json(plan))), to_json(plan));
    int runs = 0;
    for (const HintReport& hint : plan.hints) runs += hint.runs;
    added += runs;
  }
  EXPECT_GT(added, 500);
}

TEST(HintLaws, BudgetsAreKeptWithHints) {
  int met = 0;
  for (unsigned seed = 500; seed < 560; ++seed) {
    const fake::RandomGraph random(seed, 30);
    const Graph graph = with_random_hints(random.graph(), seed);
    const std::int64_t free = make_plan(graph, test_target(), {.effort = 0.1}).peak();
    for (const int percent : {95, 80, 60}) {
      const std::int64_t memory = free * percent / 100;
      const auto plan = try_plan(graph, test_target(), {.memory = memory, .effort = 0.1});
      if (!plan) continue;
      ++met;
      EXPECT_LE(plan.value().peak(), memory) << seed;
    }
  }
  EXPECT_GT(met, 0);
}

TEST(HintLaws, AnyChoiceOfPassesGoesWithHints) {
  const std::vector<std::string> names{"views", "donate", "order", "hints", "in_place"};
  for (unsigned seed = 0; seed < 20; ++seed) {
    const fake::RandomGraph random(seed, 40);
    const Graph graph = with_random_hints(random.graph(), seed);
    for (unsigned choice = 0; choice < 32; ++choice) {
      PlanOptions options{.effort = 0.05};
      for (unsigned k = 0; k < names.size(); ++k) {
        if (choice >> k & 1) options.skip.push_back(names[k]);
      }
      EXPECT_EQ(problems(graph, make_plan(graph, test_target(), options), test_target()),
                std::vector<std::string>{});
    }
  }
}

}  // namespace
}  // namespace tidemark
