#include "tidemark/plan/report/plan_hash.h"
#include "tests/support/test_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support/fake_ops.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_json.h"

namespace tidemark {
namespace {

// Scratch, a view, a group and a body.
class PlanHash : public testing::Test {
 protected:
  PlanHash() {
    fake::Sketch body;
    body.output(body.node({body.input(8, 64)}, 8));
    const Var a = s.node({s.input(4, 64, "x")}, 8, 64, 100);
    const Var b = s.pointwise({s.pointwise({s.inside({a}, body.graph)})});
    s.output(s.reads({s.transposed(b)}, 1));
    plan = make_plan(s.graph, test_target());
  }
  std::uint64_t after(const std::function<void(Plan&)>& change) const {
    Plan changed = plan;
    change(changed);
    return plan_hash(changed);
  }
  fake::Sketch s;
  Plan plan;
};

TEST_F(PlanHash, ChangesWithEveryDecision) {
  std::vector<std::uint64_t> hashes{plan_hash(plan)};
  const std::vector<std::function<void(Plan&)>> changes = {
      [](Plan& p) { p.buffers[1].offset += 64; },
      [](Plan& p) { p.buffers[1].bytes += 64; },
      [](Plan& p) { ++p.buffers[1].end; },
      [](Plan& p) { ++p.buffers[1].begin; },
      [](Plan& p) { p.buffers[1].binding = Binding::tile; },
      [](Plan& p) { p.buffers[1].purpose = Purpose::scratch; },
      [](Plan& p) { p.buffers.push_back({}); },
      [](Plan& p) { std::swap(p.steps[0], p.steps[1]); },
      [](Plan& p) { p.steps.push_back(p.steps[0]); },
      [](Plan& p) { p.steps[0].group = 7; },
      [](Plan& p) { p.steps[0].scratch = {}; },
      [](Plan& p) { p.steps[0].out[0].offset += 64; },
      [](Plan& p) { p.steps[0].in[0].strides[0] += 1; },
      [](Plan& p) { p.outputs[0].buffer = BufferId(0); },
      [](Plan& p) { p.bodies[0].regions[0].steps[0].node = NodeId(1); },
      [](Plan& p) { p.binds_outputs = true; },
  };
  for (const auto& change : changes) hashes.push_back(after(change));
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(hashes[i], hashes[j]) << i << " and " << j;
  }
}

TEST_F(PlanHash, DoesNotChangeWithFigures) {
  EXPECT_EQ(plan_hash(plan), after([](Plan& p) {
              p.seconds *= 2, p.least_seconds = 1, p.seconds_bound = 0.5, p.flops += 1, p.bytes_moved = 3;
              p.lower_bound = p.order_free_bound = p.store_all_bytes = p.budget = 17;
            }));
}

TEST_F(PlanHash, StandsInTheFileAndInTheSummary) {
  const std::string text = hash_text(plan_hash(plan));
  EXPECT_EQ(text.size(), 16u);
  EXPECT_EQ(nlohmann::json::parse(to_json(plan))["plan_hash"], text);
  EXPECT_EQ(plan_hash(plan_from_json(to_json(plan))), plan_hash(plan));
  EXPECT_THAT(summary(s.graph, plan), testing::HasSubstr("plan hash         " + text));
}

TEST(PlanHashOfASchedule, GoesByTheRuns) {
  const std::vector<int> a{0, 1, 2}, b{0, 2, 1}, c{0, 1, 2, 2};
  EXPECT_NE(plan_hash(a), plan_hash(b));
  EXPECT_NE(plan_hash(a), plan_hash(c));
  EXPECT_EQ(hash_text(plan_hash(a)), "2a264d274e898aa1");
}

}  // namespace
}  // namespace tidemark
