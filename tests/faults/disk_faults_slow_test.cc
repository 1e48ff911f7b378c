// Two hundred trials, or TIDEMARK_TRIALS of them: faults in turn, moments at random.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/faults/trial.h"

namespace tidemark::testing {
namespace {

TEST(DiskFaultsSlow, TrialsGiveTheBitsOrAnErrorAndLeaveNothingBehind) {
  const char* const asked = std::getenv("TIDEMARK_TRIALS");
  const int trials = asked ? std::atoi(asked) : 200;
  struct Tally {
    int trials = 0, skipped = 0, right = 0, errors = 0, lost = 0;
    std::string first_error = {};
  };
  std::map<Fault, Tally> tallies;
  for (int t = 0; t < trials; ++t) {
    const Fault fault = faults[static_cast<std::size_t>(t) % std::size(faults)];
    const auto seed = static_cast<std::uint64_t>(t) + 100;
    const TrialResult result =
        run_trial(fault, seed, static_cast<DiskCompression>(t / std::size(faults) % 3));
    if (!result.problems.empty())
      ADD_FAILURE() << name_of(fault) << ", seed " << seed << ": " << result.problems.front();
    Tally& tally = tallies[fault];
    ++tally.trials;
    tally.skipped += !result.skipped.empty();
    tally.right += result.right;
    tally.errors += result.errors;
    tally.lost += result.lost;
    if (tally.first_error.empty()) tally.first_error = result.first_error;
  }
  int errors = 0, right = 0;
  fmt::print("{:<14} {:>7} {:>8}   calls under it: {:>6} {:>7} {:>5}\n", "fault", "trials", "skipped",
             "right", "errors", "lost");
  for (const auto& [fault, tally] : tallies) {
    fmt::print("{:<14} {:>7} {:>8} {:>24} {:>7} {:>5}\n", name_of(fault), tally.trials, tally.skipped,
               tally.right, tally.errors, tally.lost);
    if (!tally.first_error.empty()) fmt::print("    {}\n", tally.first_error);
    errors += tally.errors;
    right += tally.right;
  }
  EXPECT_GT(errors, trials / 4);  // or faults would not strike
  EXPECT_GT(right, 0);
}

}  // namespace
}  // namespace tidemark::testing
