#include <gtest/gtest.h>

#include "tests/support/scalar_program_laws.h"

namespace tidemark::scalars {
namespace {

TEST(ScalarProgramsSlow, AHundredThousandHaveTheValuesOfDoubleAndTheSameDerivativesInBothModes) {
  int compared = 0;
  for (std::uint64_t seed = 2000; seed < 102000 && !testing::Test::HasFailure(); ++seed)
    compared += program::check_program(seed);
  EXPECT_GE(compared, 98000);
}

}  // namespace
}  // namespace tidemark::scalars
