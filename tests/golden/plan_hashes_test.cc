// Plans depend on nothing but the graph, the options and the machine's data: each graph here has a hash of
// its plan's decisions (plan/plan_hash.h) in plan_hashes.txt, the same on every machine. A change of the
// planner that is meant changes hashes: run with TIDEMARK_UPDATE_GOLDEN=1, and see that the figures beside
// the hashes are no worse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>

#include "tests/golden/golden_graphs.h"
#include "tests/support/budget_graphs.h"
#include "tests/support/random_dags.h"
#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/program.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/solve/dag/schedule.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

const std::string path = std::string(TIDEMARK_TEST_DIR) + "/plan_hashes.txt";

// "name: hash, figures", by name.
std::map<std::string, std::string> read_lines() {
  std::map<std::string, std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return lines;
}

class PlanHashes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { golden_ = read_lines(); }
  static void TearDownTestSuite() {
    if (!golden::updating()) return;
    std::ofstream file(path);
    for (const auto& [name, line] : golden_) file << name << ": " << line << '\n';
  }

  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "the same plans, tens of times as slowly";
  }

  static void expect(const std::string& name, std::uint64_t hash, const std::string& figures) {
    const std::string line = fmt::format("{}, {}", hash_text(hash), figures);
    if (golden::updating()) golden_[name] = line;
    EXPECT_EQ(golden_[name], line) << name;
  }
  static void expect(const std::string& name, const Plan& plan) {
    expect(name, plan_hash(plan), fmt::format("{} steps, peak {}", plan.steps.size(), plan.peak()));
  }

  // Without a budget and at shares of what that takes; where one does not fit, the smallest that was found.
  static void expect_at_budgets(const std::string& name, const Graph& traced, double effort,
                                std::initializer_list<int> percents) {
    const Graph graph = prepare_graph(traced);
    const Plan free = make_plan(graph, test_target(), {.effort = effort});
    expect(name, free);
    for (int percent : percents) {
      const PlanOptions options{.memory = free.input_bytes + free.arena_bytes * percent / 100,
                                .effort = effort};
      const Graph small = prepare_within(traced, {}, options).graph;
      const Result<Plan, Infeasible> plan = try_plan(small, test_target(), options);
      expect(fmt::format("{} at {}%", name, percent), plan ? plan.value() : plan.error().smallest);
    }
  }

 private:
  static inline std::map<std::string, std::string> golden_;
};

TEST_F(PlanHashes, OfModelsAreWhatTheyWere) {
  for (const char* name :
       {"mlp", "gpt", "llama", "moe", "lstm", "resnet18", "vgg", "unet", "mobilenet", "vit"}) {
    expect_at_budgets(name, golden::graph_in_file(name), 0.01, {85, 60});
  }
}

TEST_F(PlanHashes, OfRandomGraphsAreWhatTheyWere) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const fake::BudgetGraph graph(seed * 11 + 3, 40);
    const Plan free = make_plan(graph.graph(), test_target(), {.effort = 0.05});
    const PlanOptions less{.memory = free.input_bytes + free.arena_bytes * 3 / 4, .effort = 0.05};
    const Result<Plan, Infeasible> plan = try_plan(graph.graph(), test_target(), less);
    expect(fmt::format("random graph {}", seed), plan ? plan.value() : plan.error().smallest);
  }
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Graph joint = testing::RandomProgram(seed + 100).joint();
    expect_at_budgets(fmt::format("random program {}", seed), joint, 0.02, {70});
  }
}

TEST_F(PlanHashes, OfLoopsAreWhatTheyWere) {
  for (const char* name : {"repeat", "while"}) {
    expect_at_budgets(name, golden::graph_in_file(name), 0.02, {60});
  }
}

TEST_F(PlanHashes, OfSchedulesOfDagsAreWhatTheyWere) {
  using enum testing::DagFamily;
  for (testing::DagFamily family : {layered, chain, unet, resnet, uneven}) {
    for (int percent : {80, 55}) {
      const Dag dag = testing::random_dag(family, 80, 7);
      RematProblem problem = problem_of(dag);
      Sequence order(static_cast<std::size_t>(dag.size()));
      std::iota(order.begin(), order.end(), 0);
      problem.budget = check_schedule(dag, order).peak * percent / 100;
      const RematResult found = solve_remat(problem, order, remat_limits(dag.size(), 0.02));
      expect(fmt::format("dag {} at {}%", testing::name_of(family), percent), plan_hash(found.sequence),
             fmt::format("{} runs, cost {:.6g}", found.sequence.size(),
                         check_schedule(dag, found.sequence).cost));
    }
  }
}

TEST_F(PlanHashes, OfTheExampleInTheDocsIsWhatTheySay) {
  const std::string page = golden::read(TIDEMARK_SOURCE_DIR "/docs/plan_format.md");
  const std::size_t begin = page.find("graph @example"), end = page.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  const Graph graph = parse(page.substr(begin, end - begin), {.find = &find_op}, "plan_format.md");
  const std::string hash = hash_text(plan_hash(make_plan(graph, test_target())));
  EXPECT_NE(page.find("\"plan_hash\": \"" + hash + '"'), std::string::npos) << hash;
}

// Also within one process: with other threads, and with everything else at other addresses.
TEST_F(PlanHashes, DoNotDependOnThreadsOrAddresses) {
  const auto hash = [] {
    const Graph step = prepare_graph(tiny::gpt(1).step);
    const Plan free = make_plan(step, test_target(), {.effort = 0.01});
    return plan_hash(make_plan(step, test_target(),
                               {.memory = free.input_bytes + free.arena_bytes * 19 / 20, .effort = 0.01}));
  };
  const std::uint64_t first = hash();
  std::vector<std::unique_ptr<char[]>> clutter;
  for (std::size_t i = 0; i < 10'000; ++i) clutter.push_back(std::make_unique<char[]>(16 + i % 977));
  for (std::size_t i = 0; i < clutter.size(); i += 3) clutter[i].reset();
  set_threads(3);
  EXPECT_EQ(hash(), first);
  set_threads(1);
  EXPECT_EQ(hash(), first);
  set_threads(0);
}

}  // namespace
}  // namespace tidemark
