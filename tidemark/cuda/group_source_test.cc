// What generated kernels look like. What they compute is tested in group_values_test.cc, that they compile in
// compiler_test.cc.
#include "tidemark/cuda/group_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/law_case.h"
#include "tests/support/op_groups.h"
#include "tests/support/random_group.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/cpu_kernels.h"

namespace tidemark::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RandomGroup;

// One sum of two operands.
struct Sum {
  std::vector<Type> in, out;
  std::vector<Strides> strides;
  Attrs attrs;
  GroupStep step;

  Sum(const Type& x, const Strides& x_strides, const Type& y, const Strides& y_strides)
      : in{x, y}, strides{x_strides, y_strides} {
    step.call = {.op = &op::add, .in = in, .attrs = &attrs, .in_strides = strides};
    out = op::add.infer(step.call);
    step.call.out = out;
    step.in = {{GroupRef::operand, 0}, {GroupRef::operand, 1}};
    step.out = {{GroupRef::result, 0}};
  }
  KernelText kernel() const { return write_group(std::span(&step, 1)); }
};

Sum dense_sum(DType dtype, const Shape& shape) {
  return {{dtype, shape}, dense_strides(shape), {dtype, shape}, dense_strides(shape)};
}

TEST(GroupSource, EveryCallThatTheCpuFusesCanBeGenerated) {
  int fused = 0;
  for (const Op* op : all_ops()) {
    for (const testing::LawCase& c : testing::cases_of(*op)) {
      const Graph graph = c.graph();
      if (graph.nodes().empty()) continue;
      const NodeCall call(graph, graph.nodes().back());
      // Samples of reductions are too small to fuse; larger ones are.
      const bool reduces = find_cpu_kernel(*op) && find_cpu_kernel(*op)->reduction;
      if (cpu_target().fusion(call) == Fusion::none && !reduces) continue;
      ++fused;
      EXPECT_TRUE(can_generate(*op)) << op->name;
    }
  }
  EXPECT_GT(fused, 300);
}

TEST(GroupSource, IsAFunctionOfTheGroup) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const KernelText a = write_group(RandomGroup(seed).steps().list),
                     b = write_group(RandomGroup(seed).steps().list);
    EXPECT_EQ(a.source, b.source);
  }
}

TEST(GroupSource, PacksAreSixteenBytesOfTheLargestElement) {
  EXPECT_THAT(dense_sum(DType::f32, {1000}).kernel().source, HasSubstr("int width = 4;"));
  EXPECT_THAT(dense_sum(DType::f64, {1000}).kernel().source, HasSubstr("int width = 2;"));
  EXPECT_THAT(dense_sum(DType::bf16, {1000}).kernel().source, HasSubstr("int width = 8;"));
  EXPECT_THAT(dense_sum(DType::u8, {1000}).kernel().source, HasSubstr("int width = 8;"));
}

TEST(GroupSource, ArithmeticOfSixteenBitsIsNotConverted) {
  for (const DType dtype : {DType::bf16, DType::f16})
    EXPECT_THAT(dense_sum(dtype, {1000}).kernel().source,
                AllOf(HasSubstr("formula::half_add(a0, a1)"), Not(HasSubstr("computed"))));
  EXPECT_THAT(dense_sum(DType::f32, {1000}).kernel().source, HasSubstr("formula::Add::value"));
}

TEST(GroupSource, PacksDoNotReachIntoTheNextRow) {
  const Type column{DType::f32, {10, 1}};
  const auto with_rows = [&](std::int64_t n) {
    const Type whole{DType::f32, {10, n}};
    return Sum(whole, dense_strides(whole.shape), column, {1, 1}).kernel().source;
  };
  EXPECT_THAT(with_rows(64), HasSubstr("int width = 4;"));
  EXPECT_THAT(with_rows(66), HasSubstr("int width = 2;"));
  EXPECT_THAT(with_rows(65), HasSubstr("int width = 1;"));
}

TEST(GroupSource, LargeGroupsCountInSixtyFourBits) {
  EXPECT_THAT(dense_sum(DType::u8, {1 << 20}).kernel().source, HasSubstr("using Index = int;"));
  const KernelText large = dense_sum(DType::u8, {std::int64_t{1} << 33}).kernel();
  EXPECT_THAT(large.source, HasSubstr("using Index = long long;"));
  EXPECT_LE(large.launches[0].blocks, std::int64_t{1} << 20);
  // Few elements, far apart.
  const Type small{DType::u8, {4}};
  EXPECT_THAT(Sum(small, {std::int64_t{1} << 31}, small, {1}).kernel().source,
              HasSubstr("using Index = long long;"));
}

TEST(GroupSource, NothingToComputeIsNoLaunch) {
  EXPECT_TRUE(dense_sum(DType::f32, {0, 5}).kernel().launches.empty());
}

TEST(GroupSource, NoKernelAddsAtomically) {
  for (unsigned seed = 1000; seed < 1100; ++seed) {
    const KernelText kernel = write_group(RandomGroup(seed, {.reduces = true}).steps().list);
    EXPECT_THAT(kernel.source, Not(HasSubstr("atomic")));
  }
}

TEST(GroupSource, AStepThatNoFormulaHasIsOurMistake) {
  Sum sum = dense_sum(DType::f32, {8});
  sum.step.call.op = &op::softmax;
  EXPECT_THROW(sum.kernel(), InternalError);
  EXPECT_THROW(write_group({}), InternalError);
}

}  // namespace
}  // namespace tidemark::cuda
