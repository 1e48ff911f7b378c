#include "tidemark/solve/remat/timeline.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/random_problems.h"
#include "tidemark/solve/remat/timeline_edit.h"

namespace tidemark {
namespace {

TEST(Timeline, AgreesWithPlainEvaluationWhileRunsComeAndGo) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const RematProblem problem = fake::random_problem(seed, 4 + static_cast<int>(seed % 3) * 60);
    Sequence base(static_cast<std::size_t>(problem.model.tasks));
    for (std::size_t t = 0; t < base.size(); ++t) base[t] = static_cast<int>(t);
    TimelineEdit edit(problem, base);
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
      const Sequence before = edit.now().sequence();
      for (int change = 0; change < 3; ++change) {
        const auto repeats = edit.repeats();
        if (!repeats.empty() && random() % 3 == 0) {
          edit.erase(repeats[random() % repeats.size()]);
          continue;
        }
        const Sequence now = edit.now().sequence();
        const int task = now[random() % now.size()];
        Timeline::Run next = edit.now().next(edit.now().runs_of(task).front());
        for (int skip = static_cast<int>(random() % 40); skip > 0 && next != Timeline::none; --skip) {
          next = edit.now().next(next);
        }
        if (edit.may_insert(task, next)) edit.insert(task, next);
      }
      const Sequence after = edit.now().sequence();
      const SequenceFigures figures = figures_of(problem, after);
      ASSERT_TRUE(is_valid_sequence(problem, after));
      ASSERT_EQ(edit.now().peak(), figures.peak) << "seed " << seed << " round " << round;
      std::int64_t excess = 0;
      const std::int64_t limit = figures.peak * 2 / 3;
      for (Timeline::Run run = edit.now().first(); run != Timeline::none; run = edit.now().next(run)) {
        excess += std::max<std::int64_t>(0, edit.now().load(run) - limit);
      }
      ASSERT_EQ(edit.now().excess(limit), excess);
      ASSERT_NEAR(edit.now().cost(), figures.cost, 1e-9 * figures.cost);
      ASSERT_EQ(edit.repeats().size(), after.size() - base.size());
      if (random() % 2) {
        edit.undo();
        ASSERT_EQ(edit.now().sequence(), before);
        ASSERT_EQ(edit.now().peak(), figures_of(problem, before).peak);
      } else {
        edit.keep();
      }
    }
  }
}

}  // namespace
}  // namespace tidemark
