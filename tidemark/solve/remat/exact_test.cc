#include "tidemark/solve/remat/exact.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <queue>

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

// Forwards, from what has run and what is alive, items being dropped one at a time: another way to count,
// without any rule. Knows no in-place reuses.
double cheapest_forwards(const RematProblem& problem) {
  const OrderModel& model = problem.model;
  using State = std::pair<unsigned, unsigned>;  // tasks that have run, items alive
  const auto bit = [](int i) { return 1u << i; };
  const auto bytes = [&](unsigned items) {
    std::int64_t sum = model.base;
    for (int i = 0; i < model.items; ++i) sum += items & bit(i) ? model.size[static_cast<std::size_t>(i)] : 0;
    return sum;
  };
  const auto bits = [&](std::span<const int> list) {
    return std::accumulate(list.begin(), list.end(), 0u, [&](unsigned sum, int i) { return sum | bit(i); });
  };
  std::map<State, double> best;
  std::priority_queue<std::pair<double, State>, std::vector<std::pair<double, State>>, std::greater<>> queue;
  const auto reach = [&](State state, double cost) {
    const auto [it, fresh] = best.try_emplace(state, cost);
    if (!fresh && it->second <= cost) return;
    it->second = cost;
    queue.push({cost, state});
  };
  unsigned present = 0, pinned = 0;
  for (int i = 0; i < model.items; ++i) {
    present |= model.present[static_cast<std::size_t>(i)] ? bit(i) : 0;
    pinned |= model.pinned[static_cast<std::size_t>(i)] ? bit(i) : 0;
  }
  reach({0, present}, 0);
  while (!queue.empty()) {
    const auto [cost, state] = queue.top();
    queue.pop();
    if (best[state] < cost) continue;
    const auto [done, alive] = state;
    if (done == bit(model.tasks) - 1 && (pinned & ~alive) == 0) return cost;
    for (int i = 0; i < model.items; ++i) {
      if (alive & bit(i)) reach({done, alive & ~bit(i)}, cost);
    }
    for (int t = 0; t < model.tasks; ++t) {
      if (bits(model.before[t]) & ~done || bits(model.uses[t]) & ~alive) continue;
      if (bits(problem.closed_by[t]) & done) continue;
      const bool again = done & bit(t);
      if (again ? !problem.repeatable[static_cast<std::size_t>(t)]
                : problem.fixed_order && done != bit(t) - 1) {
        continue;
      }
      const unsigned during = alive | bits(model.makes[t]);
      if (bytes(during) + model.scratch[static_cast<std::size_t>(t)] > problem.budget) continue;
      reach({done | bit(t), during}, cost + problem.cost[static_cast<std::size_t>(t)]);
    }
  }
  return std::numeric_limits<double>::infinity();
}

TEST(RematExact, AgreesWithASearchForwardsWithoutRules) {
  int repeated = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = random_remat(
        seed, {.tasks = 8 + static_cast<int>(seed % 2), .simple = seed % 3 == 0, .training = seed % 2 == 0});
    if (problem.model.items > 11) continue;
    for (auto& pairs : problem.model.reuses) pairs.clear();
    for (double& cost : problem.cost) cost = std::max(0.0, cost - 2);  // some for nothing
    const std::int64_t floor = smallest_peak(problem).bytes;
    for (std::int64_t budget = floor; budget < floor + 4; ++budget) {
      problem.budget = budget;
      const ExactSequence exact = exact_sequence(problem);
      ASSERT_TRUE(exact.complete);
      ASSERT_EQ(exact.cost, cheapest_forwards(problem));
      repeated += repeats_of(problem, exact.sequence) > 2;
    }
    problem.budget = floor - 1;
    ASSERT_EQ(cheapest_forwards(problem), std::numeric_limits<double>::infinity());
  }
  EXPECT_GT(repeated, 20);
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
