// What is left of a reversal, against a search over everything the machine could do.
#include "tidemark/schedule/kinds/remainder.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/sanitized.h"
#include "tidemark/base/philox.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::schedule {
namespace {

// Least advances from every position of the machine with so many slots: end, working state, states held as
// bits. Found backwards from the positions with fewer steps left; within one `end`, Dijkstra's search over
// advance (1), store, load, drop and record (0).
class Everything {
 public:
  static constexpr int never = 1 << 20;

  Everything(int steps, int slots) : steps_(steps), slots_(slots), sets_(1 << steps) {
    least_.assign(static_cast<std::size_t>((steps + 1) * (steps + 2) * sets_), never);
    for (int end = 0; end <= steps; ++end) solve(end);
  }
  int least(int end, int working, int held) const { return least_[index(end, working, held)]; }
  bool fits(int held) const { return __builtin_popcount(static_cast<unsigned>(held)) <= slots_; }

 private:
  // A working state of no use is `steps` + 1.
  std::size_t index(int end, int working, int held) const {
    return static_cast<std::size_t>((end * (steps_ + 2) + (working < 0 ? steps_ + 1 : working)) * sets_ +
                                    held);
  }

  // Costs are passed on until nothing changes: the machine is small.
  void solve(int end) {
    for (int held = 0; held < sets_; ++held) {
      if (!fits(held)) continue;
      for (int working = 0; working <= steps_ + 1; ++working) {
        if (end == 0) least_[index(end, working, held)] = 0;
      }
    }
    if (end == 0) return;
    for (bool changed = true; changed;) {
      changed = false;
      for (int held = 0; held < sets_; ++held) {
        if (!fits(held)) continue;
        for (int working = 0; working <= steps_ + 1; ++working) {
          int& here = least_[index(end, working, held)];
          int best = here;
          if (working < end - 1) best = std::min(best, 1 + least(end, working + 1, held));
          if (working == end - 1) best = std::min(best, least(end - 1, -1, held));
          if (working < end && fits(held | 1 << working))
            best = std::min(best, least(end, working, held | 1 << working));
          for (int i = 0; i < end; ++i) {
            if (!(held >> i & 1)) continue;
            best = std::min(best, least(end, i, held));
            best = std::min(best, least(end, working, held & ~(1 << i)));
          }
          if (best < here) here = best, changed = true;
        }
      }
    }
  }

  int steps_, slots_, sets_;
  std::vector<int> least_;
};

// Follows the reversal on a machine with a stack of states; -1 when it breaks a rule.
Step follow(const Remainder& remainder, const RemainderPlan& plan, std::int64_t slots) {
  BurstStream<RemainderReversal> stream(remainder, plan, slots);
  std::vector<Step> held = plan.kept(remainder);
  if (std::ssize(held) > slots) return -1;
  Step working = remainder.may_load && remainder.end > 0 ? plan.first() : -1;
  Step end = remainder.end, advances = 0;
  for (Action action; stream.next(action);) {
    switch (action.kind) {
      case ActionKind::advance:
        if (action.step != working || action.to <= action.step || action.to >= end) return -1;
        advances += action.to - action.step;
        working = action.to;
        break;
      case ActionKind::store:
        if (action.step != working || (!held.empty() && held.back() >= working)) return -1;
        held.push_back(working);
        break;
      case ActionKind::load:
        if (held.empty() || held.back() != action.step) return -1;
        working = action.step;
        break;
      case ActionKind::drop:
        if (held.empty() || held.back() != action.step) return -1;
        held.pop_back();
        break;
      case ActionKind::record:
        if (action.step != working || working != end - 1) return -1;
        break;
      case ActionKind::reverse:
        if (action.step != --end) return -1;
        working = -1;
        break;
    }
    if (std::ssize(held) > slots) return -1;
  }
  return end == 0 && held.empty() ? advances : -1;
}

std::vector<Step> states_of(int bits) {
  std::vector<Step> states;
  for (int i = 0; bits >> i; ++i)
    if (bits >> i & 1) states.push_back(i);
  return states;
}

TEST(Remainder, DropsTheStatesThatCostLeastOfEverySubsetAndEveryMove) {
  using enum RemainderPlan::Choice;
  const int steps = sanitized ? 7 : 9;
  std::int64_t met = 0, moved = 0;
  for (int slots = 1; slots <= steps; ++slots) {
    const Everything everything(steps, slots);
    // Whatever the machine may do, once it holds some of what it held.
    const auto least_of_subsets = [&](int end, int working, int held) {
      int best = Everything::never;
      for (int kept = held;; kept = (kept - 1) & held) {
        if (everything.fits(kept)) best = std::min(best, everything.least(end, working, kept));
        if (kept == 0) return best;
      }
    };
    for (int end = 1; end <= steps; ++end)
      for (int held = 1; held < 1 << end; held += 2)  // state 0 is
        for (int working = -2; working < end; ++working) {
          if (working >= 0 && held >> (working + 1)) continue;
          Remainder remainder{.end = end, .held = states_of(held), .working = working};
          int best = least_of_subsets(end, std::max(working, -1), held);
          if (working == -2)
            remainder.working = -1, remainder.may_load = false;
          else
            for (const Step state : remainder.held)
              best = std::min(best, least_of_subsets(end, static_cast<int>(state), held));
          const RemainderPlan plan = plan_remainder(remainder, slots);
          ASSERT_EQ(plan.choice, among_all);
          ASSERT_EQ(plan.advances, best)
              << "end " << end << " held " << held << " working " << working << " slots " << slots;
          ASSERT_EQ(follow(remainder, plan, slots), best);
          ++met;
          for (const auto& [source, state] : plan.places) moved += source != state;
        }
  }
  EXPECT_GT(met, sanitized ? 1000 : 10'000);
  EXPECT_GT(moved, 100) << "states that are better somewhere else";
}

TEST(Remainder, KeepsAllThatFitWhereDroppingSavesNothing) {
  const Remainder remainder{.end = 100, .held = {0, 30, 60, 90}, .working = 95};
  EXPECT_EQ(plan_remainder(remainder, 100).kept(remainder), remainder.held);
}

// Random positions of longer reversals.
Remainder some_remainder(std::uint64_t seed, Step end, std::size_t count, bool works) {
  std::set<Step> held = {0};
  for (std::uint64_t i = 0; held.size() < count; ++i)
    held.insert(static_cast<Step>(Philox{seed}(i)[0] % static_cast<std::uint32_t>(end)));
  Remainder remainder{.end = end, .held = {held.begin(), held.end()}};
  const Step last = remainder.held.back();
  if (works)
    remainder.working =
        last + static_cast<Step>(Philox{seed}(1 << 20)[0] % static_cast<std::uint32_t>(end - last));
  return remainder;
}

TEST(Remainder, LookingAtFewerPlacesKeepsTheRulesAndComesClose) {
  using enum RemainderPlan::Choice;
  double many = 1, held = 1, greedy = 1;
  for (std::uint64_t seed = 0; seed < (sanitized ? 6 : 60); ++seed) {
    const Step end = 200 + static_cast<Step>(seed) * 17;
    const Remainder remainder = some_remainder(seed, end, 8 + seed % 20, seed % 3 != 0);
    const std::int64_t slots = 1 + static_cast<std::int64_t>(seed % 23);
    const std::int64_t sources =
        std::ssize(remainder.held) + (remainder.working > remainder.held.back() ? 1 : 0);
    const std::int64_t ranks = std::min(sources, slots + 1);
    const RemainderPlan exact = plan_remainder(remainder, slots);
    EXPECT_EQ(exact.choice, among_all);
    EXPECT_EQ(follow(remainder, exact, slots), exact.advances);
    const auto excess = [&](std::int64_t pairs, RemainderPlan::Choice choice) {
      const RemainderPlan plan = plan_remainder(remainder, slots, pairs);
      EXPECT_EQ(plan.choice, choice);
      EXPECT_EQ(follow(remainder, plan, slots), plan.advances);
      EXPECT_GE(plan.advances, exact.advances);
      return static_cast<double>(plan.advances + end) / static_cast<double>(exact.advances + end);
    };
    many = std::max(many, excess(ranks * (end - 1), among_many));
    held = std::max(held, excess(ranks * sources, among_held));
    greedy = std::max(greedy, excess(0, one_by_one));
  }
  EXPECT_LT(many, 1.02);
  EXPECT_LT(held, 1.05);
  EXPECT_LT(greedy, 1.15);
}

TEST(Remainder, ManyStatesAndHugeLengthsAreNoTrouble) {
  for (const std::int64_t slots : {1, 3, 300, 2'000}) {
    Remainder remainder{.end = 100'000'000};
    for (Step i = 0; i < 4000; ++i) remainder.held.push_back(i * 20'000 + i % 7);
    remainder.working = remainder.held.back() + 5;
    const RemainderPlan plan = plan_remainder(remainder, slots);
    EXPECT_LE(std::ssize(plan.kept(remainder)), slots);
    EXPECT_EQ(plan.places.front().state, 0);
    EXPECT_GT(plan.advances, 0);
  }
  // More than 63 bits count.
  EXPECT_LT(plan_remainder({.end = most_steps, .held = {0, 5}, .working = -1}, 1).advances, 0);
}

TEST(Remainder, NeedsNoSlotForAStepThatTheWorkingStateBegins) {
  EXPECT_FALSE((Remainder{.end = 1, .held = {}, .working = 0}.needs_a_slot()));
  EXPECT_FALSE((Remainder{.end = 0, .held = {}, .working = -1}.needs_a_slot()));
  EXPECT_TRUE((Remainder{.end = 1, .held = {0}, .working = -1}.needs_a_slot()));
  EXPECT_TRUE((Remainder{.end = 2, .held = {0}, .working = 1}.needs_a_slot()));
  const Remainder last{.end = 1, .held = {0}, .working = 0};
  EXPECT_EQ(follow(last, plan_remainder(last, 0), 0), 0) << "what is held is let go";
}

}  // namespace
}  // namespace tidemark::schedule
