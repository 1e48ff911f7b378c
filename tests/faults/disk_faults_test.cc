// A few trials of each fault; disk_faults_slow_test.cc has two hundred.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/faults/trial.h"
#include "tests/support/sanitized.h"

namespace tidemark::testing {
namespace {

class DiskFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(DiskFaults, GivesTheBitsOrAnErrorAndLeavesNothingBehind) {
  if (sanitized && GetParam() == Fault::open_limit) GTEST_SKIP() << "a sanitizer opens files of its own";
  const TrialResult result = run_trial(GetParam(), 1, DiskCompression::none);
  if (!result.skipped.empty()) GTEST_SKIP() << result.skipped;
  EXPECT_THAT(result.problems, ::testing::IsEmpty());
  if (GetParam() != Fault::kill) {
    EXPECT_GT(result.right + result.errors, 0);
  }
  RecordProperty("right", result.right);
  RecordProperty("errors", result.errors);
  RecordProperty("first_error", result.first_error);
}

// What strikes the bytes that wait, or those who write them.
class CompressedDiskFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(CompressedDiskFaults, GivesTheBitsOrAnErrorAndLeavesNothingBehind) {
  for (const std::uint64_t seed : {1, 2}) {
    const TrialResult result = run_trial(GetParam(), seed, DiskCompression::always);
    if (!result.skipped.empty()) GTEST_SKIP() << result.skipped;
    EXPECT_THAT(result.problems, ::testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, CompressedDiskFaults,
                         ::testing::Values(Fault::kill, Fault::flip, Fault::hole, Fault::truncate,
                                           Fault::size_limit, Fault::full),
                         [](const auto& fault) { return name_of(fault.param); });

INSTANTIATE_TEST_SUITE_P(Each, DiskFaults, ::testing::ValuesIn(faults),
                         [](const auto& fault) { return name_of(fault.param); });

}  // namespace
}  // namespace tidemark::testing
