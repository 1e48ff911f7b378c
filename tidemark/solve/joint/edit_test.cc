// The evaluator that searches use, against the judge: after any change that is sound, and after any that was
// taken back.
#include "tidemark/solve/joint/edit.h"

#include <gtest/gtest.h>

#include "tests/support/random_joint.h"
#include "tidemark/solve/joint/moves.h"

namespace tidemark {
namespace {

void expect_as_judged(const JointProblem& problem, const JointEdit& edit, const std::string& where) {
  const JointSchedule schedule = edit.schedule();
  const JointFigures figures = judge(problem, schedule);
  ASSERT_EQ(figures.error, "") << where;
  ASSERT_NEAR(figures.makespan, edit.makespan(), 1e-9 * (1 + figures.makespan)) << where;
  for (std::size_t m = 0; m < problem.memories(); ++m) {
    ASSERT_EQ(figures.peaks[m], edit.lines()[m].peak()) << where << ", memory " << m;
  }
}

TEST(JointEdit, CountsAsTheJudgeDoesAfterEveryChange) {
  int kept = 0, undone = 0, unsound = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const JointProblem problem = fake::random_joint(
        seed, {.tasks = 4 + static_cast<int>(seed % 25), .transfers = static_cast<int>(seed % 6)});
    const Lowered lowered(problem);
    JointEdit edit(lowered, plain_schedule(problem));
    JointMoves moves(lowered, seed);
    for (int step = 0; step < 200; ++step) {
      const JointSchedule before = edit.schedule();
      switch (moves.random().below(5)) {
        case 0:
          moves.restore(edit);
          break;
        case 1:
          moves.shift(edit);
          break;
        case 2:
          moves.exchange(edit);
          break;
        default:
          moves.drop(edit, moves.random().below(2) ? edit.lines()[0].peak_run() : JointEdit::none);
      }
      const std::string where = "seed " + std::to_string(seed) + ", step " + std::to_string(step);
      const bool sound = edit.is_sound();
      if (sound) expect_as_judged(problem, edit, where);
      if (HasFatalFailure()) return;
      // What is not sound is no schedule: the check refuses nothing that could be kept.
      if (!sound) {
        ASSERT_NE(judge(problem, edit.schedule()).error, "") << where;
      }
      if (sound && moves.random().below(3)) {
        kept += edit.changed();
        edit.keep();
      } else {
        sound ? ++undone : ++unsound;
        edit.undo();
        ASSERT_EQ(edit.schedule(), before) << where;
        expect_as_judged(problem, edit, where);
        if (HasFatalFailure()) return;
      }
      if (edit.line().runs() > 200) break;
    }
  }
  EXPECT_GT(kept, 2000);
  EXPECT_GT(undone, 1000);
  EXPECT_GT(unsound, 20);
}

TEST(JointEdit, ModesChangeInPlace) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const JointProblem problem = fake::random_joint(seed, {.tasks = 10, .modes = 4});
    const Lowered lowered(problem);
    JointEdit edit(lowered, plain_schedule(problem));
    for (int c = 0; c < static_cast<int>(problem.required.size()); ++c) {
      const auto& modes = problem.required[static_cast<std::size_t>(c)];
      if (modes.size() == 1) continue;
      const JointSchedule before = edit.schedule();
      edit.switch_mode(c, modes.back());
      ASSERT_TRUE(edit.is_sound());
      expect_as_judged(problem, edit, "switched");
      edit.undo();
      ASSERT_EQ(edit.schedule(), before);
      edit.switch_mode(c, modes.back());
      edit.keep();
      ASSERT_EQ(edit.task(edit.base_run(c)), modes.back());
    }
  }
}

}  // namespace
}  // namespace tidemark
