// More of compiler_test.cc and group_values_test.cc: every op and hundreds of groups for every architecture.
// A test for each part, so that they run side by side.
#include <gtest/gtest.h>

#include "tests/support/compiled_groups.h"
#include "tests/support/group_values.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

class CompilerSlow : public ::testing::TestWithParam<std::tuple<Architecture, DType>> {};

TEST_P(CompilerSlow, EveryOpCompiles) {
  TM_NEEDS_COMPILER();
  const auto& [architecture, dtype] = GetParam();
  expect_compiles(every_op_source(std::span(&dtype, 1)), architecture);
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, CompilerSlow,
                         ::testing::Combine(::testing::ValuesIn(architectures),
                                            ::testing::ValuesIn(every_dtype)));

class RandomGroupsSlow : public ::testing::TestWithParam<std::tuple<Architecture, unsigned>> {};

TEST_P(RandomGroupsSlow, Compile) {
  TM_NEEDS_COMPILER();
  const auto& [architecture, seed] = GetParam();
  expect_compiles(random_groups_source(seed, 40, false), architecture);
  expect_compiles(random_groups_source(1000 + seed, 40, true), architecture);
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, RandomGroupsSlow,
                         ::testing::Combine(::testing::ValuesIn(architectures),
                                            ::testing::Range(0u, 200u, 40u)));

class GroupValuesSlow : public ::testing::TestWithParam<unsigned> {};

TEST_P(GroupValuesSlow, RandomGroupsHaveTheBitsOfTheirStepsOnTheCpu) {
  expect_exact_groups(GetParam(), 100, false);
  expect_exact_groups(10000 + GetParam(), 100, true);
}

INSTANTIATE_TEST_SUITE_P(Hundreds, GroupValuesSlow, ::testing::Range(5000u, 5600u, 100u));

}  // namespace
}  // namespace tidemark::cuda
