#include <gtest/gtest.h>

#include "tests/support/scalar_program_laws.h"

namespace tidemark::scalars {
namespace {

TEST(ScalarPrograms, TwoThousandHaveTheValuesOfDoubleAndTheSameDerivativesInBothModes) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed)
    compared += program::check_program(seed);
  EXPECT_GE(compared, 1950);
}

}  // namespace
}  // namespace tidemark::scalars
