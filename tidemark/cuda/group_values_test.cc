// Generated kernels, compiled for the host, compute what the CPU's kernels compute: the same bits where every
// step is rounded once, a few units of the last place apart where a function is not. The GPU's own functions
// differ from the host's by as much again; what runs there is tested there.
#include <gtest/gtest.h>

#include "tests/support/group_values.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

TEST(GroupValues, RandomGroupsHaveTheBitsOfTheirStepsOnTheCpu) { expect_exact_groups(0, 60, false); }

TEST(GroupValues, ReductionsFoldInTheOrderOfTheCpu) { expect_exact_groups(1000, 60, true); }

TEST(GroupValues, EveryOpInEveryDtype) {
  const std::vector<std::unique_ptr<OpGroup>> groups = every_op_group(203);
  std::vector<GroupKernel> kernels;
  for (const auto& group : groups)
    kernels.push_back(
        write_group(std::span(&group->step, 1), fmt::format("k{}_{}", kernels.size(), group->name)));
  const HostKernels compiled(kernels);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const OpGroup& group = *groups[g];
    SCOPED_TRACE(group.name);
    const Op& op = *group.step.call.op;
    const Literal expected = run_kernel(op, group.operands, group.attrs).results[0];
    std::vector<const void*> in;
    for (const Literal& operand : group.operands) in.push_back(operand.bytes.data());
    Shifted memory(group.out[0].bytes(), 0);
    void* const out = memory.get();
    ASSERT_TRUE(compiled.run(g, in, std::span(&out, 1), nullptr));
    const Literal got = literal_at(group.out[0], memory.get());
    if (is_exact(op)) {
      EXPECT_EQ(bit_difference(got, expected, NaNs::alike), "");
      continue;
    }
    const std::vector<double> a = values_of(got), b = values_of(expected);
    // The tail of gelu is the product of a rounded number with a steep function of it, and its slope goes
    // through 0 as a difference.
    const double allowed = size_of(got.dtype) == 2 ? 1 : &op == &op::gelu ? 16 : 4;
    const double floor = &op == &op::gelu_slope ? 1 : 0;
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, units_apart(got.dtype, a[i], b[i], floor));
    EXPECT_LE(worst, allowed);
  }
}

}  // namespace
}  // namespace tidemark::cuda
