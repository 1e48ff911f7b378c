// What kernels make for themselves changes no bits, no peak for the worse, and is never predicted slower: on
// random differentiable programs, without a budget and within some, on a machine where only bytes count and
// on the reference machine.
#include <gtest/gtest.h>

#include "tests/support/memory_bound.h"
#include "tests/support/random_hints.h"
#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"

namespace tidemark::testing {
namespace {

class DuplicateLaws : public ::testing::Test {
 protected:
  static std::vector<Literal> results_of(const Graph& graph, Plan plan, const std::vector<Literal>& inputs) {
    static const auto device = std::make_shared<CpuDevice>(2);
    Program program(graph, std::move(plan), std::make_shared<Workspace>(device));
    std::vector<Tensor> tensors;
    for (const Literal& input : inputs) tensors.push_back(tensor_of(input));
    std::vector<Literal> results;
    for (const Tensor& result : program.run(tensors, {})) {
      const std::byte* bytes = result.bytes();
      results.push_back({result.dtype(), result.shape(), {bytes, bytes + result.type().bytes()}});
    }
    EXPECT_EQ(program.arena_high_water(), program.plan().arena_bytes);
    return results;
  }

  // The number of values that kernels make for themselves.
  static int expect_laws(const Graph& graph, PlanOptions options, const std::string& what) {
    options.effort = 0.003;
    options.check_every_pass =
        !options.memory;  // of all that a budget is searched with, it would take minutes
    PlanOptions skipping = options;
    skipping.skip = {"duplicate"};
    const Result<Plan, Infeasible> with = try_plan(graph, test_target(), options);
    const Result<Plan, Infeasible> without = try_plan(graph, test_target(), skipping);
    EXPECT_TRUE(with || !without) << what << ": what fitted does not fit any more";
    const Plan& plan = with ? with.value() : with.error().smallest;
    const Plan& plain = without ? without.value() : without.error().smallest;
    EXPECT_LE(plan.peak(), plain.peak()) << what;
    EXPECT_LE(plan.seconds, plain.seconds * (1 + 1e-12)) << what;
    EXPECT_LE(plan.seconds_bound, plan.seconds * (1 + 1e-12)) << what;
    EXPECT_LE(plan.least_seconds, plan.seconds * (1 + 1e-12)) << what;
    EXPECT_NEAR(plan.seconds + plan.duplicates.seconds, plain.seconds, 1e-9 * plain.seconds) << what;
    EXPECT_NEAR(plan.seconds - plan.least_seconds, plain.seconds - plain.least_seconds, 1e-9 * plain.seconds)
        << what << ": the price of want of memory is another";
    if (plan.duplicates.values == 0) return 0;
    const std::vector<Literal> inputs = inputs_of(graph);
    const std::vector<Literal> a = results_of(graph, plan, inputs), b = results_of(graph, plain, inputs);
    EXPECT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(bit_difference(a[i], b[i]), "") << what << ", output " << i;
    return plan.duplicates.values;
  }
};

TEST_F(DuplicateLaws, HoldWithoutABudget) {
  int values = 0;
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    const Graph graph = prepare_graph(RandomProgram(seed).joint());
    values += expect_laws(graph, {.machine = &memory_bound()}, fmt::format("seed {}", seed));
    expect_laws(graph, {}, fmt::format("seed {} on the reference machine", seed));
    if (HasFailure()) return;
  }
  EXPECT_GT(values, few ? -1 : 40);
}

TEST_F(DuplicateLaws, HoldWithinBudgets) {
  int values = 0;
  for (unsigned seed = 0; seed < seeds(8); ++seed) {
    const Graph graph = prepare_graph(RandomProgram(seed, {.nodes = 5, .most_rows = 40}).joint());
    const Plan free = make_plan(graph, test_target(), {.machine = &memory_bound(), .effort = 0.01});
    for (const double part : {1.0, 0.7, 0.0}) {
      const auto memory =
          free.input_bytes + static_cast<std::int64_t>(part * static_cast<double>(free.arena_bytes));
      values += expect_laws(graph, {.memory = memory, .machine = &memory_bound()},
                            fmt::format("seed {} within {}", seed, memory));
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(values, few ? -1 : 10);
}

TEST_F(DuplicateLaws, HoldWithHintsAndInAGivenOrder) {
  for (unsigned seed = 0; seed < seeds(30); ++seed) {
    const Graph graph = prepare_graph(with_random_hints(RandomProgram(seed).joint(), seed));
    expect_laws(graph, {.machine = &memory_bound()}, fmt::format("seed {} with hints", seed));
    expect_laws(graph, {.machine = &memory_bound(), .fixed_order = true},
                fmt::format("seed {} in a given order", seed));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tidemark::testing
