// What a run within a budget promises: the bits of the run without one, inside the arena that the plan
// claimed. On random differentiable programs of real ops, dropout and other randomness among them.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/trace/storage.h"

namespace tidemark::testing {
namespace {

struct RunTally {
  int runs = 0, recomputing = 0;
};

std::vector<Literal> results_of(Program& program, const std::vector<Literal>& inputs) {
  std::vector<Tensor> tensors;
  for (const Literal& input : inputs) tensors.push_back(tensor_of(input));
  std::vector<Literal> results;
  for (const Tensor& result : program.run(tensors, {})) {
    const std::byte* bytes = result.bytes();
    results.push_back({result.dtype(), result.shape(), {bytes, bytes + result.type().bytes()}});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (program.graph().inputs()[i].donated) continue;
    EXPECT_EQ(std::memcmp(tensors[i].storage()->data(), inputs[i].bytes.data(), inputs[i].bytes.size()), 0)
        << "an input that was not donated was written";
  }
  return results;
}

void expect_same_bits_at_every_budget(const Graph& graph, int budgets, const std::string& name,
                                      RunTally& tally) {
  static const auto device = std::make_shared<CpuDevice>(2);
  constexpr double effort = 0.003;
  const std::vector<Literal> inputs = inputs_of(graph);
  Program free(graph, {.plan = {.effort = effort}}, device);
  const std::vector<Literal> expected = results_of(free, inputs);
  const Result<Plan, Infeasible> none =
      try_plan(free.graph(), test_target(), {.memory = free.plan().input_bytes, .effort = effort});
  if (none) return;  // the results lie in donated inputs, and nothing else is needed
  const std::int64_t floor = none.error().smallest.peak();
  for (int k = 0; k <= budgets; ++k) {
    const std::int64_t budget = floor + (free.plan().peak() - floor) * k / budgets;
    SCOPED_TRACE(fmt::format("{}, budget {} of {}..{}", name, budget, floor, free.plan().peak()));
    Program program(graph, {.plan = {.memory = budget, .effort = effort}}, device);
    ASSERT_LE(program.plan().peak(), budget);
    ++tally.runs;
    tally.recomputing += program.plan().steps.size() > free.plan().steps.size();
    for (int run = 0; run < 2; ++run) {
      const std::vector<Literal> results = results_of(program, inputs);
      ASSERT_EQ(results.size(), expected.size());
      for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_EQ(bit_difference(results[i], expected[i]), "") << "run " << run << ", output " << i;
    }
    ASSERT_EQ(program.arena_high_water(), program.plan().arena_bytes);
  }
}

TEST(BudgetRuns, HaveTheBitsOfTheRunWithoutABudget) {
  RunTally tally;
  for (unsigned seed = 0; seed < seeds(25); ++seed) {
    expect_same_bits_at_every_budget(RandomProgram(seed, {.nodes = 5, .most_rows = 40}).joint(), 3,
                                     fmt::format("program {}", seed), tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, few ? -1 : 25);
}

TEST(BudgetRuns, SoDoThoseOfRandomNumbersAndDropout) {
  RunTally tally;
  for (unsigned seed = 0; seed < seeds(25); ++seed) {
    const ProgramKind kind{.nodes = 8, .most_rows = 40, .random = true};
    expect_same_bits_at_every_budget(RandomProgram(seed + 500, kind).joint(), 3,
                                     fmt::format("random program {}", seed), tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, few ? -1 : 25);
}

}  // namespace
}  // namespace tidemark::testing
