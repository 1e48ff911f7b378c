// Known optima of recomputation for graphs of the literature, in their given order.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "tidemark/solve/dag/dag.h"
#include "tidemark/solve/remat/bound.h"
#include "tidemark/solve/remat/exact.h"

namespace tidemark {
namespace {

struct KnownOptimum {
  double budget;   // as a part of the given order's peak
  double percent;  // cost of repeated runs, of all tasks' cost
};

void expect_optima(const std::string& name, const std::vector<KnownOptimum>& known) {
  const std::string path = TIDEMARK_SHARED_DATA "/graphs/" + name + ".dag.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  RematProblem problem = problem_of(read_dag(path));
  problem.fixed_order = true;
  Sequence given(static_cast<std::size_t>(problem.model.tasks));
  std::iota(given.begin(), given.end(), 0);
  const std::int64_t peak = figures_of(problem, given).peak;
  for (const KnownOptimum& optimum : known) {
    SCOPED_TRACE(optimum.budget);
    problem.budget = static_cast<std::int64_t>(static_cast<double>(peak) * optimum.budget);
    const ExactSequence exact = exact_sequence(problem);
    ASSERT_TRUE(exact.complete);
    ASSERT_TRUE(is_valid_sequence(problem, exact.sequence));
    const SequenceFigures figures = figures_of(problem, exact.sequence);
    EXPECT_LE(figures.peak, problem.budget);
    EXPECT_NEAR((figures.cost / problem.base_cost() - 1) * 100, optimum.percent, 0.0011);
    EXPECT_LE(time_bound(problem), figures.cost * (1 + 1e-9));
  }
}

TEST(RematExactInstances, Vgg16) { expect_optima("vgg16", {{.95, 0.774}, {.90, 1.968}, {.85, 1.968}}); }
TEST(RematExactInstances, Fcn8) {
  expect_optima("fcn8", {{.9, 0.0294}, {.8, 0.1361}, {.7, 0.8916}, {.65, 1.6173}});
}
TEST(RematExactInstances, Unet) {
  expect_optima("unet", {{.9, 1.129}, {.8, 1.984}, {.7, 2.967}, {.6, 4.451}, {.5, 6.967}, {.45, 9.321}});
}
TEST(RematExactInstances, Layered100) { expect_optima("layered100", {{.9, 0.789}, {.8, 2.296}}); }
TEST(RematExactInstances, MobilenetWithALooseBudget) {
  expect_optima("mobilenet", {{.9, 0.1635}, {.8, 0.3702}, {.7, 0.6262}});
}

}  // namespace
}  // namespace tidemark
