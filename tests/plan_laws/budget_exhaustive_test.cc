// Recomputation against exhaustive search: on problems of up to eight tasks nothing is below the floor that
// is reported, and nothing is cheaper within a budget than what is found. The search here goes forwards over
// pairs (tasks that have run, items that are held) and drops items whenever it likes; it shares nothing with
// the searches it judges.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numeric>
#include <queue>

#include "tests/support/random_problems.h"
#include "tests/support/random_remat.h"
#include "tests/support/sanitized.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

constexpr double nothing = std::numeric_limits<double>::infinity();

class Exhaustive {
 public:
  explicit Exhaustive(const RematProblem& problem) : problem_(problem), model_(problem.model) {
    for (int i = 0; i < model_.items; ++i) {
      if (model_.present[at(i)]) start_.held |= bit(i);
      if (model_.pinned[at(i)]) pinned_ |= bit(i);
    }
  }

  // The least cost within the budget; infinite if there is none.
  double cheapest(std::int64_t budget) const {
    return search([&](double so_far, double cost, std::int64_t load) {
      return load <= budget ? so_far + cost : nothing;
    });
  }
  // The least peak at any cost.
  std::int64_t floor() const {
    return static_cast<std::int64_t>(search([](double so_far, double, std::int64_t load) {
      return std::max(so_far, static_cast<double>(load));
    }));
  }

 private:
  using Set = std::uint32_t;
  struct State {
    Set done = 0, held = 0;
    friend auto operator<=>(const State&, const State&) = default;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static Set bit(int i) { return Set{1} << i; }
  static bool has(Set set, int i) { return (set & bit(i)) != 0; }

  std::int64_t bytes(Set items) const {
    std::int64_t sum = 0;
    for (int i = 0; i < model_.items; ++i) sum += has(items, i) ? model_.size[at(i)] : 0;
    return sum;
  }
  bool may_run(const State& state, int t) const {
    for (int p : model_.before[t]) {
      if (!has(state.done, p)) return false;
    }
    for (int closer : problem_.closed_by[t]) {
      if (has(state.done, closer)) return false;
    }
    for (int i : model_.uses[t]) {
      if (!has(state.held, i)) return false;
    }
    if (has(state.done, t)) return problem_.repeatable[at(t)];
    return !problem_.fixed_order || state.done == bit(t) - 1;
  }

  // Best first; `extend(value, cost, load)` is the value after one more run and never less than before.
  template <class Extend>
  double search(Extend&& extend) const {
    std::map<State, double> value{{start_, 0}};
    using Entry = std::pair<double, State>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    open.push({0, start_});
    const auto reach = [&](State next, double v) {
      if (v == nothing) return;
      const auto [place, fresh] = value.try_emplace(next, v);
      if (!fresh && place->second <= v) return;
      place->second = v;
      open.push({v, next});
    };
    while (!open.empty()) {
      const auto [v, state] = open.top();
      open.pop();
      if (value[state] < v) continue;
      if (state.done == bit(model_.tasks) - 1 && (pinned_ & ~state.held) == 0) return v;
      for (int i = 0; i < model_.items; ++i) {
        if (has(state.held, i)) reach({state.done, state.held & ~bit(i)}, v);
      }
      for (int t = 0; t < model_.tasks; ++t) {
        if (may_run(state, t))
          run(state, t,
              [&](State next, std::int64_t load) { reach(next, extend(v, problem_.cost[at(t)], load)); });
      }
    }
    return nothing;
  }

  // Each choice of which operands die in the step: those may be overwritten.
  template <class Reach>
  void run(const State& state, int t, Reach&& reach) const {
    Set made = 0;
    for (int i : model_.makes[t]) made |= bit(i);
    const auto uses = model_.uses[t];
    for (Set choice = 0; choice < bit(static_cast<int>(uses.size())); ++choice) {
      Set dying = 0;
      for (std::size_t k = 0; k < uses.size(); ++k)
        dying |= has(choice, static_cast<int>(k)) ? bit(uses[k]) : 0;
      const std::int64_t load = model_.base + bytes(state.held | made) + model_.scratch[at(t)] -
                                saved_by_reuse(model_, t, [&](int i) { return has(dying, i); });
      reach({state.done | bit(t), (state.held | made) & ~dying}, load);
    }
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  State start_;
  Set pinned_ = 0;
};

void expect_nothing_better(RematProblem problem) {
  const Exhaustive exhaustive(problem);
  const std::int64_t floor = exhaustive.floor();
  Sequence base(static_cast<std::size_t>(problem.model.tasks));
  std::iota(base.begin(), base.end(), 0);
  const RematLimits effort{.units = 50'000};

  problem.budget = floor - 1;
  const RematResult below = solve_remat(problem, base, effort);
  EXPECT_FALSE(below.feasible);
  EXPECT_EQ(below.figures.peak, floor);
  EXPECT_LE(below.memory_bound, floor);

  const std::int64_t top = std::max(floor, figures_of(problem, base).peak);
  const std::int64_t step = std::max<std::int64_t>(1, (top - floor) / 4);
  for (problem.budget = floor; problem.budget <= top; problem.budget += step) {
    const double cheapest = exhaustive.cheapest(problem.budget);
    const RematResult found = solve_remat(problem, base, effort);
    ASSERT_TRUE(found.feasible) << "at " << problem.budget << ", floor " << floor;
    ASSERT_TRUE(is_valid_sequence(problem, found.sequence));
    EXPECT_LE(found.figures.peak, problem.budget);
    EXPECT_NEAR(found.figures.cost, cheapest, 1e-9 * cheapest) << "at " << problem.budget;
    EXPECT_LE(found.time_bound, cheapest * (1 + 1e-9)) << "at " << problem.budget;
    EXPECT_LE(found.memory_bound, floor);
  }
}

TEST(BudgetExhaustive, NothingIsBelowTheFloorOrCheaperOnOddProblems) {
  for (unsigned seed = 0; seed < seeds(400); ++seed) {
    for (bool fixed : {false, true}) {
      RematProblem problem =
          random_remat(seed + 5000, {.tasks = 3 + static_cast<int>(seed % 5), .simple = seed % 7 == 0});
      if (problem.model.items > 10) continue;
      problem.fixed_order = fixed;
      SCOPED_TRACE(fmt::format("seed {}, {} order", seed, fixed ? "fixed" : "free"));
      expect_nothing_better(std::move(problem));
      if (HasFailure()) return;
    }
  }
}

TEST(BudgetExhaustive, NorOnTrainingChains) {
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    for (bool fixed : {false, true}) {
      RematProblem problem = random_remat(
          seed, {.tasks = 6 + static_cast<int>(seed % 3), .simple = seed % 2 == 0, .training = true});
      if (problem.model.items > 9) continue;
      problem.fixed_order = fixed;
      SCOPED_TRACE(fmt::format("seed {}, {} order", seed, fixed ? "fixed" : "free"));
      expect_nothing_better(std::move(problem));
      if (HasFailure()) return;
    }
  }
}

TEST(BudgetExhaustive, NorOnProblemsWithClosedTasksAndPlainOnes) {
  for (unsigned seed = 0; seed < seeds(160); ++seed) {
    for (bool fixed : {false, true}) {
      RematProblem problem = fake::random_problem(seed, 4 + static_cast<int>(seed % 5), seed % 4 == 0);
      if (problem.model.items > 9) continue;
      problem.fixed_order = fixed;
      SCOPED_TRACE(fmt::format("seed {}, {} order", seed, fixed ? "fixed" : "free"));
      expect_nothing_better(std::move(problem));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tidemark
