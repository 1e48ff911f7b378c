#include <gtest/gtest.h>

#include "tests/support/killed_runs.h"
#include "tidemark/base/philox.h"

namespace tidemark::schedule {
namespace {

using testing::calls_of;
using testing::Halves;
using testing::MortalRing;
using testing::reference;
using testing::Ring;
using testing::run_and_die;
using testing::Scratch;

TEST(ResumeSlow, GivesTheSameBitsAfterTwoHundredKills) {
  const Step steps = 400;
  const Ring::Adjoint expected = reference(steps);
  const auto schedule = Halves(steps, 3, 5).schedule();
  const Scratch scratch;
  RunOptions options{.levels = {{.slots = 3}, {.slots = 5, .directory = scratch.path()}},
                     .verify = Verify::replay,
                     .resume = true};
  const std::int64_t calls = calls_of(schedule, options);
  int forward = 0, reverse = 0, anew = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    options.io = seed % 2 ? Io::thread : Io::automatic;
    options.verify = seed % 3 ? Verify::replay : Verify::none;
    const auto draw = Philox{99}(seed);
    ASSERT_TRUE(run_and_die(schedule, options, draw[0] % calls)) << seed;
    if (seed % 4 == 0) run_and_die(schedule, options, draw[1] % calls);  // and once more while it goes on
    MortalRing ring;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    const Report report = run(ring, state, adjoint, schedule, options);
    ASSERT_EQ(adjoint, expected) << seed;
    ASSERT_TRUE(scratch.empty());
    (!report.resumed ? anew : report.resumed->in_reverse ? reverse : forward) += 1;
  }
  RecordProperty("resumed_in_reverse", reverse);
  EXPECT_GT(reverse, 100);
  EXPECT_GT(forward + anew, 0);
}

}  // namespace
}  // namespace tidemark::schedule
