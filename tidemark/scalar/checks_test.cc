#include "tidemark/scalar/checks.h"

#include <gtest/gtest.h>

#include <optional>

#include "tidemark/scalar/functions.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

using Kind = Finding::Kind;

std::optional<Finding> find(const Tape& tape, Kind kind) {
  for (const Finding& finding : tape.findings())
    if (finding.kind == kind) return finding;
  return std::nullopt;
}

TEST(Checks, AProgramWithoutMistakesHasNoFindingsAndTheSameGradients) {
  const auto run = [](Tape& tape) {
    const Real x = tape.input(0.5), a = tape.input(0.25);
    Real u = x;
    for (int i = 0; i < 30000; ++i) u += a * sin(u) * 0.01;
    tape.reverse(u);
    EXPECT_TRUE(tape.findings().empty()) << tape.findings()[0].text;
    return std::vector<double>{u.value(), tape.gradient(x), tape.gradient(a)};
  };
  Tape plain, checked({.check = true});
  EXPECT_EQ(run(checked), [&] {
    const auto active = plain.activate();
    return run(plain);
  }());
  EXPECT_EQ(plain.statements(), checked.statements());
  EXPECT_GT(checked.bytes().count, plain.bytes().count);
}

TEST(Checks, PartialDerivativesThatAreNoNumbers) {
  Tape tape({.check = true});
  const Real x = tape.input(0), y = tape.input(2);
  const unsigned line = __LINE__ + 1;
  const Real root = sqrt(x) + y;
  const Real z = root * y;
  tape.reverse(z);
  const auto found = find(tape, Kind::infinite_slope);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->where.line, line);
  EXPECT_NE(found->text.find("checks_test.cc"), std::string::npos) << found->text;
  EXPECT_TRUE(find(tape, Kind::nan_adjoint));
  tape.clear();
  EXPECT_TRUE(tape.findings().empty());
  const Real u = tape.input(0);
  const Real v = u * std::numeric_limits<double>::quiet_NaN();
  tape.reverse(v);
  EXPECT_TRUE(find(tape, Kind::nan_slope));
}

TEST(Checks, TheLineOfACompoundAssignmentIsThatOfOneBefore) {
  Tape tape({.check = true});
  Real x = tape.input(3);
  const Real zero = tape.input(0);
  const Real y = x * zero;
  x /= zero;
  const Real z = x + y;
  tape.reverse(z);
  const auto found = find(tape, Kind::infinite_slope);
  ASSERT_TRUE(found);
  EXPECT_NE(found->text.find("at or after checks_test.cc"), std::string::npos) << found->text;
}

TEST(Checks, InputsThatAreNotUsedAndResultsThatArePassive) {
  Tape tape({.check = true});
  const Real x = tape.input(3), used = tape.input(1);
  const unsigned line = __LINE__ + 1;
  const Real lost = tape.input(2);
  const Real y = used * x;
  const Real z = y.value() * used + value(lost);
  tape.reverse(z);
  std::vector<unsigned> lines;
  for (const Finding& finding : tape.findings())
    if (finding.kind == Kind::unused_input) lines.push_back(finding.where.line);
  EXPECT_EQ(lines, (std::vector<unsigned>{line - 2, line}));
  EXPECT_FALSE(find(tape, Kind::passive_result));
  const Real passive = z.value() * 2;
  tape.reverse(passive);
  ASSERT_TRUE(find(tape, Kind::passive_result));
  EXPECT_EQ(find(tape, Kind::passive_result)->where.line, __LINE__ - 2u);
}

// The statement is known to be wrong when the next one comes.
TEST(Checks, RealsThatWereForgottenAreRefusedAfterTheirPlacesWereTaken) {
  Tape tape({.check = true});
  const Real x = tape.input(3);
  const auto mark = tape.mark();
  const unsigned line = __LINE__ + 1;
  const Real old = x * x;
  const Real older = old * old;
  tape.rewind(mark);
  const Real y = x * 2, z = x * y;
  tape.reverse(z);
  EXPECT_EQ(tape.gradient(x), 12);
  EXPECT_THROW(tape.reverse(older), Error);
  const Real wrong = old * x;
  try {
    tape.reverse(wrong);
    FAIL() << "not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::foreign_real);
    EXPECT_EQ(error.where().line, __LINE__ - 6u) << error.what();
    EXPECT_NE(std::string(error.what()).find(":" + std::to_string(line)), std::string::npos) << error.what();
  }
  tape.rewind(mark);
  tape.rewind(mark);
  const Real again = x * 5;
  tape.reverse(again);
  EXPECT_EQ(tape.gradient(x), 5);
}

TEST(Checks, RealsThatEscapeFromAPreaccumulatedScope) {
  Tape tape({.check = true});
  const Real x = tape.input(0.5);
  Real escaped;
  Real y = tape.preaccumulate([&] {
    Real u = x;
    for (int i = 0; i < 50; ++i) u = sin(u) * x;
    escaped = u;
    return u * x;
  });
  tape.reverse(y);
  EXPECT_NE(tape.gradient(x), 0);
  y = y * escaped;
  EXPECT_THROW(tape.reverse(y), Error);
}

TEST(Checks, AForeignRealIsNamedWithItsLine) {
  Tape tape({.check = true});
  const Real old = tape.input(2);
  tape.clear();
  const Real x = tape.input(1);
  try {
    [[maybe_unused]] const Real y = x * old;
    FAIL() << "not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, __LINE__ - 3u) << error.what();
  }
}

TEST(Checks, StepsInAMemoryAreLookedAtToo) {
  Tape tape({.memory = Bytes(512 << 10), .check = true});
  const Real x = tape.input(0.5), zero = tape.input(0.0);
  std::vector<Real> state = {x};
  tape.steps(2000, state, [zero](std::span<Real> u, std::int64_t i) {
    for (int k = 0; k < 100; ++k) u[0] = u[0] * 0.999 + 0.001 * sin(u[0]);
    if (i == 1500) u[0] = u[0] + sqrt(zero);
  });
  const Real y = state[0] * 1.5;
  tape.reverse(y);
  EXPECT_TRUE(find(tape, Kind::infinite_slope));
  EXPECT_LE(tape.peak_bytes().count, 512 << 10);
}

// Each time that steps run again is a recording of its own, of which nothing was looked at before.
TEST(Checks, StepsThatRunAgainBehindOthersAreLookedAtFromTheirBeginning) {
  Tape tape({.memory = Bytes(256 << 10), .check = true});
  const Real x = tape.input(0.5);
  std::vector<Real> u(3, x);
  for (int loop = 0; loop < 4; ++loop)
    tape.steps(300, u, [](std::span<Real> v, std::int64_t) {
      for (Real& each : v) each = each * 0.99 + 0.01 * sin(each) * v[0];
    });
  for (int i = 0; i < 3; ++i) tape.reverse(u[1]);
  const double slope = tape.gradient(x);
  EXPECT_EQ(tape.jacobian(u, std::vector<Real>{x})(1, 0), slope);
  EXPECT_TRUE(tape.findings().empty());
}

// Variables that nobody made inputs.
TEST(Checks, ForgottenInputsAreFound) {
  Tape tape({.check = true});
  const Real x = 2;
  tape.reverse(x * x);
  ASSERT_TRUE(find(tape, Kind::passive_result));
  try {
    tape.gradient(x);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tape.input("), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::scalars
