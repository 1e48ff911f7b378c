// Third-party graphs of costs and bytes with the best overheads known for them, and what a search at normal
// effort must reach. The graphs are read from the shared data folder; tests skip where it is absent.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <ostream>
#include <string>

#include "tidemark/solve/dag/dag.h"
#include "tidemark/solve/dag/schedule.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark::testing {

struct RematInstance {
  const char* graph;
  int percent;      // budget, of the peak of the file's order
  double overhead;  // in percent of the base cost: optimal, or the best known
  bool fixed_order = true;

  friend std::ostream& operator<<(std::ostream& out, const RematInstance& i) {
    return out << i.graph << " at " << i.percent << "%";
  }
};

inline std::string name_of(const ::testing::TestParamInfo<RematInstance>& info) {
  return fmt::format("{}At{}{}", info.param.graph, info.param.percent, info.param.fixed_order ? "" : "Free");
}

class RematInstances : public ::testing::TestWithParam<RematInstance> {
 protected:
  void SetUp() override {
    const std::string path = fmt::format("{}/graphs/{}.dag.json", TIDEMARK_SHARED_DATA, GetParam().graph);
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no instance at " << path;
    dag_ = read_dag(path);
  }

  // Points above the best known, at normal effort.
  void expect_within(double points) const {
    RematProblem problem = problem_of(dag_);
    Sequence base(static_cast<std::size_t>(dag_.size()));
    std::iota(base.begin(), base.end(), 0);
    const ScheduleCheck given = check_schedule(dag_, base);
    problem.fixed_order = GetParam().fixed_order;
    problem.budget = static_cast<std::int64_t>(static_cast<double>(given.peak) * GetParam().percent / 100);
    RematLimits effort = remat_limits(dag_.size(), 1);
    effort.search_order = !problem.fixed_order;
    const RematResult found = solve_remat(problem, base, effort);
    ASSERT_TRUE(found.feasible);
    const ScheduleCheck check = check_schedule(dag_, found.sequence);
    ASSERT_FALSE(check.fault) << *check.fault;
    EXPECT_LE(check.peak, problem.budget);
    EXPECT_TRUE(check.in_order || !problem.fixed_order);
    const auto percent = [&](double cost) { return 100 * (cost / given.cost - 1); };
    EXPECT_LE(percent(check.cost), GetParam().overhead + points);
    EXPECT_LE(percent(found.time_bound), percent(check.cost) + 1e-9);
    EXPECT_LE(percent(found.time_bound), GetParam().overhead + points);
  }

  Dag dag_;
};

}  // namespace tidemark::testing
