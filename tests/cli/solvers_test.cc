// `tidemark plan` with searches for recomputation chosen by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A training step of six layers: the gradients read what the layers made.
std::string layers() {
  constexpr int count = 6;
  std::string nodes, edges;
  const auto add = [](std::string& list, const std::string& text) {
    list += (list.empty() ? "" : ", ") + text;
  };
  for (int i = 0; i < 2 * count; ++i) {
    add(nodes, R"({"name": "n)" + std::to_string(i) + R"(", "cost": )" + std::to_string(1 + i % 3) +
                   R"(, "bytes": )" + std::to_string(80 + 10 * (i % 4)) + R"(, "backward": )" +
                   (i < count ? "false}" : "true}"));
    const auto edge = [&](int from) {
      add(edges, "[" + std::to_string(from) + ", " + std::to_string(i) + "]");
    };
    if (i > 0) edge(i - 1);
    if (i > count) edge(2 * count - 1 - i);
  }
  return R"({"nodes": [)" + nodes + R"(], "edges": [)" + edges + "]}";
}

class SolverOptions : public ::testing::Test {
 protected:
  static CommandRun plan(const std::string& arguments) {
    return run_command(std::string(TIDEMARK_CLI) + " plan " + arguments);
  }
  static nlohmann::json report(const std::string& arguments, int exit_code = 0) {
    const CommandRun run = plan(arguments + " --json");
    EXPECT_EQ(run.exit_code, exit_code) << arguments << "\n" << run.err;
    return nlohmann::json::parse(run.out, nullptr, false);
  }
  // Of one solver; null if it was left out.
  static nlohmann::json solver(const nlohmann::json& json, const std::string& name) {
    for (const nlohmann::json& row : json["solvers"]) {
      if (row["name"] == name) return row;
    }
    return nullptr;
  }
  ScratchFolder folder_;
  const std::string file_ = folder_.write("layers.dag.json", layers());
};

TEST_F(SolverOptions, AreListedWithTheirReasons) {
  const CommandRun run = plan("--list-solvers");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const SolverInfo& solver : solver_list()) {
    EXPECT_THAT(run.out, AllOf(HasSubstr(std::string(solver.name)), HasSubstr(std::string(solver.why)),
                               HasSubstr(std::string(solver.needs))));
  }
}

TEST_F(SolverOptions, AskOnlyThoseNamed) {
  const nlohmann::json all = report(file_ + " --memory 75%");
  EXPECT_EQ(all["solvers"].size(), solver_list().size());
  EXPECT_EQ(solver(all, "exact")["improved"], 1);
  EXPECT_EQ(solver(all, "exact")["cost_after"], all["cost"]);
  EXPECT_TRUE(solver(all, "exact")["cost_before"].is_null());

  const nlohmann::json annealed = report(file_ + " --memory 75% --solver anneal");
  EXPECT_EQ(annealed["solvers"].size(), 1u);
  EXPECT_GE(solver(annealed, "anneal")["improved"], 1);
  EXPECT_GE(annealed["cost"], all["cost"]);
  EXPECT_LE(annealed["peak"], annealed["budget"]);

  const nlohmann::json two = report("--solver shave --solver steps " + file_ + " --memory 75%");
  EXPECT_EQ(two["solvers"].size(), 2u);
  const nlohmann::json less = report(file_ + " --memory 75% --without exact --without window");
  EXPECT_TRUE(solver(less, "exact").is_null());
  EXPECT_EQ(less["solvers"].size(), solver_list().size() - 2);
  EXPECT_GE(less["cost"], all["cost"]);
}

TEST_F(SolverOptions, WorkOfAllAddsUp) {
  for (const char* choice : {"", " --without exact", " --solver anneal", " --fixed-order --solver beam"}) {
    const nlohmann::json json = report(file_ + " --memory 75%" + choice);
    std::int64_t work = 0;
    for (const nlohmann::json& row : json["solvers"]) work += row["work"].get<std::int64_t>();
    EXPECT_EQ(json["work"], work) << choice;
  }
}

TEST_F(SolverOptions, WorkOnGraphsOfOperations) {
  const nlohmann::json all = report("gpt --memory 85% --effort quick");
  const nlohmann::json shaved = report("gpt --memory 85% --effort quick --solver shave");
  EXPECT_GE(solver(shaved, "shave")["improved"], 1);
  EXPECT_GE(shaved["predicted_seconds"], all["predicted_seconds"]);
  EXPECT_LE(shaved["peak"], shaved["budget"]);
  const CommandRun text = plan("gpt --memory 85% --effort quick --passes --without anneal");
  EXPECT_THAT(text.out, AllOf(HasSubstr("solvers\n"), HasSubstr("anneal    left out"), HasSubstr("shave  ")));
}

TEST_F(SolverOptions, ThatFindNothingAreABudgetThatCannotBeMet) {
  // An order alone computes nothing again.
  const nlohmann::json none = report(file_ + " --memory 75% --solver order", 3);
  EXPECT_EQ(none["fits"], false);
  EXPECT_EQ(solver(none, "order")["improved"], 0);
  const CommandRun graph = plan("gpt --memory 85% --effort quick --solver order");
  EXPECT_EQ(graph.exit_code, 3);
  EXPECT_THAT(graph.err, HasSubstr("error[TM0101]"));
}

TEST_F(SolverOptions, ThatAreWrongAreRefused) {
  for (const std::string& model : {file_, std::string("mlp")}) {
    for (const char* option : {"--solver", "--without"}) {
      for (const char* name : {"tabu", "''", "Exact"}) {
        const CommandRun run = plan(model + " --memory 90% " + option + " " + name);
        EXPECT_EQ(run.exit_code, 4) << run.out;
        EXPECT_THAT(run.err, AllOf(HasSubstr("there is no solver"), HasSubstr("expected: order, exact")));
      }
      EXPECT_EQ(plan(model + " --memory 90% " + option).exit_code, 2);
      const CommandRun idle = plan(model + " " + option + " anneal");
      EXPECT_EQ(idle.exit_code, 4);
      EXPECT_THAT(idle.err, HasSubstr("has no effect on a plan without --memory"));
    }
  }
  const std::string schedule = folder_.write("schedule.txt", "0\n");
  EXPECT_THAT(plan(file_ + " --memory 90% --solver anneal --check " + schedule).err,
              HasSubstr("has no effect on a schedule that is only judged"));
  EXPECT_EQ(plan(file_ + " --passes").exit_code, 4);
}

TEST_F(SolverOptions, ATableShowsWhatEachDid) {
  const CommandRun run = plan(file_ + " --memory 75% --passes --without beam");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("cost after"), HasSubstr("beam      left out"), HasSubstr("exact ")));
  EXPECT_THAT(plan(file_ + " --memory 75%").out, Not(HasSubstr("cost after")));
  EXPECT_THAT(plan(file_ + " --memory 100% --passes").out, HasSubstr("none was asked"));
}

}  // namespace
}  // namespace tidemark::testing
