#include "tidemark/solve/joint/problem.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_problems.h"

namespace tidemark {
namespace {

// a makes x, b needs room of its own, c reads x; x may go to a second memory by one lane and come back by
// another.
JointProblem small() {
  JointProblem joint;
  joint.items = {{.bytes = 10}, {.bytes = 1}, {.bytes = 1, .pinned = true}};
  joint.tasks = {{.cost = 1, .makes = {0}},
                 {.cost = 4, .makes = {1}, .scratch = 12},
                 {.cost = 1, .uses = {0, 1}, .makes = {2}}};
  joint.required = {{0}, {1}, {2}};
  joint.budgets = {15, no_budget};
  joint.lanes = 3;
  add_transfer(joint, 0, {.memory = 1, .out_lane = 1, .in_lane = 2, .out_cost = 3, .in_cost = 2});
  return joint;
}
constexpr int out = 3, in = 4;

TEST(JointProblem, CountsBytesInEveryMemoryAndWaitsWhereItIsTold) {
  const JointProblem joint = small();
  const JointFigures kept = judge(joint, plain_schedule(joint));
  EXPECT_EQ(kept.error, "");
  EXPECT_EQ(kept.peaks, (std::vector<std::int64_t>{23, 0}));  // x, b's result and scratch
  EXPECT_EQ(kept.makespan, 6);
  EXPECT_FALSE(kept.fits(joint));

  const JointFigures moved =
      judge(joint, {{0}, {out, Part::begin}, {out, Part::end}, {1}, {in, Part::begin}, {in, Part::end}, {2}});
  EXPECT_EQ(moved.error, "");
  EXPECT_EQ(moved.peaks, (std::vector<std::int64_t>{13, 10}));
  EXPECT_EQ(moved.makespan, 1 + 3 + 4 + 2 + 1);
  EXPECT_EQ(moved.stalled, 5);
  EXPECT_TRUE(moved.fits(joint));
}

TEST(JointProblem, TransfersHideBehindWhatRunsMeanwhile) {
  JointProblem joint = small();
  joint.tasks[1].scratch = 0;
  const JointFigures hidden =
      judge(joint, {{0}, {out, Part::begin}, {1}, {out, Part::end}, {in, Part::begin}, {in, Part::end}, {2}});
  EXPECT_EQ(hidden.error, "");
  EXPECT_EQ(hidden.makespan, 1 + 4 + 2 + 1);  // the way out takes 3 of b's 4
  EXPECT_EQ(hidden.stalled, 2);
}

TEST(JointProblem, ALaneRunsWhatItIsHandedOneAfterTheOther) {
  JointProblem joint = small();
  const int second =
      add_transfer(joint, 1, {.memory = 1, .out_lane = 1, .in_lane = 2, .out_cost = 5, .in_cost = 1});
  EXPECT_EQ(second, 4);
  const JointFigures figures =
      judge(joint, {{0}, {1}, {out, Part::begin}, {5, Part::begin}, {5, Part::end}, {out, Part::end}, {2}});
  EXPECT_EQ(figures.error, "");
  EXPECT_EQ(figures.makespan, 5 + 3 + 5 + 1);
}

TEST(JointProblem, SaysWhatIsWrongWithAList) {
  JointProblem joint = small();
  joint.tasks[0].repeatable = false;
  joint.tasks[1].closed_by = {2};
  const struct {
    JointSchedule schedule;
    std::string_view what;
  } cases[] = {
      {{{0}, {1}}, "required"},
      {{{1}, {0}, {2}}, "order"},
      {{{0}, {7}}, "no such task"},
      {{{0}, {0}, {1}, {2}}, "may run once"},
      {{{0}, {1}, {2}, {1}}, "closed"},
      {{{0}, {out}, {1}, {2}}, "other lanes"},
      {{{0, Part::begin}}, "other lanes"},
      {{{0}, {out, Part::end}, {1}, {2}}, "without a begin"},
      {{{0}, {out, Part::begin}, {1}, {2}}, "without an end"},
      {{{0}, {out, Part::begin}, {out, Part::begin}}, "under way"},
      {{{out, Part::begin}}, "not there"},
      {{{0}, {in, Part::begin}}, "not there"},
      // Read before the transfer has ended.
      {{{0}, {out, Part::begin}, {out, Part::end}, {1}, {in, Part::begin}, {2}, {in, Part::end}},
       "not there"},
  };
  for (const auto& [schedule, what] : cases) {
    const std::string error = judge(joint, schedule).error;
    EXPECT_NE(error.find(what), std::string::npos) << "'" << error << "' where it should say: " << what;
  }
}

TEST(JointProblem, NothingIsMadeAgainWhileAnotherLaneReadsIt) {
  const JointProblem joint = small();
  const JointFigures figures = judge(joint, {{0}, {out, Part::begin}, {0}, {out, Part::end}, {1}, {2}});
  EXPECT_NE(figures.error.find("another lane works on"), std::string::npos) << figures.error;
}

TEST(JointProblem, APlainProblemIsTheSpecialCase) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RematProblem plain = fake::random_problem(seed, 5 + static_cast<int>(seed % 20));
    if (seed % 3 == 0) plain.model.base = 17;
    Sequence base(static_cast<std::size_t>(plain.model.tasks));
    std::iota(base.begin(), base.end(), 0);
    const JointProblem joint = joint_of(plain);
    EXPECT_TRUE(is_plain(joint));
    const JointFigures figures = judge(joint, plain_schedule(joint));
    const SequenceFigures expected = figures_of(plain, base);
    ASSERT_EQ(figures.error, "") << seed;
    ASSERT_EQ(figures.peaks[0], expected.peak) << seed;
    ASSERT_DOUBLE_EQ(figures.makespan, expected.cost) << seed;
    const RematProblem back = plain_part(joint);
    Sequence choices(joint.required.size());
    std::iota(choices.begin(), choices.end(), 0);
    ASSERT_EQ(figures_of(back, choices).peak, expected.peak) << seed;
  }
}

}  // namespace
}  // namespace tidemark
