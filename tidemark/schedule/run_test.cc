#include "tidemark/schedule/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>

#include "tests/support/reversals.h"
#include "tidemark/base/error.h"

namespace tidemark::schedule {
namespace {

using ::testing::AllOf;
using testing::Halves;
using ::testing::HasSubstr;
using testing::reference;
using testing::Ring;
using testing::Scratch;
using testing::WrittenSchedule;

struct Outcome {
  Ring::Adjoint adjoint = Ring::zero();
  Report report;
};

template <class Plan>
Outcome run_ring(const Plan& plan, const RunOptions& options) {
  Ring ring;
  Ring::State state = Ring::initial();
  Outcome outcome;
  outcome.report = run(ring, state, outcome.adjoint, plan, options);
  return outcome;
}

std::string error_of(ErrorCode code, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Run, GivesTheBitsOfStoreAllForEveryKindAndStore) {
  const Scratch scratch;
  const Step steps = 60;
  const Ring::Adjoint expected = reference(steps);
  for (const Kind kind : {Kind::store_all, Kind::uniform, Kind::bisection, Kind::binomial, Kind::mixed,
                          Kind::multilevel, Kind::disk, Kind::online, Kind::automatic})
    for (const bool in_files : {false, true})
      for (const Verify verify : {Verify::none, Verify::replay}) {
        const std::string directory = in_files ? scratch.path() : "";
        // A state and a record have 40 bytes each.
        std::vector<RunLevel> levels = {
            {.bytes = Bytes(40 * (kind == Kind::store_all ? steps : 16)), .directory = directory}};
        if (kind == Kind::multilevel || kind == Kind::disk)
          levels = {{.bytes = Bytes(100)}, {.directory = directory, .write_cost = 2, .read_cost = 2}};
        if (kind == Kind::multilevel) levels[1].slots = 4;
        const auto [adjoint, report] = run_ring(steps, {.levels = levels, .kind = kind, .verify = verify});
        EXPECT_EQ(adjoint, expected) << name_of(kind);
        EXPECT_EQ(report.actual_forward(), report.predicted_forward()) << name_of(kind);
        for (std::size_t l = 0; l < levels.size(); ++l) {
          EXPECT_EQ(report.levels[l].peak_slots, report.promise.peak_slots[l]) << name_of(kind);
          if (levels[l].bytes.count >= 0) {
            EXPECT_LE(report.levels[l].peak_bytes, levels[l].bytes) << name_of(kind);
          }
        }
        EXPECT_TRUE(scratch.empty());
      }
}

TEST(Run, MeasuresWhatFilesCost) {
  const Scratch scratch;
  const auto [adjoint, report] = run_ring(
      Step{60},
      {.levels = {{.slots = 2}, {.slots = 5, .directory = scratch.path()}}, .kind = Kind::multilevel});
  EXPECT_EQ(adjoint, reference(60));
  EXPECT_EQ(report.actual_forward(), report.predicted_forward());
  EXPECT_EQ(report.repeated, 2) << "two steps were timed";
}

TEST(Run, GivesTheSameBitsThroughFilesHoweverTheyAreWritten) {
  const Scratch scratch;
  const Step steps = 90;
  const Ring::Adjoint expected = reference(steps);
  const WrittenSchedule schedule = Halves(steps, 2, 3).schedule();
  for (const Io io : {Io::automatic, Io::thread, Io::blocking})
    for (const Verify verify : {Verify::none, Verify::replay})
      for (const bool resume : {false, true})
        for (const bool direct : {false, true}) {
          if (direct && (verify == Verify::replay || !resume))
            continue;  // a write past the cache takes its time
          const auto [adjoint, report] =
              run_ring(schedule, {.levels = {{.slots = 2}, {.slots = 3, .directory = scratch.path()}},
                                  .verify = verify,
                                  .resume = resume,
                                  .io = io,
                                  .direct = direct,
                                  .buffers = 2});
          EXPECT_EQ(adjoint, expected);
          EXPECT_EQ(report.actual_forward(), schedule.promise().total_forward());
          EXPECT_LE(report.levels[1].peak_slots, 3);
          EXPECT_EQ(report.levels[1].peak_bytes, Bytes(report.levels[1].peak_slots * 40));
          EXPECT_GT(report.levels[1].reads, 0);
          EXPECT_EQ(report.checkpoints > 0, resume);
          EXPECT_TRUE(scratch.empty()) << "a run that succeeds leaves nothing behind";
        }
}

TEST(Run, WaitsForTheDiskWhenAskedTo) {
  const Scratch scratch;
  const WrittenSchedule schedule = Halves(20, 2, 2).schedule();
  for (const Io io : {Io::automatic, Io::thread}) {
    const auto [adjoint, report] =
        run_ring(schedule, {.levels = {{.slots = 2}, {.slots = 2, .directory = scratch.path()}},
                            .resume = true,
                            .io = io,
                            .durable = true});
    EXPECT_EQ(adjoint, reference(20));
  }
}

TEST(Run, TakesNoMoreBytesThanTheBudget) {
  std::int64_t most = 0;
  const auto [adjoint, report] =
      run_ring(Step{200}, {.levels = {{.bytes = Bytes(250)}},  // six states of 40 bytes
                           .kind = Kind::binomial,
                           .progress = [&](const Progress& p) { most = std::max(most, p.held.count); }});
  EXPECT_EQ(adjoint, reference(200));
  EXPECT_LE(report.levels[0].peak_bytes, Bytes(250));
  EXPECT_EQ(report.levels[0].peak_slots, 6);
  EXPECT_LE(most, 250);
}

TEST(Run, RefusesStatesThatGrowOutOfTheBudget) {
  struct Growing {
    void advance(std::vector<double>& x, Steps range) {
      x.resize(x.size() + static_cast<std::size_t>(range.end - range.begin));
    }
    int record(std::vector<double>& x, Step i) { return advance(x, {i, i + 1}), 0; }
    void reverse(int, double&, Step) {}
  } growing;
  std::vector<double> x(4);
  double adjoint = 0;
  EXPECT_THAT(
      error_of(
          ErrorCode::infeasible_budget,
          [&] { run(growing, x, adjoint, 20, {.levels = {{.bytes = Bytes(100)}}, .kind = Kind::binomial}); }),
      HasSubstr("state_bytes"));
}

TEST(Run, ReportsProgressUntilTheEnd) {
  std::vector<Progress> seen;
  run_ring(Step{50}, {.levels = {{.slots = 4}}, .kind = Kind::binomial, .progress = [&](const Progress& p) {
                        seen.push_back(p);
                      }});
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().reversed, 50);
  EXPECT_EQ(seen.back().forward, seen.back().predicted_forward);
  EXPECT_EQ(seen.back().held, Bytes(0));
}

// A step that is not the same when it is done again, from step `bad` on.
struct Forgetful : Ring {
  Step bad = 0;
  int visits = 0;
  void advance(State& x, Steps range) {
    for (Step i = range.begin; i < range.end; ++i) {
      Ring::advance(x, {i, i + 1});
      if (i == bad && ++visits > 1) x[2] += 1e-15;
    }
  }
  State record(State& x, Step i) {
    State before = x;
    advance(x, {i, i + 1});
    return before;
  }
};

TEST(Run, NamesTheFirstStepWhoseReplayDiverges) {
  for (const Step bad : {0, 7, 30}) {
    Forgetful stepper;
    stepper.bad = bad;
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    EXPECT_THAT(error_of(ErrorCode::replay_diverged,
                         [&] {
                           run(stepper, state, adjoint, 40,
                               {.levels = {{.slots = 3}}, .kind = Kind::binomial, .verify = Verify::replay});
                         }),
                HasSubstr(fmt::format("step {} gave another state", bad)));
  }
}

// Takes steps whose size it decides as it goes, from a source that never says the same twice.
struct Adaptive {
  double next = 0.01;
  int decided = 0;
  double decide() { return ++decided, next *= 1.01; }
  void advance(double& x, Steps range, StepLog& log) {
    for (Step i = range.begin; i < range.end; ++i) x += log.once(i, [&] { return decide(); }) * std::sin(x);
  }
  std::array<double, 2> record(double& x, Step i, StepLog& log) {
    const double before = x;
    advance(x, {i, i + 1}, log);
    return {before, log.at<double>(i)};
  }
  void reverse(const std::array<double, 2>& r, double& adjoint, Step) {
    adjoint *= 1 + r[1] * std::cos(r[0]);
  }
};

TEST(Run, DecidesEveryStepOnceAndReplaysIt) {
  double expected = 1;
  {
    Adaptive stepper;
    double x = 0.5;
    run(stepper, x, expected, 80, {.kind = Kind::store_all});
  }
  Adaptive stepper;
  double x = 0.5, adjoint = 1;
  const Report report = run(stepper, x, adjoint, 80,
                            {.levels = {{.slots = 2}}, .kind = Kind::binomial, .verify = Verify::replay});
  EXPECT_EQ(adjoint, expected);
  EXPECT_EQ(stepper.decided, 80);
  EXPECT_GT(report.advances, 80);
}

TEST(Run, KeepsRecordsInFilesWhenTheyHaveBytes) {
  const Scratch scratch;
  using enum ActionKind;
  std::vector<Action> actions;
  for (Step i = 0; i < 10; ++i) actions.push_back({record, 0, static_cast<std::int32_t>(i), i, i});
  for (Step i = 10; i-- > 0;) {
    actions.push_back({reverse, 0, static_cast<std::int32_t>(i), i, i});
    actions.push_back({drop, 0, static_cast<std::int32_t>(i), i, i});
  }
  const auto [adjoint, report] =
      run_ring(WrittenSchedule(10, {10}, actions), {.levels = {{.slots = 10, .directory = scratch.path()}}});
  EXPECT_EQ(adjoint, reference(10));
  EXPECT_EQ(report.levels[0].peak_slots, 10);
  EXPECT_TRUE(scratch.empty());
}

TEST(Run, RefusesAScheduleThatMakesNoSense) {
  using enum ActionKind;
  const auto refused = [](std::vector<Action> actions) {
    return error_of(ErrorCode::bad_schedule,
                    [&] { run_ring(WrittenSchedule(3, {2}, std::move(actions)), RunOptions{}); });
  };
  EXPECT_THAT(refused({{load, 0, 0, 0, 0}}), HasSubstr("the slot is empty"));
  EXPECT_THAT(refused({{store, 0, 0, 0, 0}, {store, 0, 0, 0, 0}}), HasSubstr("the slot holds step 0"));
  EXPECT_THAT(refused({{advance, working, 0, 1, 2}}), HasSubstr("the working state is state 0"));
  EXPECT_THAT(refused({{record, working, 0, 0, 0}, {reverse, working, 0, 1, 1}}), HasSubstr("first reverse"));
  EXPECT_THAT(refused({{store, 4, 0, 0, 0}}), HasSubstr("levels"));
}

TEST(Run, RefusesARunOfNoSteps) {
  EXPECT_THAT(error_of(ErrorCode::bad_run_option, [] { run_ring(Step{0}, {}); }),
              HasSubstr("at least one step"));
}

// A step that is the same to a tolerance only, as with a solver that has threads of its own.
struct Unsteady : testing::Ring {
  double noise = 0;
  int calls = 0;
  double wobble() { return noise * (calls++ % 7); }
  void advance(State& x, Steps range) {
    for (Step i = range.begin; i < range.end; ++i) {
      Ring::advance(x, {i, i + 1});
      x[0] += wobble();
    }
  }
  State record(State& x, Step i) {
    State before = Ring::record(x, i);
    x[0] += wobble();
    return before;
  }
  std::array<double, 2> summary(const State& x) const { return {x[0], x[1]}; }
  double deviation(const std::array<double, 2>& first, const std::array<double, 2>& again) const {
    return std::max(std::abs(first[0] - again[0]), std::abs(first[1] - again[1]));
  }
};

TEST(Run, ComparesReplaysAsTheStepperSaysAndReportsTheLargestDeviation) {
  const auto go = [](double noise, double tolerance, Io io = Io::automatic,
                     const std::string& directory = "") {
    Unsteady stepper;
    stepper.noise = noise;
    Unsteady::State state = Unsteady::initial();
    Unsteady::Adjoint adjoint = Unsteady::zero();
    return run(stepper, state, adjoint, 40,
               {.levels = {{.slots = 3, .directory = directory, .write_cost = 1, .read_cost = 1}},
                .kind = Kind::binomial,
                .verify = Verify::replay,
                .tolerance = tolerance,
                .io = io});
  };
  const Report report = go(1e-9, 1e-5);
  EXPECT_GT(report.compared, 40);
  EXPECT_GT(report.largest_deviation, 1e-9);
  EXPECT_LT(report.largest_deviation, 1e-5);
  EXPECT_GT(report.deviating_step, 0);
  EXPECT_THAT(report.summary(), HasSubstr("largest deviation of a replay"));
  EXPECT_EQ(go(0, 0).largest_deviation, 0);

  const testing::Scratch scratch;
  EXPECT_GT(go(1e-9, 1e-5, Io::blocking, scratch.path()).largest_deviation, 0);

  for (const double noise : {1e-9, std::numeric_limits<double>::quiet_NaN()}) try {
      go(noise, 1e-12);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::replay_diverged);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("deviates by"), HasSubstr("at most 1e-12")));
    }
}

TEST(Run, KeepsSummariesInTheJournal) {
  const testing::Scratch scratch;
  struct Stopping : Unsteady {
    int stop_at = -1;
    void reverse(const State& x, Adjoint& a, Step i) {
      if (i == stop_at) throw std::runtime_error("stopped");
      Unsteady::reverse(x, a, i);
    }
  };
  const auto go = [&](int stop_at) {
    Stopping stepper;
    stepper.stop_at = stop_at;
    Stopping::State state = Stopping::initial();
    Stopping::Adjoint adjoint = Stopping::zero();
    const Report report =
        run(stepper, state, adjoint, 60,
            {.levels = {{.slots = 4, .directory = scratch.path(), .write_cost = 1, .read_cost = 1}},
             .kind = Kind::binomial,
             .verify = Verify::replay,
             .resume = true});
    EXPECT_EQ(adjoint, testing::reference(60));
    return report;
  };
  EXPECT_THROW(go(20), std::runtime_error);
  const Report report = go(-1);
  EXPECT_TRUE(report.resumed);
  EXPECT_EQ(report.hashed, 0) << "all were known";
  EXPECT_GT(report.compared, 0);
}

}  // namespace
}  // namespace tidemark::schedule
