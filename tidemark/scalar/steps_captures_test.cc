// Steps that do not keep to themselves: what they read elsewhere may have changed when they run again, and
// what they write elsewhere has no statement.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tidemark/scalar/external.h"
#include "tidemark/scalar/functions.h"
#include "tidemark/scalar/solve.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

using State = std::span<Real>;
constexpr TapeOptions limited = {.memory = Bytes(128 << 10)};

// The message of what `body` throws, which names a line of this file; "" where it throws nothing.
std::string refusal(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find("steps_captures_test.cc"), std::string::npos) << error.what();
    return error.what();
  }
}
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
constexpr const char* not_the_same = "a step did not do the same when it ran again";
constexpr const char* not_in_its_state = "not in the step's state";

TEST(StepsCaptures, AVariableReadByReferenceThatChangedIsNoticed) {
  Tape tape(limited);
  Real k = tape.input(0.9);
  std::vector<Real> u = {tape.input(1)};
  tape.steps(100, u, [&k](State v, std::int64_t) { v[0] = v[0] * k; });
  k = k * 0.5;
  EXPECT_TRUE(says(refusal(ErrorCode::bad_tape_use, [&] { tape.reverse(u[0]); }), not_the_same));
}

TEST(StepsCaptures, AVariableReadByReferenceThatDidNotChangeIsRight) {
  Tape tape(limited);
  const Real k = tape.input(0.9);
  std::vector<Real> u = {tape.input(1)};
  tape.steps(100, u, [&k](State v, std::int64_t) { v[0] = v[0] * k; });
  tape.reverse(u[0]);
  EXPECT_NEAR(tape.gradient(k), 100 * std::pow(0.9, 99), 1e-12);
}

TEST(StepsCaptures, NumbersThatAStepChangesOutsideAreNoticed) {
  for (const std::int64_t count : {2, 3, 500}) {
    Tape tape(limited);
    std::vector<Real> u = {tape.input(1), tape.input(2)};
    double time = 0;
    tape.steps(count, u, [&time](State v, std::int64_t) {
      v[0] = v[0] + 0.01 * cos(v[1] * time);
      time += 0.1;
    });
    EXPECT_TRUE(says(refusal(ErrorCode::bad_tape_use, [&] { tape.reverse(u[0]); }), not_the_same)) << count;
  }
}

TEST(StepsCaptures, ARandomGeneratorOutsideIsNoticedInStepsOneByOneToo) {
  Tape tape(limited);
  std::vector<Real> u = {tape.input(1)};
  std::minstd_rand random(3);
  for (int i = 0; i < 50; ++i)
    tape.step(u, [&random](State v) { v[0] = v[0] * (0.5 + static_cast<double>(random() % 100) / 100); });
  EXPECT_TRUE(says(refusal(ErrorCode::bad_tape_use, [&] { tape.reverse(u[0]); }), not_the_same));
}

TEST(StepsCaptures, ASumOutsideIsRefusedWhereItIsUsed) {
  Tape tape(limited);
  std::vector<Real> u = {tape.input(1)};
  Real loss = 0;
  tape.steps(100, u, [&loss](State v, std::int64_t) {
    v[0] = v[0] * 0.9;
    loss += v[0] * v[0];
  });
  EXPECT_TRUE(says(refusal(ErrorCode::foreign_real, [&] { tape.reverse(loss); }), not_in_its_state));
  EXPECT_TRUE(says(refusal(ErrorCode::foreign_real, [&] { u[0] = 2 * loss; }), not_in_its_state));
  EXPECT_TRUE(says(refusal(ErrorCode::foreign_real, [&] { tape.reverse(u[0]); }), not_in_its_state));
}

// A copy of an entry, and one of a single step.
TEST(StepsCaptures, AnEntryPutAsideIsRefusedWhereItIsUsed) {
  for (const bool early : {false, true}) {
    Tape tape(limited);
    const Real x = tape.input(1);
    std::vector<Real> u = {x};
    Real probe = 0;
    tape.steps(100, u, [&probe, early](State v, std::int64_t i) {
      if (early && i == 30) probe = v[0];
      v[0] = v[0] * 0.9;
      if (!early) probe = v[0];
    });
    EXPECT_TRUE(says(refusal(ErrorCode::foreign_real, [&] { u[0] = probe + u[0]; }), not_in_its_state));
    EXPECT_DOUBLE_EQ(probe.value(), std::pow(0.9, early ? 30 : 100));  // as a number it serves
    const Real y = value(probe) + u[0] * 2;
    tape.reverse(y);
    EXPECT_NEAR(tape.gradient(x), 2 * std::pow(0.9, 100), 1e-12);
  }
}

// With all memory, steps are statements like others, and what they do outside is recorded.
TEST(StepsCaptures, WithoutAMemoryASumOutsideIsRight) {
  Tape tape;
  const Real x = tape.input(1.5);
  std::vector<Real> u = {x};
  Real loss = 0;
  tape.steps(3, u, [&loss](State v, std::int64_t) {
    v[0] = v[0] * 0.5;
    loss += v[0];
  });
  tape.reverse(loss);
  EXPECT_DOUBLE_EQ(tape.gradient(x), 0.5 + 0.25 + 0.125);
}

// What steps may do: functions from elsewhere, statements of one's own, NaN, tapes of their own.
TEST(StepsCaptures, WhatIsAllowedIsNotRefused) {
  Tape tape(limited);
  const Real x = tape.input(1.5), k = tape.input(0.3);
  const std::vector<double> table = {1, 2, 3};
  std::vector<Real> u = {x, x * 2, 0.0};
  tape.steps(200, u, [k, &table, &tape](State v, std::int64_t i) {
    const std::vector<Real> operand = {v[0]};
    const Real outside = external(
        operand, [](std::span<const double> a) { return std::vector<double>{std::sin(a[0])}; },
        [](std::span<const double> a, std::span<const double>, std::span<const double> y,
           std::span<double> g) { g[0] = std::cos(a[0]) * y[0]; })[0];
    const std::vector<double> slopes = {0.1};
    const Real own = tape.statement(0.1 * v[1].value(), std::vector<Real>{v[1]}, slopes);
    v[0] = outside * k + table[static_cast<std::size_t>(i) % 3];
    v[1] = own + v[0];
    v[2] = i == 7 ? Real(std::nan("")) : Real(v[2] + 1);
  });
  tape.reverse(u[1]);
  EXPECT_TRUE(std::isfinite(tape.gradient(x)));
  EXPECT_NE(tape.gradient(k), 0);
}

// Values of events have no statements while a step is not recorded, and are known as the step's.
TEST(StepsCaptures, AResultOfAnEventPutAsideIsRefusedWhereItIsUsed) {
  const auto squared = [](const Real& x) {
    return external(
        std::vector<Real>{x}, [](std::span<const double> a) { return std::vector<double>{a[0] * a[0]}; },
        [](std::span<const double> a, std::span<const double>, std::span<const double> y,
           std::span<double> g) { g[0] = 2 * a[0] * y[0]; })[0];
  };
  const auto halved = [](const Real& x) { return solve(std::vector<double>{2}, std::vector<Real>{x})[0]; };
  for (const bool by_solve : {false, true}) {
    Tape tape(limited);
    const Real x = tape.input(1);
    std::vector<Real> u = {x};
    Real probe = 0;
    tape.steps(100, u, [&, by_solve](State v, std::int64_t) {
      v[0] = v[0] * 0.9;
      probe = by_solve ? halved(v[0]) : squared(v[0]);
    });
    EXPECT_TRUE(says(refusal(ErrorCode::foreign_real, [&] { u[0] = probe * x; }), not_in_its_state));
  }
}

TEST(StepsCaptures, AStepRewindsToNothingButMarksOfItsOwn) {
  for (const TapeOptions options : {TapeOptions(), limited}) {
    Tape tape(options);
    const Real x = tape.input(2);
    const auto before = tape.mark();
    std::vector<Real> u = {x * x};
    EXPECT_TRUE(says(refusal(ErrorCode::bad_tape_use,
                             [&] {
                               tape.steps(10, u, [&tape, before](State v, std::int64_t) {
                                 v[0] = v[0] * 0.5;
                                 tape.rewind(before);
                               });
                             }),
                     "to a mark that was not made in it"));
    EXPECT_TRUE(says(refusal(ErrorCode::bad_tape_use,
                             [&] { tape.steps(1, u, [&tape](State, std::int64_t) { tape.clear(); }); }),
                     "within a step"));
    tape.steps(10, u, [&tape](State v, std::int64_t) {
      const auto mark = tape.mark();
      const double trial = Real(v[0] * v[0]).value();
      tape.rewind(mark);
      v[0] = trial > 1 ? v[0] * 0.5 : v[0] * 0.75;
    });
    tape.reverse(u[0]);
    EXPECT_DOUBLE_EQ(tape.gradient(x), 4 * 0.5 * 0.5 * std::pow(0.75, 8));
  }
}

// A statement of one's own that is not recorded, as the tape is paused, in runs that are not recorded either.
TEST(StepsCaptures, AStatementOfAPausedTapeIsPassive) {
  Tape tape(limited);
  const Real x = tape.input(2);
  std::vector<Real> u = {x, x};
  tape.steps(50, u, [&tape](State v, std::int64_t) {
    {
      const auto paused = Tape::pause();
      v[0] = tape.statement(v[0].value() * 0.5, std::vector<Real>{v[0]}, std::vector<double>{0.5});
    }
    v[1] = v[1] * 0.99 + v[0];
  });
  EXPECT_EQ(tape.statements(), 1 + 1 + 2u);
  tape.reverse(u[1]);
  EXPECT_NEAR(tape.gradient(x), std::pow(0.99, 50), 1e-12);
}

}  // namespace
}  // namespace tidemark::scalars
