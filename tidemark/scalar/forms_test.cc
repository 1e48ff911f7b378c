#include "tidemark/scalar/forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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
  for (int i = 0; i < 200; ++i) product = x * product;
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

// One operand runs through the early ones, two at a time, until it is the one right in front of the
// statement: there both are one operand, whatever the form says that served before.
TEST(Forms, AnEarlyOperandThatCatchesUpIsOneOperand) {
  constexpr std::size_t inputs = 500;
  Tape tape;
  std::vector<Real> u = tape.inputs(std::vector<double>(inputs, 1.0));
  for (std::size_t i = 0; i < inputs; ++i) u.push_back(0.7 * u.back() + 0.1 * u[2 * i]);
  EXPECT_GT(statements_with_forms(tape), inputs / 2);
  std::vector<unsigned> operands;
  walk_back(tape.view(), [&](const Statement<double>& statement) {
    if (statement.kind == Statement<double>::Kind::operation) operands.push_back(statement.operands());
  });
  std::reverse(operands.begin(), operands.end());
  for (std::size_t i = 0; i < inputs; ++i) EXPECT_EQ(operands[i], 2 * i == inputs + i - 1 ? 1u : 2u) << i;
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
  std::vector<std::byte> memory(40 * row * form_code_bytes + Chunk::margin);
  const std::byte* const end = memory.data() + memory.size() - Chunk::margin;
  std::byte* codes = memory.data() + memory.size() - Chunk::margin;
  const double slope = 0.5;
  for (const bool again : {false, true}) {
    codes += end - codes;
    forms.go_on(again);
    unsigned asked = 0;
    Id next = 1'000'000;
    for (Id i = 0; i < 40 * row; ++i, ++next) {
      const Id id = next - (i % row + 1 == row ? 300 : 7);
      const Shown shown{.shape = shape_of(0, 1),
                        .ids = &id,
                        .kept = &id,
                        .slopes = &slope,
                        .bases = {.next = next},
                        .near_limit = 1 << 16,
                        .codes = codes,
                        .codes_end = end};
      const Pattern* form = &forms.expected(codes);
      if (form->shape != shown.shape || form->expected(0, shown.bases) != id) {
        ++asked;
        form = forms.find(shown);
      }
      if (!form) continue;
      codes -= form_code_bytes;
      std::memcpy(codes, &form->code, form_code_bytes);
    }
    EXPECT_LT(asked, again ? 5u : 15u);
  }
}

// Of inputs that a loop goes over each is read once: a few forms serve all of them.
TEST(Forms, InputsThatALoopGoesOverShareForms) {
  Tape tape;
  const std::vector<double> values(3000, 0.3);
  for (int run = 0; run < 2; ++run) {
    tape.clear();
    const std::vector<Real> x = tape.inputs(values);
    std::vector<Real> made;
    for (std::size_t i = 1; i + 1 < x.size(); ++i) {
      const Real left = x[i - 1] * x[i], right = x[i] * x[i + 1];
      made.push_back(left - right);
    }
    Real sum = 0;
    for (const Real& each : made) sum += each * each;
    // But for what the sum reads: it goes over statements that are neither early nor always as far away.
    EXPECT_GT(statements_with_forms(tape), static_cast<std::size_t>(tape.statements()) * 7 / 10) << run;
    tape.reverse(sum);
    EXPECT_LE(std::abs(tape.gradient(x[1500])), 1e-15);
  }
}

// What an expression without a form reads among early operands, or one of too many operands, moves the
// others' steps: a jump says so, or they are written without a form. All who read a recording agree.
TEST(Forms, ReadersFollowStepsAndJumps) {
  std::uint64_t state = 7;
  const auto random = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  for (int round = 0; round < 40; ++round) {
    const std::size_t count = 3 + random(60);
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = 0.2 + 0.01 * static_cast<double>(random(50));
    const std::uint64_t seed = state;
    const auto f = [&](std::span<const Real> x) {
      state = seed;
      const std::size_t body = 2 + random(6), stride = 1 + random(4);
      std::vector<Real> u = {x[0] * x[1], x[1] + x[2]};
      for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t at = i * stride % x.size();
        Real y = 0.4 * u[i % u.size()] + x[at] * u[(i * 3) % u.size()];
        if (i % body == 0) y = y + x[random(x.size())] * x[at];
        if (i % 97 == 0)  // no form has so many
          y = y * x[0] + x[1] * x[2] + x[0] * x[at] + u[0] * u[1] + x[2] * x[2] * y;
        if (u.size() < 30)
          u.push_back(sin(y));
        else
          u[i % 30] = sin(y);
      }
      Real sum = 0;
      for (const Real& each : u) sum += each;
      return sum;
    };
    std::vector<double> expected;
    for (const bool limited : {true, false}) {
      Tape tape(limited ? TapeOptions{.memory = Bytes(384 << 10)} : TapeOptions{});
      for (int run = 0; run < 3; ++run) {
        tape.clear();
        const std::vector<Real> x = tape.inputs(values);
        const Real y = f(x);
        tape.reverse(y);
        if (expected.empty()) expected = tape.gradient(x);
        ASSERT_EQ(tape.gradient(x), expected) << round << ' ' << limited << ' ' << run;
        // Back and forth over it, statement by statement.
        std::vector<std::pair<Id, Id>> back, forth;
        const auto into = [](auto& all) {
          return [&](const Statement<double>& statement) {
            for (unsigned i = 0; i < statement.operands(); ++i)
              all.emplace_back(statement.index, statement.operand(statement.operands() - 1 - i));
          };
        };
        walk_back(tape.view(), into(back));
        walk_forward(tape.view(), [&](const Statement<double>& statement) {
          for (unsigned i = 0; i < statement.operands(); ++i)
            forth.emplace_back(statement.index, statement.operand(i));
        });
        std::reverse(forth.begin(), forth.end());
        ASSERT_EQ(back, forth);
        const std::vector<Real> results = {y, y * x[0]};
        const Matrix jacobian = tape.jacobian(results, x);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(jacobian(0, i), expected[i]);
      }
    }
  }
}

// Steps within a memory have forms, too: over a state of which each entry is a statement, and over one whose
// entries take several. None of it shows in the bits.
TEST(Forms, StepsWithinAMemoryHaveThem) {
  const auto gradient = [](Bytes memory, int detours) {
    Tape tape({.memory = memory});
    std::vector<double> values(400);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + 0.1 * static_cast<double>(i * i % 11);
    const std::vector<Real> x = tape.inputs(values);
    std::vector<Real> u = x;
    const Real rate = 0.5 * x[3];
    tape.steps(60, u, [rate, detours](std::span<Real> v, std::int64_t) {
      Real left = v[0];
      for (std::size_t i = 1; i + 1 < v.size(); ++i) {
        Real change = v[i + 1] - 2 * v[i] + left;
        for (int j = 0; j < detours; ++j) change = change - 0.01 * change * v[i];
        left = v[i];
        v[i] = v[i] + 0.01 * rate * change;
      }
    });
    Real sum = 0;
    for (const Real& each : u) sum += each * each;
    tape.reverse(sum);
    EXPECT_TRUE(memory.count < 0 || tape.peak_bytes().count <= memory.count);
    return tape.gradient(x);
  };
  for (const int detours : {0, 1, 4}) {
    const std::vector<double> expected = gradient(Bytes(-1), detours);
    for (const std::int64_t kib : {256, 512, 1024, 4096})
      EXPECT_EQ(gradient(Bytes(kib << 10), detours), expected) << detours << ' ' << kib;
  }
}

}  // namespace
}  // namespace tidemark::scalars
