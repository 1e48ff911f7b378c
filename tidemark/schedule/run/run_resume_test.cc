#include "tidemark/schedule/run/run_resume.h"

#include <gmock/gmock.h>

#include "tests/support/killed_runs.h"
#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/base/philox.h"

namespace tidemark::schedule {
namespace {

using testing::calls_of;
using testing::Halves;
using ::testing::HasSubstr;
using testing::MortalRing;
using testing::reference;
using testing::Ring;
using testing::run_and_die;
using testing::Scratch;
using testing::WrittenSchedule;

constexpr Step steps = 120;

RunOptions options_in(const Scratch& scratch) {
  return {.levels = {{.slots = 2}, {.slots = 4, .directory = scratch.path()}},
          .kind = Kind::binomial,
          .verify = Verify::replay,
          .resume = true};
}

struct Outcome {
  Ring::Adjoint adjoint = Ring::zero();
  Report report;
};

Outcome go_on(const WrittenSchedule& schedule, const RunOptions& options) {
  MortalRing ring;
  Ring::State state = Ring::initial();
  Outcome outcome;
  outcome.report = run(ring, state, outcome.adjoint, schedule, options);
  return outcome;
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::run_directory) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Resume, GivesTheSameBitsAfterTenKills) {
  const Scratch scratch;
  const WrittenSchedule schedule = Halves(steps, 2, 4).schedule();
  RunOptions options = options_in(scratch);
  const std::int64_t calls = calls_of(schedule, options);
  const Ring::Adjoint expected = reference(steps);
  bool forward = false, reverse = false;
  for (unsigned seed = 0; seed < seeds(10); ++seed) {
    options.io = seed % 2 ? Io::thread : Io::automatic;
    const auto at = static_cast<std::int64_t>(Philox{7}(seed)[0] % static_cast<std::uint32_t>(calls));
    ASSERT_TRUE(run_and_die(schedule, options, at)) << at;
    const auto [adjoint, report] = go_on(schedule, options);
    EXPECT_EQ(adjoint, expected) << "killed after " << at << " calls";
    EXPECT_TRUE(scratch.empty());
    if (report.resumed) (report.resumed->in_reverse ? reverse : forward) = true;
  }
  EXPECT_TRUE(few || reverse);
}

TEST(Resume, SurvivesKillAfterKill) {
  const Scratch scratch;
  const WrittenSchedule schedule = Halves(steps, 2, 4).schedule();
  RunOptions options = options_in(scratch);
  options.io = Io::blocking;
  int deaths = 0;
  while (deaths < 100 && run_and_die(schedule, options, 150)) ++deaths;
  EXPECT_GT(deaths, 2);
  EXPECT_LT(deaths, 100) << "so many calls at a time must be enough to come to an end";
  const auto [adjoint, report] = go_on(schedule, options);
  EXPECT_EQ(adjoint, reference(steps));
}

TEST(Resume, LosesAtMostOneOuterInterval) {
  const Scratch scratch;
  // States 0, 20, 40, … in files; within an interval everything from one slot in memory.
  using enum ActionKind;
  std::vector<Action> actions;
  const Step interval = 20, outer = steps / interval;
  for (Step k = 0; k < outer; ++k) {
    actions.push_back({store, 1, static_cast<std::int32_t>(k), k * interval, k * interval});
    if (k + 1 < outer) actions.push_back({advance, working, 0, k * interval, (k + 1) * interval});
  }
  for (Step k = outer; k-- > 0;) {
    const Step first = k * interval;
    actions.push_back({load, 1, static_cast<std::int32_t>(k), first, first});
    actions.push_back({store, 0, 0, first, first});
    for (Step i = first + interval; i-- > first;) {
      actions.push_back({load, 0, 0, first, first});
      if (i > first) actions.push_back({advance, working, 0, first, i});
      actions.push_back({record, working, 0, i, i});
      actions.push_back({reverse, working, 0, i, i});
    }
    actions.push_back({drop, 0, 0, first, first});
    actions.push_back({drop, 1, static_cast<std::int32_t>(k), first, first});
  }
  const WrittenSchedule schedule(steps, {1, outer}, actions);
  RunOptions options = options_in(scratch);
  options.levels = {{.slots = 1}, {.slots = outer, .directory = scratch.path()}};
  options.io = Io::blocking;  // these steps are too short for a write to end in between
  const std::int64_t calls = calls_of(schedule, options);
  const Step inner = interval * (interval + 1) / 2;  // forward steps to reverse one interval
  for (const std::int64_t at : {calls / 4, calls / 2, calls - 30}) {
    ASSERT_TRUE(run_and_die(schedule, options, at));
    const auto [adjoint, report] = go_on(schedule, options);
    EXPECT_EQ(adjoint, reference(steps));
    ASSERT_TRUE(report.resumed);
    EXPECT_TRUE(report.resumed->in_reverse);
    const Step done_before = steps - report.resumed->step;
    EXPECT_EQ(done_before % interval, 0);
    EXPECT_EQ(report.reversed, steps - done_before);
    EXPECT_LE(report.actual_forward() + report.repeated, (steps - done_before) / interval * inner + interval);
  }
}

TEST(Resume, DoesNotDecideStepsAgain) {
  struct Adaptive {
    double step_size = 0.01;  // of this process: a resumed one begins at another
    std::int64_t calls_left = -1;
    std::vector<Step> decided = {};
    void live() {
      if (calls_left >= 0 && calls_left-- == 0) ::kill(::getpid(), SIGKILL);
    }
    void advance(double& x, Steps range, StepLog& log) {
      for (Step i = range.begin; i < range.end; ++i) {
        live();
        x += std::sin(x) * log.once(i, [&] { return decided.push_back(i), step_size; });
      }
    }
    std::pair<double, double> record(double& x, Step i, StepLog& log) {
      const double before = x;
      advance(x, {i, i + 1}, log);
      return {before, log.at<double>(i)};
    }
    void reverse(const std::pair<double, double>& r, double& a, Step) {
      live();
      a *= 1 + r.second * std::cos(r.first);
    }
  };
  const Scratch scratch;
  const WrittenSchedule schedule = Halves(steps, 2, 4).schedule();
  const RunOptions options = options_in(scratch);
  const auto go = [&](double step_size, std::int64_t calls, std::vector<Step>* decided) {
    Adaptive stepper{.step_size = step_size, .calls_left = calls};
    double x = 0.4, adjoint = 1;
    run(stepper, x, adjoint, schedule, options);
    if (decided) *decided = stepper.decided;
    return adjoint;
  };
  const double expected = go(0.01, -1, nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    go(0.01, 2 * steps + 50, nullptr);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::vector<Step> decided;
  EXPECT_EQ(go(0.77, -1, &decided), expected);
  EXPECT_TRUE(decided.empty());
}

TEST(Resume, RefusesADirectoryOfAnotherRun) {
  const Scratch scratch;
  const RunOptions options = options_in(scratch);
  ASSERT_TRUE(run_and_die(Halves(steps, 2, 4).schedule(), options, 300));
  Ring ring;
  Ring::Adjoint adjoint = Ring::zero();
  Ring::State state = Ring::initial();
  EXPECT_THAT(refusal([&] { run(ring, state, adjoint, Halves(steps + 1, 2, 4).schedule(), options); }),
              HasSubstr("its number of steps is 120, here it is 121"));
  state.push_back(0.5);
  EXPECT_THAT(refusal([&] { run(ring, state, adjoint, Halves(steps, 2, 4).schedule(), options); }),
              HasSubstr("its bytes of a state is 40, here it is 48"));
  state = Ring::initial();
  state[3] += 0.25;
  EXPECT_THAT(refusal([&] { run(ring, state, adjoint, Halves(steps, 2, 4).schedule(), options); }),
              HasSubstr("initial state"));
  state = Ring::initial();
  EXPECT_THAT(refusal([&] { run(ring, state, adjoint, Halves(steps, 1, 3).schedule(), options); }),
              HasSubstr("another schedule"));

  // Under another name, or without resuming, it goes its own way; the first can still go on afterwards.
  RunOptions other = options;
  other.name = "other";
  run(ring, state, adjoint, Halves(steps, 2, 4).schedule(), other);
  EXPECT_EQ(adjoint, reference(steps));
  const auto [resumed, report] = go_on(Halves(steps, 2, 4).schedule(), options);
  EXPECT_EQ(resumed, reference(steps));
  EXPECT_TRUE(report.resumed);
  EXPECT_TRUE(scratch.empty());
}

TEST(Resume, BeginsAnewOverLeftoversWhenNotAskedToResume) {
  const Scratch scratch;
  RunOptions options = options_in(scratch);
  const WrittenSchedule schedule = Halves(steps, 2, 4).schedule();
  ASSERT_TRUE(run_and_die(schedule, options, 300));
  EXPECT_FALSE(scratch.empty());
  options.resume = false;
  const auto [adjoint, report] = go_on(schedule, options);
  EXPECT_EQ(adjoint, reference(steps));
  EXPECT_FALSE(report.resumed);
  EXPECT_TRUE(scratch.empty());
}

TEST(Resume, NeedsADirectoryAndAnAdjointWithBytes) {
  const Scratch scratch;
  Ring ring;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  try {
    run(ring, state, adjoint, 10, {.levels = {{.slots = 3}}, .resume = true});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_run_option);
    EXPECT_THAT(error.what(), HasSubstr("without a directory"));
  }
}

}  // namespace
}  // namespace tidemark::schedule
