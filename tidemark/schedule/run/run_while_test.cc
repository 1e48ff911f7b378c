#include <gmock/gmock.h>

#include "tests/support/killed_runs.h"
#include "tidemark/base/error.h"

namespace tidemark::schedule {
namespace {

using testing::MortalRing;
using testing::reference;
using testing::Ring;
using testing::Scratch;

Ring::Adjoint from_final(const Ring::State& last) {
  Ring ring;
  Ring::Adjoint adjoint = Ring::zero();
  ring.seed(last, adjoint);
  return adjoint;
}

TEST(RunWhile, GivesTheBitsOfARunOfKnownLength) {
  const Scratch scratch;
  for (const Step steps : {1, 2, 7, 40, 133})
    for (const std::int64_t slots : {1, 3, 9})
      for (const bool in_files : {false, true}) {
        MortalRing ring;
        Ring::State state = Ring::initial();
        std::vector<Step> asked;
        const auto [adjoint, report] =
            run_while(ring, state, from_final,
                      [&](const Ring::State&, Step i) { return asked.push_back(i), i < steps; },
                      {.levels = {{.slots = slots, .directory = in_files ? scratch.path() : ""}},
                       .verify = Verify::replay});
        EXPECT_EQ(adjoint, reference(steps)) << steps << " steps, " << slots << " slots";
        EXPECT_EQ(asked.size(), static_cast<std::size_t>(steps) + 1)
            << "once before each step, and at the end";
        EXPECT_EQ(report.actual_forward(), report.predicted_forward());
        EXPECT_LE(report.levels[0].peak_slots, slots);
        EXPECT_EQ(report.promise.steps, steps);
      }
}

TEST(RunWhile, SeedsTheAdjointWhenThereIsNoStep) {
  Ring ring;
  Ring::State state = Ring::initial();
  const auto [adjoint, report] = run_while(
      ring, state, from_final, [](const Ring::State&, Step) { return false; }, {.levels = {{.slots = 2}}});
  EXPECT_EQ(adjoint, from_final(Ring::initial()));
  EXPECT_EQ(report.actual_forward(), 0);
}

TEST(RunWhile, EndsWhenTheStateSaysSo) {
  Ring ring;
  Ring::State state = Ring::initial();
  const auto [adjoint, report] =
      run_while(ring, state, from_final, [](const Ring::State& x, Step) { return x[0] < 1; },
                {.levels = {{.bytes = Bytes(130)}}});
  ASSERT_GT(report.promise.steps, 3);
  EXPECT_EQ(adjoint, reference(report.promise.steps));
}

TEST(RunWhile, ResumesInTheLoopAndInItsReverse) {
  const Step steps = 80;
  bool forward = false, reverse = false;
  for (const std::int64_t dies_at : {30, 70, 79, 95, 140, 200, 230}) {
    const Scratch scratch;
    const auto go = [&](std::int64_t calls) {
      MortalRing ring;
      ring.calls_left = calls;
      Ring::State state = Ring::initial();
      return run_while(
          ring, state, from_final, [](const Ring::State&, Step i) { return i < steps; },
          {.levels = {{.slots = 6, .directory = scratch.path()}}, .resume = true, .io = Io::blocking});
    };
    const pid_t child = ::fork();
    if (child == 0) {
      go(dies_at);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << dies_at;
    const auto [adjoint, report] = go(-1);
    EXPECT_EQ(adjoint, reference(steps)) << dies_at;
    ASSERT_TRUE(report.resumed) << dies_at;
    (report.resumed->in_reverse ? reverse : forward) = true;
    EXPECT_TRUE(scratch.empty());
  }
  EXPECT_TRUE(forward);
  EXPECT_TRUE(reverse);
}

TEST(RunWhile, AsksForOneLevel) {
  Ring ring;
  Ring::State state = Ring::initial();
  const auto more = [](const Ring::State&, Step i) { return i < 3; };
  EXPECT_THROW(run_while(ring, state, from_final, more, {}), Error);
  EXPECT_THROW(run_while(ring, state, from_final, more, {.levels = {{.bytes = Bytes(39)}}}), Error);
}

}  // namespace
}  // namespace tidemark::schedule
