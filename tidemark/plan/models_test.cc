// Plans of whole training steps, written with the real ops: what must be found on graphs that people have.
#include <gtest/gtest.h>

#include "tests/support/model_graphs.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

struct Case {
  const char* name;
  Graph graph;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  list.push_back({"mlp", models::mlp(6, 128, 256)});
  list.push_back({"mlp with adam", models::mlp(6, 16, 256, true)});
  list.push_back({"transformer", models::transformer(2, 4, 64, 128, 4)});
  list.push_back({"residual", models::residual(4, 8, 16, 16)});
  return list;
}

TEST(Models, PeakIsWithinOnePercentOfTheLivenessBound) {
  for (const Case& c : cases()) {
    const Plan plan = make_plan(c.graph, test_target(), {.check_every_pass = true});
    EXPECT_LE(plan.peak(), plan.lower_bound * 1.01) << c.name << "\n" << summary(c.graph, plan);
  }
}

TEST(Models, UpdatesLiveInTheMemoryOfTheirParameters) {
  for (const Case& c : cases()) {
    const Plan plan = make_plan(c.graph, test_target());
    for (std::size_t i = 0; i + 1 < plan.outputs.size(); ++i) {
      EXPECT_EQ(plan.buffers[plan.outputs[i].buffer.index].binding, Binding::argument)
          << c.name << " output " << i;
    }
  }
}

TEST(Models, OrderSearchHoldsFewGradientsAtOnce) {
  for (const Case& c : cases()) {
    const Plan given = make_plan(c.graph, test_target(), {.skip = {"order", "release"}});
    const Plan searched = make_plan(c.graph, test_target());
    EXPECT_LE(searched.arena_bytes, given.arena_bytes) << c.name;
    EXPECT_LE(searched.lower_bound, searched.order_free_bound * 1.1) << c.name << "\n"
                                                                     << summary(c.graph, searched);
  }
  // Small batch: the arena is the gradients', and one of them at a time is enough.
  const Graph graph = models::mlp(12, 4, 256);
  const Plan plan = make_plan(graph, test_target());
  EXPECT_LE(plan.arena_bytes, 2 * 256 * 256 * 4) << summary(graph, plan);
  // With Adam an update is a dozen steps that hold two such arrays; a layer's must be through before the next
  // one's.
  const Graph adam = models::mlp(12, 16, 256, true);
  EXPECT_LE(make_plan(adam, test_target()).arena_bytes, 2.75 * 256 * 256 * 4)
      << summary(adam, make_plan(adam, test_target()));
}

TEST(Models, AttentionCopiesNothingToSplitOrTurnHeads) {
  const Graph graph = models::transformer(1, 2, 16, 32, 2);
  for (const Step& step : make_plan(graph, test_target()).steps) {
    EXPECT_NE(graph[step.node].op->name, "split");
    EXPECT_NE(graph[step.node].op->name, "broadcast");
  }
}

}  // namespace
}  // namespace tidemark
