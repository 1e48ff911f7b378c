// More of compiler_test.cc and group_values_test.cc: every op and hundreds of groups for every architecture.
#include <gtest/gtest.h>

#include "tests/support/compiled_groups.h"
#include "tests/support/group_values.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

TEST(CompilerSlow, EveryOpCompilesInEveryDtypeForEveryArchitecture) {
  TM_NEEDS_COMPILER();
  for (const Architecture& architecture : architectures) expect_compiles(every_op_source(), architecture);
}

TEST(CompilerSlow, RandomGroupsCompileForEveryArchitecture) {
  TM_NEEDS_COMPILER();
  for (const Architecture& architecture : architectures) {
    for (unsigned seed = 0; seed < 200; seed += 40) {
      expect_compiles(random_groups_source(seed, 40, false), architecture);
      expect_compiles(random_groups_source(1000 + seed, 40, true), architecture);
    }
  }
}

TEST(GroupValuesSlow, RandomGroupsHaveTheBitsOfTheirStepsOnTheCpu) {
  for (unsigned seed = 5000; seed < 5600; seed += 100) {
    expect_exact_groups(seed, 100, false);
    expect_exact_groups(10000 + seed, 100, true);
  }
}

}  // namespace
}  // namespace tidemark::cuda
