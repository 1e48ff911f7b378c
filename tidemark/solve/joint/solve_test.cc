// Searches and bounds of joint problems against all schedules there are, and against each other.
#include "tidemark/solve/joint/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/support/random_joint.h"
#include "tidemark/solve/joint/bound.h"

namespace tidemark {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The least makespan within the budgets of all lists up to a length.
class Exhaustive {
 public:
  Exhaustive(const JointProblem& problem, std::size_t longest)
      : problem_(problem), open_(problem), longest_(longest) {
    for (JointItem& item : open_.items) item.pinned = false;
  }

  double least() {
    extend();
    return best_;
  }
  bool complete() const { return visits_ < most_visits; }

 private:
  void extend() {
    if (++visits_ > most_visits) return;
    // What is judged of a beginning: only its last entry can be wrong, bytes and time only grow.
    JointFigures figures = judge(open_, list_);
    const bool whole = figures.error.empty();
    const std::string end = "entry " + std::to_string(list_.size()) + ":";
    if (!whole && !figures.error.starts_with(end)) return;
    if (whole) {
      figures = judge(problem_, list_);
      if (figures.fits(problem_)) best_ = std::min(best_, figures.makespan);
    }
    if (list_.size() == longest_) return;
    for (int t = 0; t < static_cast<int>(problem_.tasks.size()); ++t) {
      const bool async = problem_.tasks[static_cast<std::size_t>(t)].lane != 0;
      for (const Part part : {Part::whole, Part::begin, Part::end}) {
        if (async == (part == Part::whole)) continue;
        if (!list_.empty() && part == Part::whole && list_.back() == JointEntry{t, part}) continue;
        list_.push_back({t, part});
        extend();
        list_.pop_back();
      }
    }
  }

  static constexpr std::int64_t most_visits = 3'000'000;
  const JointProblem& problem_;
  JointProblem open_;
  std::size_t longest_;
  JointSchedule list_;
  double best_ = infinite;
  std::int64_t visits_ = 0;
};

TEST(JointSearch, FindsTheOptimumOfSmallProblemsAndNoBoundIsAboveIt) {
  int solved = 0, beyond_keeping = 0, bounded = 0;
  for (unsigned seed = 0; seed < 90; ++seed) {
    const int kind = static_cast<int>(seed % 3);
    const JointProblem problem = fake::random_joint(seed, {.tasks = 4,
                                                           .transfers = kind == 0,
                                                           .codecs = kind == 1,
                                                           .modes = kind == 2,
                                                           .plain = seed % 2 == 0});
    Exhaustive all(problem, problem.required.size() + 4);
    const double least = all.least();
    if (!all.complete() || least == infinite) continue;  // longer lists may be within the budget
    ++solved;
    const JointResult found = solve_joint(problem, {.units = 60'000});
    const double bound = makespan_bound(problem), kept = judge(problem, plain_schedule(problem)).makespan;
    ASSERT_TRUE(found.feasible) << seed;
    ASSERT_LE(found.figures.makespan, least * (1 + 1e-9)) << seed;  // its list may be longer, and so better
    ASSERT_LE(bound, least * (1 + 1e-9)) << seed;
    ASSERT_LE(bound, found.figures.makespan * (1 + 1e-9)) << seed;
    beyond_keeping += least > kept * (1 + 1e-9);
    bounded += bound > kept * (1 + 1e-9);
  }
  EXPECT_GT(solved, 20);
  EXPECT_GT(beyond_keeping, 15);
  EXPECT_GT(bounded, 5);
}

// x is made first and x' used last; the only way from one to the other is over another memory.
TEST(JointSearch, WhatNoChoiceMakesComesByTheWayThatDoesAndHides) {
  constexpr int between = 6;
  JointProblem problem;
  problem.items = {{.bytes = 10}, {.bytes = 10}};
  problem.budgets = {10, 100};
  problem.lanes = 3;
  for (int t = 0; t < between + 2; ++t) {
    problem.tasks.push_back({.cost = 1, .repeatable = false});
    problem.required.push_back({t});
  }
  problem.tasks.front().makes = {0};
  problem.tasks.back().uses = {1};
  const int out = static_cast<int>(problem.tasks.size()), in = out + 1;
  add_transfer(problem, 0, {.memory = 1, .out_lane = 1, .in_lane = 2, .out_cost = 2, .in_cost = 2});
  problem.tasks[static_cast<std::size_t>(in)].makes = {1};
  // All of it at once, which stalls.
  problem.start = {{0}, {out, Part::begin}, {out, Part::end}, {in, Part::begin}, {in, Part::end}};
  for (int t = 1; t < between + 2; ++t) problem.start.push_back({t});
  ASSERT_EQ(judge(problem, problem.start).error, "");
  ASSERT_EQ(judge(problem, problem.start).makespan, between + 2 + 4);
  const JointResult found = solve_joint(problem, {.units = 100'000});
  EXPECT_TRUE(found.feasible);
  EXPECT_EQ(found.figures.error, "");
  EXPECT_EQ(found.figures.makespan, between + 2);
  for (const Part part : {Part::begin, Part::end}) {
    EXPECT_EQ(std::ranges::count(found.schedule, JointEntry{out, part}), 1);
    EXPECT_EQ(std::ranges::count(found.schedule, JointEntry{in, part}), 1);
  }
}

// Longer problems: every answer is a schedule, within the budgets where it says so, no longer than
// recomputation alone, no shorter than the bound, and the same when asked again.
TEST(JointSearch, AnswersAreWhatTheySay) {
  int feasible = 0, better = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const JointProblem problem =
        fake::random_joint(seed, {.tasks = 10 + static_cast<int>(seed), .transfers = 8});
    const JointResult found = solve_joint(problem, {.units = 20'000});
    const JointFigures figures = judge(problem, found.schedule);
    ASSERT_EQ(figures.error, "") << seed;
    ASSERT_EQ(figures.fits(problem), found.feasible) << seed;
    ASSERT_EQ(figures.makespan, found.figures.makespan) << seed;
    ASSERT_EQ(solve_joint(problem, {.units = 20'000}).schedule, found.schedule) << seed;
    if (!found.feasible) {
      ASSERT_FALSE(found.recomputing_alone) << seed;
      continue;
    }
    ++feasible;
    ASSERT_LE(found.time_bound, found.figures.makespan * (1 + 1e-9)) << seed;
    if (found.recomputing_alone) {
      ASSERT_LE(found.figures.makespan, *found.recomputing_alone * (1 + 1e-9)) << seed;
    }
    better += !found.recomputing_alone || found.figures.makespan < *found.recomputing_alone * (1 - 1e-9);
  }
  EXPECT_GT(feasible, 15);
  EXPECT_GT(better, 10);
}

// A training step: x₁ … xₙ wait for the backward pass. Alone, recomputation must run a part of the forward
// pass again and the link is too slow for all that must go; together they take less than either.
TEST(JointSearch, MixesWaysWhereEachAloneIsWorse) {
  constexpr int layers = 20;
  JointProblem joint;
  const auto add = [&](std::vector<int> uses, double cost) {
    const int item = static_cast<int>(joint.items.size());
    joint.required.push_back({static_cast<int>(joint.tasks.size())});
    joint.tasks.push_back({.cost = cost, .uses = std::move(uses), .makes = {item}});
    joint.items.push_back({.bytes = 100});
    return item;
  };
  std::vector<int> x{add({}, 1)};
  for (int k = 0; k < layers; ++k) x.push_back(add({x.back()}, 1));
  int gradient = add({x.back()}, 1);
  for (int k = layers; k-- > 0;) gradient = add({gradient, x[static_cast<std::size_t>(k)]}, 2);
  joint.items.back().pinned = true;
  joint.budgets = {660};
  const double kept = judge(joint, plain_schedule(joint)).makespan;
  const RematLimits limits{.units = 200'000};
  const JointResult recomputing = solve_joint(joint, limits);
  ASSERT_TRUE(recomputing.feasible);

  const auto with_link = [&](bool recompute) {
    JointProblem moving = joint;
    moving.budgets.push_back(no_budget);
    moving.lanes = 3;
    if (!recompute) {
      for (JointTask& task : moving.tasks) task.repeatable = false;
    }
    for (int item : x) {
      add_transfer(moving, item, {.memory = 1, .out_lane = 1, .in_lane = 2, .out_cost = 3, .in_cost = 3});
    }
    return solve_joint(moving, limits);
  };
  const JointResult transfers = with_link(false), both = with_link(true);
  ASSERT_TRUE(transfers.feasible);
  ASSERT_TRUE(both.feasible);
  EXPECT_LT(both.figures.makespan, recomputing.figures.makespan);
  EXPECT_LT(both.figures.makespan, transfers.figures.makespan);
  EXPECT_GT(both.figures.peaks[1], 0);
  EXPECT_GE(both.figures.makespan, both.time_bound);
  EXPECT_GT(both.time_bound, kept);
}

TEST(JointSearch, HandsPlainProblemsToTheSearchesOfRecomputation) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RematProblem plain = fake::random_problem(seed, 20);
    plain.fixed_order = true;
    Sequence base(static_cast<std::size_t>(plain.model.tasks));
    std::iota(base.begin(), base.end(), 0);
    plain.budget = figures_of(plain, base).peak * 8 / 10;
    const RematLimits limits{.units = 50'000};
    const RematResult expected = solve_remat(plain, base, limits);
    const JointResult found = solve_joint(joint_of(plain), limits);
    ASSERT_EQ(found.feasible, expected.feasible) << seed;
    ASSERT_DOUBLE_EQ(found.figures.makespan, expected.figures.cost) << seed;
    ASSERT_EQ(found.figures.peaks[0], expected.figures.peak) << seed;
  }
}

// A body that can be planned in three ways: what the step before leaves decides which fits.
TEST(JointSearch, ModesGiveWayToWhatIsKept) {
  JointProblem joint;
  joint.items = {{.bytes = 50}, {.bytes = 10}, {.bytes = 10, .pinned = true}};
  joint.tasks = {{.cost = 100, .makes = {0}, .repeatable = false},
                 {.cost = 10, .makes = {1}, .scratch = 60},
                 {.cost = 12, .makes = {1}, .scratch = 35},
                 {.cost = 30, .makes = {1}, .scratch = 5},
                 {.cost = 1, .uses = {0, 1}, .makes = {2}}};
  joint.required = {{0}, {1, 2, 3}, {4}};
  const struct {
    std::int64_t budget;
    double makespan;
  } cases[] = {{120, 111}, {119, 113}, {95, 113}, {94, 131}, {70, 131}};
  for (const auto& [budget, makespan] : cases) {
    joint.budgets = {budget};
    const JointResult found = solve_joint(joint, {.units = 20'000});
    ASSERT_TRUE(found.feasible) << budget;
    EXPECT_EQ(found.figures.makespan, makespan) << budget;
  }
  joint.budgets = {64};
  EXPECT_FALSE(solve_joint(joint, {.units = 20'000}).feasible);
}

}  // namespace
}  // namespace tidemark
