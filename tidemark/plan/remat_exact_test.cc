#include "tidemark/plan/remat_exact.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_remat.h"

namespace tidemark {
namespace {

// Every valid sequence with at most `repeats` repeated runs, tried one by one.
class EverySequence {
 public:
  EverySequence(const RematProblem& problem, int repeats) : problem_(problem), repeats_(repeats) { extend(); }
  double cheapest(std::int64_t budget) const {
    double best = std::numeric_limits<double>::infinity();
    for (const SequenceFigures& f : all_) {
      if (f.peak <= budget) best = std::min(best, f.cost);
    }
    return best;
  }
  std::int64_t lowest() const {
    return std::ranges::min(all_, {}, [](const SequenceFigures& f) { return f.peak; }).peak;
  }

 private:
  void extend() {
    if (is_valid_sequence(problem_, sequence_)) all_.push_back(figures_of(problem_, sequence_));
    for (int t = 0; t < problem_.model.tasks; ++t) {
      const bool again = std::ranges::count(sequence_, t) > 0;
      if (again && (repeats_ == 0 || !problem_.repeatable[static_cast<std::size_t>(t)])) continue;
      if (!may_run(t, again)) continue;
      repeats_ -= again;
      sequence_.push_back(t);
      extend();
      sequence_.pop_back();
      repeats_ += again;
    }
  }
  bool may_run(int t, bool again) const {
    const auto done = [&](int s) { return std::ranges::count(sequence_, s) > 0; };
    if (!std::ranges::all_of(problem_.model.before[t], done)) return false;
    if (std::ranges::any_of(problem_.closed_by[t], done)) return false;
    return again || !problem_.fixed_order || t == 0 || done(t - 1);
  }

  const RematProblem& problem_;
  int repeats_;
  Sequence sequence_;
  std::vector<SequenceFigures> all_;
};

int repeats_of(const RematProblem& problem, const Sequence& sequence) {
  return static_cast<int>(sequence.size()) - problem.model.tasks;
}

void expect_same_as_every_sequence(RematProblem problem) {
  constexpr int repeats = 3;
  const EverySequence every(problem, repeats);
  const SmallestPeak floor = smallest_peak(problem);
  ASSERT_TRUE(floor.complete);
  ASSERT_TRUE(is_valid_sequence(problem, floor.sequence));
  EXPECT_EQ(figures_of(problem, floor.sequence).peak, floor.bytes);
  EXPECT_LE(floor.bytes, every.lowest());
  if (repeats_of(problem, floor.sequence) <= repeats) {
    EXPECT_EQ(floor.bytes, every.lowest());
  }

  for (std::int64_t budget = floor.bytes - 1; budget < floor.bytes + 12;
       budget += budget < floor.bytes ? 1 : 3) {
    problem.budget = budget;
    const ExactSequence exact = exact_sequence(problem);
    ASSERT_TRUE(exact.complete);
    if (budget < floor.bytes) {
      EXPECT_TRUE(exact.sequence.empty());
      continue;
    }
    ASSERT_TRUE(is_valid_sequence(problem, exact.sequence));
    const SequenceFigures figures = figures_of(problem, exact.sequence);
    EXPECT_LE(figures.peak, budget);
    EXPECT_EQ(figures.cost, exact.cost);
    EXPECT_EQ(exact.bound, exact.cost);
    EXPECT_LE(exact.cost, every.cheapest(budget));
    if (repeats_of(problem, exact.sequence) <= repeats) {
      EXPECT_EQ(exact.cost, every.cheapest(budget));
    }
  }
}

TEST(RematExact, AgreesWithEverySequenceOfSmallProblems) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    expect_same_as_every_sequence(
        random_remat(seed, {.tasks = 3 + static_cast<int>(seed % 3), .odd_sizes = seed % 5 == 0}));
    if (HasFailure()) return;
  }
}

TEST(RematExact, AgreesWithEverySequenceOfSmallTrainingChains) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    expect_same_as_every_sequence(
        random_remat(seed, {.tasks = 6, .simple = seed % 2 == 0, .training = true}));
    if (HasFailure()) return;
  }
}

TEST(RematExact, SaysNothingIsBelowTheCutoff) {
  RematProblem problem = random_remat(7, {.tasks = 8, .simple = true, .training = true});
  problem.budget = smallest_peak(problem).bytes;
  const ExactSequence best = exact_sequence(problem);
  ASSERT_FALSE(best.sequence.empty());
  const ExactSequence better = exact_sequence(problem, {.cutoff = best.cost});
  EXPECT_TRUE(better.complete);
  EXPECT_TRUE(better.sequence.empty());
  EXPECT_EQ(better.bound, best.cost);
}

TEST(RematExact, GivesABoundWhenStatesRunOut) {
  RematProblem problem = random_remat(3, {.tasks = 24, .simple = true, .training = true});
  problem.budget = smallest_peak(problem).bytes;
  const ExactSequence best = exact_sequence(problem);
  ASSERT_TRUE(best.complete);
  const ExactSequence cut = exact_sequence(problem, {.states = 20});
  EXPECT_FALSE(cut.complete);
  EXPECT_TRUE(cut.sequence.empty());
  EXPECT_LE(cut.bound, best.cost);
  EXPECT_GE(cut.bound, problem.base_cost());
}

}  // namespace
}  // namespace tidemark
