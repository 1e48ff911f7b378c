#include "tidemark/scalar/tape.h"

#include <gtest/gtest.h>

namespace tidemark::scalars {
namespace {

TEST(Tape, GradientsOfAnExpression) {
  Tape tape;
  const Real x = tape.input(2), y = tape.input(3);
  Real z = x * y + x - 2 * y;
  z = z * z / x;
  tape.reverse(z);
  EXPECT_EQ(z.value(), 2);
  EXPECT_EQ(tape.gradient(x), 7);
  EXPECT_EQ(tape.gradient(y), 0);
}

TEST(Tape, AVariableThatStandsInAStatementMoreThanOnceIsOneOperand) {
  Tape tape;
  const Real x = tape.input(3);
  const Real y = x + x * x + x * 4.0 - x / 3.0;
  tape.reverse(y);
  EXPECT_DOUBLE_EQ(tape.gradient(x), 1 + 6 + 4 - 1.0 / 3);
}

TEST(Tape, PassiveNumbersTakeNoStatements) {
  Tape tape;
  const Real a = 2, b = 3;
  const Real c = a * b + 1;
  EXPECT_EQ(c.value(), 7);
  EXPECT_EQ(tape.statements(), 0u);
  const Real x = tape.input(1);
  const Real shifted = x + c - 4;
  EXPECT_EQ(tape.statements(), 1u);
  EXPECT_EQ(shifted.id(), x.id());
}

// Distances of every width, operands of near and far blocks, and more statements than a chunk holds.
TEST(Tape, OperandsAtAnyDistance) {
  for (const int length : {1, 200, 300, 511, 512, 513, 5000, 66000, 200000}) {
    Tape tape;
    const Real first = tape.input(1.5);
    Real x = tape.input(1.0);
    for (int i = 0; i < length; ++i) x = x * 1.0000001 + first * 1e-6;
    const Real y = x * first;
    tape.reverse(y);
    double value = 1, by_first = 0;
    for (int i = 0; i < length; ++i) {
      value = value * 1.0000001 + 1.5 * 1e-6;
      by_first = by_first * 1.0000001 + 1e-6;
    }
    EXPECT_NEAR(y.value(), value * 1.5, 1e-12 * value);
    EXPECT_NEAR(tape.gradient(first), value + 1.5 * by_first, 1e-9 * value) << length;
    const double again = tape.gradient(first);
    tape.reverse(y);
    EXPECT_EQ(tape.gradient(first), again);
  }
}

TEST(Tape, SeveralResultsAtOnceAndOneByOne) {
  Tape tape;
  const std::vector<double> values = {1, 2, 3};
  const std::vector<Real> x = tape.inputs(values);
  const Real a = x[0] * x[1], b = x[1] * x[2];
  tape.reverse({{a, 1.0}, {b, 10.0}});
  EXPECT_EQ(tape.gradient(x), (std::vector<double>{2, 31, 20}));
  tape.reverse(b);
  EXPECT_EQ(tape.gradient(x), (std::vector<double>{0, 3, 2}));
}

TEST(Tape, ARewoundRecordingGoesOnFromItsMark) {
  Tape tape;
  const Real x = tape.input(2);
  const Real y = x * x;
  const auto mark = tape.mark();
  for (int i = 0; i < 100000; ++i) {
    const Real z = y * x;
    ASSERT_GT(z.value(), 0);
  }
  tape.rewind(mark);
  EXPECT_EQ(tape.statements(), 2u);
  const Real w = y * y;
  tape.reverse(w);
  EXPECT_EQ(tape.gradient(x), 4 * 8);
}

TEST(Tape, RealsOfAnotherRecordingAreRefused) {
  Tape tape;
  const Real old = tape.input(2);
  tape.clear();
  const Real x = tape.input(1);
  EXPECT_THROW(Real(x * old), Error);
  EXPECT_THROW(tape.reverse(old), Error);
  EXPECT_THROW(tape.gradient(x), Error);
  const Real y = x * value(old);
  tape.reverse(y);
  EXPECT_EQ(tape.gradient(x), 2);
  EXPECT_THROW(tape.gradient(y), Error);
}

TEST(Tape, ABudgetThatIsTooSmallNamesTheLineThatGrew) {
  Tape tape({.memory = Bytes(256 << 10)});
  Real x = tape.input(1);
  try {
    for (int i = 0; i < 1000000; ++i) x = x * 1.5 + x * x;
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::tape_full);
    EXPECT_NE(std::string(error.what()).find("tape_test.cc"), std::string::npos) << error.what();
  }
  EXPECT_LE(tape.peak_bytes().count, 256 << 10);
  tape.clear();
  const Real y = tape.input(3);
  const Real z = y * y;
  tape.reverse(z);
  EXPECT_EQ(tape.gradient(y), 6);
}

TEST(Tape, TapesNest) {
  Tape outer;
  const Real x = outer.input(2);
  Real y = x * x;
  {
    Tape inner;
    const Real u = inner.input(3);
    const Real v = u * u * u;
    inner.reverse(v);
    EXPECT_EQ(inner.gradient(u), 27);
  }
  {
    const auto paused = Tape::pause();
    const Real lost = y * y;
    EXPECT_EQ(lost.id(), 0u);
  }
  y = y * 3;
  outer.reverse(y);
  EXPECT_EQ(outer.gradient(x), 12);
}

// A small tape takes little; one that is larger takes large pages, which are there by one fault each.
TEST(Tape, GrowsByLargePagesOnceItIsNotSmall) {
  std::size_t bytes = 0;
  for (const std::size_t expected : {64 << 10, 64 << 10, 128 << 10, 2 << 20, 2 << 20}) {
    EXPECT_EQ(Chunks::next_size(bytes), expected);
    bytes += Chunks::next_size(bytes);
  }
}

TEST(Tape, AGradientByAnInputThatTheReversalDidNotKnowIsRefused) {
  Tape tape;
  const std::vector<Real> three = tape.inputs(std::vector<double>{1, 2, 3});
  tape.reverse(three[0] * three[1] * three[2]);
  EXPECT_THROW(tape.gradient(tape.input(4)), Error);
  EXPECT_EQ(tape.gradient(three[2]), 2);
  tape.clear();
  const Real x = tape.input(2);
  const auto mark = tape.mark();
  const Real forgotten = tape.input(5);
  tape.reverse(x * forgotten);
  EXPECT_EQ(tape.gradient(forgotten), 2);
  tape.rewind(mark);
  const Real in_its_place = tape.input(7);
  EXPECT_THROW(tape.gradient(in_its_place), Error);
  EXPECT_EQ(tape.gradient(x), 5);
  tape.reverse(x * in_its_place);
  EXPECT_EQ(tape.gradient(in_its_place), 2);
}

TEST(Tape, AMarkThatIsNotOfTheRecordingIsRefused) {
  const auto refuses = [](Tape& tape, const Tape::Mark& mark) {
    try {
      tape.rewind(mark);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::bad_tape_use && error.where().line == __LINE__ - 3;
    }
  };
  Tape tape;
  const Real x = tape.input(2);
  const auto first = tape.mark();
  Real y = x * x;
  const auto second = tape.mark();
  tape.rewind(first);
  EXPECT_TRUE(refuses(tape, second));
  y = x * x * x;
  EXPECT_TRUE(refuses(tape, {}));
  {
    Tape other;
    other.input(3);
    EXPECT_TRUE(refuses(other, first));
  }
  tape.reverse(y);
  EXPECT_EQ(tape.gradient(x), 12);
  tape.clear();
  EXPECT_TRUE(refuses(tape, first));
  const Real u = tape.input(5);
  tape.reverse(u * u);
  EXPECT_EQ(tape.gradient(u), 10);
}

}  // namespace
}  // namespace tidemark::scalars
