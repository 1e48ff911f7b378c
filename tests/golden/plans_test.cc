// Golden plans: NAME.ir is planned and compared with NAME.plan, as text that a person has read. After a
// change that is meant, run with TIDEMARK_UPDATE_GOLDEN=1 and review the difference.
#include <gtest/gtest.h>

#include "tests/golden/golden_graphs.h"
#include "tests/support/model_graphs.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

void expect_golden(const std::string& name, const Graph& model) {
  const std::string base = std::string(TIDEMARK_TEST_DIR) + "/" + name;
  if (golden::updating()) write(base + ".ir", print(model));
  const Graph graph = parse(golden::read(base + ".ir"), {.find = &find_op}, name + ".ir");
  const Plan plan = make_plan(graph, test_target());
  EXPECT_LE(plan.peak(), plan.lower_bound * 1.01);
  const std::string text = to_text(graph, plan);
  if (golden::updating()) write(base + ".plan", text);
  EXPECT_EQ(text, golden::read(base + ".plan"))
      << "if this is meant: TIDEMARK_UPDATE_GOLDEN=1, then review the difference";
}

TEST(Golden, Mlp) { expect_golden("mlp", models::mlp(2, 8, 16)); }
TEST(Golden, TransformerBlock) { expect_golden("transformer", models::transformer(1, 2, 8, 16, 2, false)); }
TEST(Golden, ResidualBlock) { expect_golden("residual", models::residual(1, 2, 4, 8)); }

}  // namespace
}  // namespace tidemark
