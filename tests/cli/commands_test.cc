// The command as a person uses it: exit codes, output, bad input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/report/plan_json.h"

namespace tidemark::testing {
namespace {

CommandRun run_tidemark(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}

TEST(Cli, DemoLearnsInsideItsBudget) {
  const CommandRun ran = run_tidemark("demo --json --steps 60 --batch 4 --width 32 --memory 85%");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report["planned_bytes"], report["used_bytes"]);
  EXPECT_LE(report["planned_bytes"], report["budget_bytes"]);
  EXPECT_LE(report["smallest_bytes"], report["planned_bytes"]);
  EXPECT_LT(2 * report["planned_bytes"].get<double>(), report["store_everything_bytes"].get<double>());
  EXPECT_EQ(report["compared_steps"], 50);
  EXPECT_EQ(report["same_bits"], true);
  EXPECT_LT(report["loss"].get<double>(), 6) << "log 964 = 6.9 to begin with";
  EXPECT_TRUE(report["sample"].get<std::string>().starts_with("The Walrus and the Carpenter\n"));
}

TEST(Cli, DemoShowsBarPlanAndFigures) {
  const CommandRun ran = run_tidemark("demo --steps 10 --batch 2 --width 16 --memory 95%");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("as planned, to the byte"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("the same as without a budget, to the last bit"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("store everything"), std::string::npos);
  EXPECT_NE(ran.err.find("10/10"), std::string::npos) << ran.err;
}

TEST(Cli, PlansEveryBuiltInModel) {
  for (const char* model : {"mlp", "transformer", "residual", "gpt", "convnet"}) {
    const CommandRun ran = run_tidemark(std::string("plan --json --batch 2 ") + model);
    ASSERT_EQ(ran.exit_code, 0) << model << ran.err;
    const auto plan = nlohmann::json::parse(ran.out);
    EXPECT_GE(plan["peak"], plan["lower_bound"]) << model;
    EXPECT_LE(plan["peak"].get<double>(), 1.01 * plan["lower_bound"].get<double>()) << model;
    EXPECT_LT(plan["peak"], plan["store_all_bytes"]) << model;
  }
}

TEST(Cli, PlansAFileAndWritesThePlan) {
  const ScratchFolder folder;
  const std::string graph = folder.write("small.ir",
                                         "graph @small(%x: f32[8, 8]) -> (f32[8, 8]) {\n"
                                         "  %1 = exp(%x) : f32[8, 8]\n"
                                         "  %2 = sin(%1) : f32[8, 8]\n"
                                         "  return %2\n"
                                         "}\n");
  const CommandRun ran =
      run_tidemark("plan " + graph + " --output " + folder.path("plan.json") + " --passes --print");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("exp"), std::string::npos);
  const Plan plan = plan_from_json(folder.read("plan.json"));
  EXPECT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.arena_bytes, 256) << "sin overwrites exp";
}

TEST(Cli, BadInputIsExitCodeFourWithThePlace) {
  const ScratchFolder folder;
  const std::string unknown = folder.write(
      "unknown.ir", "graph @g(%x: f32[2]) -> (f32[2]) {\n  %1 = exq(%x) : f32[2]\n  return %1\n}\n");
  const CommandRun ran = run_tidemark("plan " + unknown);
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_NE(ran.err.find("unknown.ir:2"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("exp"), std::string::npos) << "did you mean";
  EXPECT_EQ(run_tidemark("plan no_such_model").exit_code, 4);
  EXPECT_EQ(run_tidemark("plan mlp --disable no_such_pass").exit_code, 4);
  EXPECT_EQ(run_tidemark("plan mlp --output /no/such/folder/x.json").exit_code, 4);
  EXPECT_EQ(run_tidemark("plan").exit_code, 2);
  EXPECT_EQ(run_tidemark("demo --steps 0").exit_code, 4);
  EXPECT_EQ(run_tidemark("no_such_command").exit_code, 2);
}

TEST(Cli, ListsEveryOp) {
  const CommandRun ran = run_tidemark("ops --json");
  ASSERT_EQ(ran.exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(ran.out).size(), all_ops().size());
  const CommandRun table = run_tidemark("ops");
  for (const Op* op : all_ops()) EXPECT_NE(table.out.find(op->name), std::string::npos) << op->name;
}

}  // namespace
}  // namespace tidemark::testing
