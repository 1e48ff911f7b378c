// Everything that a backend must give for plans to run on it is in toy_device.cc: here it plans, runs every
// op on the samples of the laws, and trains, with the bits of the CPU.
#include <gtest/gtest.h>

#include "tests/support/law_case.h"
#include "tests/support/random_programs.h"
#include "tests/support/run_on_device.h"
#include "tests/support/sanitized.h"
#include "tests/toy_target/toy_device.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::testing {
namespace {

// Inputs go into memory of the device, outputs come back from it.
std::vector<Literal> run_on_toy(const Graph& graph, const Plan& plan, const std::vector<Literal>& inputs) {
  ToyDevice device;
  return DeviceRun(device, graph, plan).run(inputs);
}

// What the target says of itself is in the plan.
void expect_toy_plan(const Plan& plan, const std::string& what) {
  EXPECT_EQ(plan.target, "toy") << what;
  for (const Buffer& buffer : plan.buffers) {
    EXPECT_TRUE(buffer.binding != Binding::arena || buffer.offset % 256 == 0) << what;
  }
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    EXPECT_LT(plan.steps[t].group, 0) << what;
    for (const Ref& out : plan.steps[t].out) EXPECT_FALSE(is_in_place(plan, t, out)) << what;
  }
}

ThreadPool& pool() {
  static ThreadPool one(1);
  return one;
}

class ToyLaws : public ::testing::TestWithParam<const Op*> {};

TEST_P(ToyLaws, GiveTheBitsOfTheCpu) {
  if (!runs_on_cpu(*GetParam())) GTEST_SKIP() << "no kernel";
  for (const LawCase& law : cases_of(*GetParam())) {
    const Graph graph = law.graph();
    const std::vector<Literal> operands = law.operands();
    const Plan plan = make_plan(graph, toy_target());
    expect_toy_plan(plan, law.name());
    const KernelRun expected = law.run(operands);
    EXPECT_EQ(bit_difference(run_on_toy(graph, plan, operands), expected.results), "") << law.name();
  }
}

std::string name_of_op(const ::testing::TestParamInfo<const Op*>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(AllOps, ToyLaws, ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         name_of_op);

TEST(ToyTarget, RandomProgramsHaveTheSameBitsAtEveryBudget) {
  int fitted = 0;
  for (unsigned seed = 0; seed < seeds(40); ++seed) {
    const Graph graph = expand(RandomProgram(seed).joint(),
                               [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; });
    const std::vector<Literal> inputs = inputs_of(graph);
    const std::vector<Literal> expected = interpret(graph, inputs, pool());
    const Plan free = make_plan(graph, toy_target());
    expect_toy_plan(free, "free");
    EXPECT_EQ(bit_difference(run_on_toy(graph, free, inputs), expected), "") << "seed " << seed;
    for (int percent : {95, 85}) {
      const auto planned =
          try_plan(graph, toy_target(), {.memory = free.peak() * percent / 100, .floor = false});
      if (!planned) continue;
      ++fitted;
      EXPECT_LE(planned.value().peak(), free.peak() * percent / 100);
      EXPECT_EQ(bit_difference(run_on_toy(graph, planned.value(), inputs), expected), "") << "seed " << seed;
    }
  }
  EXPECT_GT(fitted, static_cast<int>(seeds(40)) / 4);
}

TEST(ToyTarget, PlansForOneTargetAreRefusedByAnother) {
  const Graph graph = RandomProgram(1).joint();
  const Plan toy = make_plan(graph, toy_target()), cpu = make_plan(graph, cpu_target());
  EXPECT_TRUE(problems(graph, toy, toy_target()).empty());
  EXPECT_NE(problems(graph, toy, cpu_target()).front().find("made for the target `toy`"), std::string::npos);
  EXPECT_FALSE(problems(graph, cpu, toy_target()).empty());
  Plan renamed = cpu;
  renamed.target = "toy";
  EXPECT_NE(problems(graph, renamed, toy_target()).front().find("aligned to 64"), std::string::npos);
}

TEST(ToyTarget, GivesItsMemoryBack) {
  ToyDevice device;
  { Arena arena(device, 1000); }
  EXPECT_EQ(device.blocks(), 0u);
}

}  // namespace
}  // namespace tidemark::testing
