#include "tidemark/scalar/forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "tidemark/scalar/scalar.h"
#include "tidemark/scalar/statements.h"

namespace tidemark::scalars {
namespace {

std::size_t statements_with_forms(const Tape& tape) {
  std::size_t count = 0;
  walk_back(tape.view(), [&](const Statement<double>& statement) { count += statement.form != nullptr; });
  return count;
}

// Constants, slopes that vary, variables that stand in a statement twice, parameters from far away.
Real march(std::span<const Real> parameters, int steps) {
  std::vector<Real> u(parameters.begin() + 2, parameters.end());
  for (int step = 0; step < steps; ++step) {
    Real left = u[0];
    for (std::size_t i = 1; i + 1 < u.size(); ++i) {
      const Real here = u[i];
      u[i] = here + 0.1 * (u[i + 1] - here) - parameters[0] * here * (here - left);
      if (i % 3 == 0) u[i] = u[i] * sin(parameters[1] * u[i]);
      left = here;
    }
  }
  Real sum = 0;
  for (const Real& each : u) sum += each * each;
  return sum;
}

// The first recording learns forms, later ones have them from the start: the bits are those of one by one.
TEST(Forms, BitsAreTheSameWithThemAndWithout) {
  std::vector<double> values(30, 1.0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3 + 0.01 * static_cast<double>(i * i % 7);
  std::vector<double> first;
  Tape tape;
  for (int run = 0; run < 4; ++run) {
    tape.clear();
    const std::vector<Real> x = tape.inputs(values);
    tape.reverse(march(x, 50));
    const std::vector<double> gradient = tape.gradient(x);
    if (run == 0) first = gradient;
    EXPECT_EQ(gradient, first) << run;
  }
  EXPECT_GT(statements_with_forms(tape), static_cast<std::size_t>(tape.statements()) * 9 / 10);

  // As little memory as there is: none for forms.
  Tape small({.memory = Bytes(256 << 10)});
  const std::vector<Real> x = small.inputs(values);
  small.reverse(march(x, 50));
  EXPECT_EQ(statements_with_forms(small), 0u);
  EXPECT_EQ(small.gradient(x), first);
}

TEST(Forms, AStencilWithConstantSlopesTakesTwoBytes) {
  Tape tape;
  std::vector<Real> u = tape.inputs(std::vector<double>(100, 1.0));
  for (int step = 0; step < 1000; ++step)
    for (std::size_t i = 1; i + 1 < u.size(); ++i) u[i] = u[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1]);
  EXPECT_LT(tape.bytes().count, 98 * 1000 * 8);
  EXPECT_GT(statements_with_forms(tape), 97'000u);
}

// A slope that was constant and is not, or is zero for once, or no number.
TEST(Forms, SlopesThatChangeAreKept) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> factors = {2, 2, 2, 2, 3, 2, 0, 5, -0.0, 2, 2, nan, 2, 2};
  for (std::size_t count = 1; count <= factors.size(); ++count) {
    Tape tape;
    const Real x = tape.input(1), y = tape.input(1);
    Real sum = x;
    for (std::size_t i = 0; i < count; ++i) {
      const Real scaled = y * factors[i];
      EXPECT_EQ(scaled.id() == 0, factors[i] == 0);
      sum = sum + x * scaled;
    }
    double expected = 0;
    for (std::size_t i = count; i-- > 0;) expected += factors[i];
    tape.reverse(sum);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(tape.gradient(y)));
    else
      EXPECT_EQ(tape.gradient(y), expected) << count;
  }
}

// Forms of early operands go by their number in the recording, which another recording has for another.
TEST(Forms, AnotherRecordingHasOtherInputs) {
  Tape tape;
  for (const std::size_t count : {20, 3, 40, 1}) {
    tape.clear();
    const std::vector<Real> x = tape.inputs(std::vector<double>(count, 2.0));
    Real product = 1.0 * x[0];
    for (int i = 0; i < 500; ++i) product = product * 0.9 + x[static_cast<std::size_t>(i) % count] * x[0];
    tape.reverse(product);
    double by_each = 0, weight = 1, sum = 0;
    std::vector<double> expected(count, 0.0);
    for (int i = 500; i-- > 0; weight *= 0.9) {
      expected[static_cast<std::size_t>(i) % count] += weight * 2;
      sum += weight * 2;
    }
    expected[0] += sum + weight;
    for (std::size_t i = 0; i < count; ++i) {
      by_each = tape.gradient(x[i]);
      EXPECT_NEAR(by_each, expected[i], 1e-12 * std::abs(expected[i])) << count << ' ' << i;
    }
  }
}

// A form names an early operand and one close by; where they are the same variable, it is one operand.
TEST(Forms, AnEarlyOperandThatIsCloseByIsOneOperand) {
  Tape tape;
  Real x = tape.input(1.25), product = x;
  for (int i = 0; i < 40; ++i) product = x * product;
  EXPECT_GT(statements_with_forms(tape), 20u);
  tape.clear();
  x = tape.input(3);
  const Real square = x * x;
  unsigned operands = 0;
  walk_back(tape.view(), [&](const Statement<double>& statement) { operands += statement.operands(); });
  EXPECT_EQ(operands, 1u);
  tape.reverse(square);
  EXPECT_EQ(tape.gradient(x), 6);
}

// More kinds of statements than there is room for.
TEST(Forms, AFullTableIsNoError) {
  Tape tape;
  std::vector<double> first;
  for (int run = 0; run < 2; ++run) {
    tape.clear();
    const std::vector<Real> x = tape.inputs(std::vector<double>{1.5, 0.5});
    std::vector<Real> made(x.begin(), x.end());
    std::uint64_t state = 1;
    for (int i = 0; i < 60'000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::size_t back = 1 + (state >> 33) % std::min<std::size_t>(made.size(), 6000);
      made.push_back(0.5 * made.back() + 0.49 * made[made.size() - back]);
    }
    tape.reverse(made.back());
    if (run == 0) first = tape.gradient(x);
    EXPECT_EQ(tape.gradient(x), first);
  }
}

// A few of many inputs are read all the time, from nearby and from far away.
Real walk(std::span<const Real> x, int length) {
  Real y = x[0] * x[1];
  for (int i = 0; i < length; ++i) {
    const Real& parameter = x[static_cast<std::size_t>(i) % 3];
    y = 0.9995 * y + 1e-4 * parameter * sin(1 + y) + 1e-4 * x.back() * y;
  }
  return y;
}

// Adjoints of early operands lie side by side, then partly in the ring, then all there: as many inputs as the
// ring is shorter, longer, and much longer than.
TEST(Forms, AdjointsOfEarlyOperandsHaveTheSameBitsWhereverTheyLie) {
  for (const std::size_t inputs : {4, 700, 5000}) {
    std::vector<double> values(inputs);
    for (std::size_t i = 0; i < inputs; ++i) values[i] = 0.1 + 0.001 * static_cast<double>(i % 97);
    for (const int length : {900, 36'000}) {
      Tape without({.memory = Bytes(16 << 20)});
      const std::vector<Real> u = without.inputs(values);
      without.reverse(walk(u, length));
      const std::vector<double> expected = without.gradient(u);

      Tape tape;
      for (int run = 0; run < 2; ++run) {
        tape.clear();
        const std::vector<Real> x = tape.inputs(values);
        const Real y = walk(x, length);
        tape.reverse(y);
        EXPECT_EQ(tape.gradient(x), expected) << inputs << ' ' << length << ' ' << run;
        const std::vector<Real> results = {y, y * x[0]};
        EXPECT_EQ(tape.jacobian(results, std::span(x).first(3)).values[2], expected[2]);
      }
      EXPECT_GE(statements_with_forms(tape), length == 900 ? 0u : 30'000u);
    }
  }
}

struct RefusesOnce final : Event<double> {
  bool refused = false;
  void reverse(std::span<const double>, AdjointSink<double>&) override {
    if (!std::exchange(refused, true)) throw std::runtime_error("no");
  }
};

// What a reversal had added to them when it ended early is gone.
TEST(Forms, AdjointsOfEarlyOperandsAreZeroAfterAnError) {
  const std::vector<double> values(2000, 0.2), result = {1.0};
  Tape tape;
  for (int run = 0; run < 2; ++run) {  // the second one has its forms from the start, and a shorter ring
    tape.clear();
    const std::vector<Real> x = tape.inputs(values);
    const Real before = walk(x, 20'000);
    tape.reverse(before);
    const std::vector<double> expected = tape.gradient(x);
    const std::vector<Real> refused =
        tape.record_event(std::make_unique<RefusesOnce>(), {&before, 1}, result);
    Real behind = refused[0];
    for (int i = 0; i < 20'000; ++i) behind = 0.9 * behind + x[1] * (1 - behind);
    EXPECT_THROW(tape.reverse(behind), std::runtime_error);
    tape.reverse(before);
    EXPECT_EQ(tape.gradient(x), expected) << run;
  }
}

// Rows of a stencil: one form again and again, and another where a row ends, which no short memory foresees.
TEST(Forms, ARepeatedLoopIsForeseen) {
  Forms forms;
  forms.allow();
  forms.begin(1);
  constexpr Id row = 200;
  unsigned asked = 0;
  Id next = 1'000'000;
  const double slope = 0.5;
  for (Id i = 0; i < 40 * row; ++i, ++next) {
    const Id id = next - (i % row + 1 == row ? 300 : 7);
    const Shown shown{.shape = shape_of(0, 1),
                      .ids = &id,
                      .kept = &id,
                      .slopes = &slope,
                      .next = next,
                      .early = 0,
                      .near_limit = 1 << 16};
    const Pattern& guess = forms.expected();
    if (guess.shape == shown.shape && next + guess.places[0].offset == id) {
      forms.follow(guess.code);
      continue;
    }
    ++asked;
    if (const Pattern* form = forms.find(shown)) forms.follow(form->code);
  }
  EXPECT_LT(asked, 15u);
}

}  // namespace
}  // namespace tidemark::scalars
