// Runs whose budget changes at every possible moment, to every possible number, and back.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include "tests/support/reversals.h"
#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/base/philox.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::schedule {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::reference;
using testing::Ring;
using testing::Scratch;

constexpr std::int64_t state = 40;  // bytes of a Ring's state

struct BudgetOutcome {
  Ring::Adjoint adjoint = Ring::zero();
  Report report;
};

BudgetOutcome run_with(Step steps, std::function<Bytes()> memory_left, RunOptions options = {}) {
  Ring ring;
  Ring::State start = Ring::initial();
  BudgetOutcome outcome;
  options.memory_left = std::move(memory_left);
  outcome.report = run(ring, start, outcome.adjoint, steps, options);
  EXPECT_EQ(outcome.report.actual_forward(),
            outcome.report.predicted_forward() + outcome.report.budget.extra_forward);
  return outcome;
}

template <class F>
std::string refusal(ErrorCode code, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

// How often a run asks that is always told the same.
int asks_of(Step steps, std::int64_t slots) {
  int asks = 0;
  run_with(steps, [&] { return ++asks, Bytes(slots * state); });
  return asks;
}

TEST(MemoryLeft, IsABinomialRunWhileItStaysTheSame) {
  for (const std::int64_t slots : {1, 3, 7, 100}) {
    const auto [adjoint, report] = run_with(60, [&] { return Bytes(slots * state + 39); });
    EXPECT_EQ(adjoint, reference(60));
    EXPECT_EQ(report.promise.kind, Kind::binomial);
    EXPECT_EQ(report.advances, least_advances(60, slots));
    EXPECT_EQ(report.budget.changes, 0);
    EXPECT_EQ(report.budget.dropped, 0);
    EXPECT_EQ(report.budget.extra_forward, 0);
    EXPECT_EQ(report.levels[0].peak_slots, std::min<std::int64_t>(slots, 59));
  }
}

TEST(MemoryLeft, MayShrinkBeforeEveryMoveToEveryNumberAndTheBitsStay) {
  const Step steps = sanitized ? 9 : 17;
  const Ring::Adjoint expected = reference(steps);
  std::int64_t dropped = 0;
  for (const std::int64_t before : {2, 4, 6}) {
    const int asks = asks_of(steps, before);
    ASSERT_GT(asks, steps);
    for (int moment = 0; moment < asks; ++moment)
      for (std::int64_t after = 1; after <= before + 2; ++after) {
        int asked = 0;
        const auto [adjoint, report] =
            run_with(steps, [&] { return Bytes((asked++ < moment ? before : after) * state); });
        ASSERT_EQ(adjoint, expected) << "from " << before << " to " << after << " at " << moment;
        EXPECT_EQ(report.budget.changes, moment > 0 && after != before ? 1 : 0);
        EXPECT_EQ(report.recorded, steps);
        EXPECT_TRUE(moment == 0 || after <= before || report.budget.extra_forward <= 0);
        EXPECT_TRUE(moment == 0 || after >= before || report.budget.extra_forward >= 0);
        dropped += report.budget.dropped;
      }
  }
  EXPECT_GT(dropped, 100);
}

TEST(MemoryLeft, OfNothingIsAnErrorUntilNoStateIsNeeded) {
  const Step steps = 12;
  const int asks = asks_of(steps, 3);
  int survived = 0;
  for (const std::int64_t nothing :
       {std::int64_t{0}, state - 1, std::int64_t{-5}, std::numeric_limits<std::int64_t>::min()})
    for (int moment = 0; moment < asks; ++moment) {
      int asked = 0;
      const std::string text = refusal(ErrorCode::infeasible_budget, [&] {
        const auto outcome = run_with(steps, [&] { return Bytes(asked++ < moment ? 3 * state : nothing); });
        EXPECT_EQ(outcome.adjoint, reference(steps));
        ++survived;
      });
      if (text == "no error") {
        EXPECT_GE(moment, asks - 3) << "only once the working state is state 0 of the last step";
        continue;
      }
      EXPECT_THAT(text, AllOf(HasSubstr("memory_left"), HasSubstr("at least one state, 40 B")));
      EXPECT_EQ(asked, moment + 1) << "it is not asked again";
    }
  EXPECT_EQ(survived, 4 * 3) << "before the last drop, record and reverse";
}

TEST(MemoryLeft, ShrinksToOneAndGrowsAgain) {
  const Step steps = 200;
  for (const int period : {1, 2, 7, 40, 333}) {
    int asked = 0;
    const auto [adjoint, report] =
        run_with(steps, [&] { return Bytes((asked++ / period % 2 == 0 ? 8 : 1) * state); });
    EXPECT_EQ(adjoint, reference(steps)) << period;
    EXPECT_GT(report.budget.changes, 1);
    EXPECT_EQ(report.budget.least_slots, 1);
    EXPECT_GT(report.budget.extra_forward, 0);
    EXPECT_THAT(report.summary(), HasSubstr("the budget changed"));
  }
}

TEST(MemoryLeft, MayBeAnythingAtAnyTime) {
  for (std::uint64_t seed = 0; seed < (sanitized ? 5 : 40); ++seed)
    for (const Verify verify : {Verify::none, Verify::replay}) {
      const Philox random{seed};
      std::uint64_t asked = 0;
      const auto [adjoint, report] =
          run_with(90, [&] { return Bytes(state + random(asked++)[0] % (12 * state)); },
                   {.levels = {{.bytes = Bytes(9 * state)}}, .verify = verify});
      EXPECT_EQ(adjoint, reference(90)) << seed;
      EXPECT_LE(report.levels[0].peak_slots, 9) << "the level's own budget holds, too";
      EXPECT_LE(report.levels[0].peak_slots, report.levels[0].slots);
      EXPECT_GT(report.budget.changes, 50);
    }
}

TEST(MemoryLeft, TakesLevelsInSlotsAndInBytesAndWithout) {
  int asked = 0;
  const auto half_way = [&] { return Bytes((asked++ < 120 ? 1000 : 3) * state); };
  for (const auto& [levels, most] : {std::pair<std::vector<RunLevel>, std::int64_t>{{{.slots = 5}}, 5},
                                     {{{.bytes = Bytes(7 * state)}}, 7},
                                     {{}, 49}}) {
    asked = 0;
    const auto [adjoint, report] = run_with(50, half_way, {.levels = levels, .kind = Kind::binomial});
    EXPECT_EQ(adjoint, reference(50));
    EXPECT_EQ(report.levels[0].peak_slots, most);
    EXPECT_EQ(report.budget.changes, 1);
  }
}

// A forward sweep that holds many states and must give most of them back at its end: no more forward steps
// are taken than with the few from the beginning, and far fewer than from state 0 and the latest alone.
TEST(MemoryLeft, LosesLittleWhenMuchMustGo) {
  const Step steps = 2000;
  Step taken = 0;
  struct Counting : Ring {
    Step& taken;
    explicit Counting(Step& count) : taken(count) {}
    void advance(State& x, Steps range) { taken += range.end - range.begin, Ring::advance(x, range); }
    State record(State& x, Step i) { return ++taken, Ring::record(x, i); }
  } ring(taken);
  Ring::State start = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  const Report report = run(ring, start, adjoint, steps,
                            {.memory_left = [&] { return Bytes((taken < steps - 1 ? 100 : 10) * state); }});
  EXPECT_EQ(adjoint, reference(steps));
  EXPECT_EQ(report.actual_forward(), taken);
  EXPECT_GE(report.budget.dropped, 80);
  EXPECT_LE(report.actual_forward(), steps + least_advances(steps, 10));
  EXPECT_GT(report.budget.extra_forward, 0);
}

TEST(MemoryLeft, PassesOnWhatTheCallbackThrowsAtAnyTime) {
  const int asks = asks_of(10, 2);
  for (int moment = 0; moment < asks; ++moment) {
    int asked = 0;
    EXPECT_THROW(run_with(10,
                          [&] {
                            if (asked++ == moment) throw std::runtime_error("gone");
                            return Bytes(2 * state);
                          }),
                 std::runtime_error);
    EXPECT_EQ(asked, moment + 1);
  }
  EXPECT_EQ(run_with(10, [] { return Bytes(2 * state); }).adjoint, reference(10));
}

TEST(MemoryLeft, OfOneStepNeedsNoState) {
  EXPECT_EQ(run_with(1, [] { return Bytes(0); }).adjoint, reference(1));
}

TEST(MemoryLeft, IsFollowedByManyRunsAtOnce) {
  std::atomic<std::int64_t> left = 20 * state;
  std::atomic<bool> done = false;
  std::thread squeeze([&] {
    for (std::uint64_t i = 0; !done; ++i) {
      left = (1 + Philox{7}(i)[0] % 20) * state;
      std::this_thread::yield();
    }
  });
  const Ring::Adjoint expected = reference(300);
  std::vector<std::thread> runs;
  std::atomic<int> same = 0;
  for (int t = 0; t < 4; ++t)
    runs.emplace_back([&] {
      for (int i = 0; i < (sanitized ? 1 : 4); ++i)
        same += run_with(300, [&] { return Bytes(left.load()); }).adjoint == expected;
    });
  for (std::thread& thread : runs) thread.join();
  done = true;
  squeeze.join();
  EXPECT_EQ(same, sanitized ? 4 : 16);
}

TEST(MemoryLeft, MayBeARunOfItsOwn) {
  const auto [adjoint, report] = run_with(12, [] {
    const auto inner = run_with(6, [] { return Bytes(2 * state); });
    return Bytes((inner.adjoint == reference(6) ? 3 : 0) * state);
  });
  EXPECT_EQ(adjoint, reference(12));
}

TEST(MemoryLeft, CountsStatesOfTheLargestSize) {
  struct Wandering {  // the size goes up and down
    void advance(std::vector<double>& x, Steps range) {
      for (Step i = range.begin; i < range.end; ++i)
        x.assign(static_cast<std::size_t>(1 + (i + 1) * 7 % 5), x[0] + 1);
    }
    double record(std::vector<double>& x, Step i) {
      const double before = x[0];
      advance(x, {i, i + 1});
      return before;
    }
    void reverse(double x, double& a, Step i) { a = a * 0.5 + x * static_cast<double>(i); }
  } wandering;
  const auto go = [&](const RunOptions& options) {
    std::vector<double> x = {1};
    double adjoint = 1;
    run(wandering, x, adjoint, 40, options);
    return adjoint;
  };
  const double expected = go({});
  int asked = 0;
  const auto left = [&] { return Bytes((asked++ % 50 < 25 ? 6 : 2) * 40); };
  EXPECT_EQ(go({.memory_left = left, .state_bytes = 40}), expected);
  EXPECT_THAT(refusal(ErrorCode::infeasible_budget, [&] { go({.memory_left = left}); }),
              AllOf(HasSubstr("memory_left"), HasSubstr("state_bytes")));
}

TEST(MemoryLeft, ReportsProgressTowardsWhatIsPlannedNow) {
  Progress last;
  int asked = 0;
  const auto [adjoint, report] = run_with(80, [&] { return Bytes((asked++ < 100 ? 9 : 2) * state); },
                                          {.progress = [&](const Progress& progress) { last = progress; }});
  EXPECT_EQ(last.forward, last.predicted_forward);
  EXPECT_EQ(last.reversed, 80);
  EXPECT_EQ(last.held, Bytes(0));
}

TEST(MemoryLeft, IsRefusedByNameWhereItCannotBeFollowed) {
  const Scratch scratch;
  const auto refused = [&](RunOptions options) {
    return refusal(ErrorCode::bad_run_option, [&] {
      run_with(
          20, [] { return Bytes(10 * state); }, std::move(options));
    });
  };
  EXPECT_THAT(refused({.levels = {{.slots = 3, .directory = scratch.path()}}}),
              AllOf(HasSubstr("memory_left"), HasSubstr("directory")));
  EXPECT_THAT(refused({.levels = {{.slots = 3}, {.slots = 4}}}),
              AllOf(HasSubstr("memory_left"), HasSubstr("2 levels")));
  EXPECT_THAT(refused({.levels = {{.slots = 3}}, .resume = true}),
              AllOf(HasSubstr("memory_left"), HasSubstr("resume")));
  for (const Kind kind : {Kind::store_all, Kind::uniform, Kind::bisection, Kind::mixed, Kind::multilevel,
                          Kind::disk, Kind::online, Kind::background})
    EXPECT_THAT(refused({.levels = {{.slots = 3}}, .kind = kind}),
                AllOf(HasSubstr("memory_left"), HasSubstr(std::string(name_of(kind)))));
  EXPECT_TRUE(scratch.empty());

  Ring ring;
  Ring::State start = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  const RunOptions options{.levels = {{.slots = 3}}, .memory_left = [] { return Bytes(400); }};
  EXPECT_THAT(refusal(ErrorCode::bad_run_option,
                      [&] { run(ring, start, adjoint, testing::Halves(20, 2, 2).schedule(), options); }),
              AllOf(HasSubstr("memory_left"), HasSubstr("schedule of one's own")));
  EXPECT_THAT(refusal(ErrorCode::bad_run_option,
                      [&] {
                        run_while(
                            ring, start, [](const Ring::State&) { return Ring::zero(); },
                            [](const Ring::State&, Step i) { return i < 10; }, options);
                      }),
              AllOf(HasSubstr("memory_left"), HasSubstr("unknown length")));
  EXPECT_THAT(refusal(ErrorCode::infeasible_budget,
                      [&] { run_with(20, [] { return Bytes(400); }, {.levels = {{.bytes = Bytes(39)}}}); }),
              HasSubstr("one state"))
      << "the level's own mistake";
}

}  // namespace
}  // namespace tidemark::schedule
