// How often steps run within a memory: where there is more of it never many times as often, and where less
// would do it does.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tidemark/scalar/tape.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::scalars {
namespace {

// Heat in a rod that is updated in place. The first state is passive, so the first step reads less than
// others, and later ones are farther from their parameters.
struct Rod {
  std::size_t points = 401;
  std::int64_t steps = 1500;

  void cool(std::span<Real> u, const std::vector<Real>& conductivity) const {
    Real left = u[0];
    for (std::size_t i = 1; i + 1 < u.size(); ++i) {
      const Real here = u[i];
      u[i] = here + 0.2 * (conductivity[i] * (u[i + 1] - here) - conductivity[i - 1] * (here - left));
      left = here;
    }
  }
  std::vector<Real> start() const {
    std::vector<Real> u(points);
    for (std::size_t i = 0; i < points; ++i)
      u[i] = std::sin(3.14 * static_cast<double>(i) / static_cast<double>(points - 1));
    return u;
  }
};

struct Outcome {
  std::vector<double> gradient;
  std::int64_t calls = 0;
};

Outcome run(const Rod& rod, std::int64_t memory, bool one_by_one = false) {
  static std::int64_t calls;
  calls = 0;
  Tape tape({.memory = Bytes(memory)});
  const std::vector<Real> k = tape.inputs(std::vector<double>(rod.points, 0.9));
  std::vector<Real> u = rod.start();
  const auto step = [&rod, k = std::span(k)](std::span<Real> v) {
    ++calls;
    rod.cool(v, {k.begin(), k.end()});
  };
  if (one_by_one)
    for (std::int64_t i = 0; i < rod.steps; ++i) tape.step(u, step);
  else
    tape.steps(rod.steps, u, [step](std::span<Real> v, std::int64_t) { step(v); });
  tape.reverse(u[rod.points / 2]);
  EXPECT_TRUE(memory < 0 || tape.peak_bytes().count <= memory) << memory;
  return {tape.gradient(k), calls};
}

TEST(StepsCalls, AreFewInEveryMemory) {
  for (const Rod& rod : {Rod{}, Rod{.points = 1025, .steps = 700}, Rod{.points = 30, .steps = 6000}}) {
    const Outcome whole = run(rod, -1);
    EXPECT_EQ(whole.calls, rod.steps);
    std::int64_t least = 0;
    for (std::int64_t memory = 64 << 10; memory < 16 << 20; memory += memory / 5) {
      try {
        const Outcome outcome = run(rod, memory);
        EXPECT_EQ(outcome.gradient, whole.gradient) << memory;
        if (least == 0) least = memory;
        // What is there beyond the least that does is for states.
        const auto bytes = static_cast<std::int64_t>(rod.points * sizeof(double)) + 64;
        const std::int64_t states = 1 + (memory - least) / bytes;
        EXPECT_LE(outcome.calls, 2 * schedule::least_advances(rod.steps, states) + 2 * rod.steps)
            << rod.points << " points in " << memory;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::infeasible_budget) << error.what();
        EXPECT_EQ(least, 0) << memory << " does not do where less does: " << error.what();
      }
    }
    EXPECT_LE(least, 256 << 10) << rod.points;
  }
}

// Each call leaves something behind: in the end that is what there is no room for, and the error says so.
TEST(StepsCalls, OneByOneTheyEndWithAnErrorThatCountsThem) {
  const Rod rod;
  const Outcome whole = run(rod, -1);
  bool done = false, full = false;
  for (std::int64_t memory = 128 << 10; memory < 4 << 20; memory += memory / 5) {
    try {
      const Outcome outcome = run(rod, memory, true);
      done = true;
      EXPECT_EQ(outcome.gradient, whole.gradient) << memory;
      EXPECT_LE(outcome.calls, 40 * rod.steps) << memory;
    } catch (const Error& error) {
      EXPECT_FALSE(done) << memory << ": " << error.what();
      full = true;
      const std::string text = error.what();
      EXPECT_NE(text.find("calls of step() in"), std::string::npos) << text;
      EXPECT_NE(text.find("steps_calls_test.cc"), std::string::npos) << text;
      EXPECT_NE(text.find("tape.steps(count, state, step)"), std::string::npos) << text;
    }
  }
  EXPECT_TRUE(done && full);
}

// What an earlier recording has left behind makes no difference.
TEST(StepsCalls, AreTheSameOnATapeThatHasRecordedOtherThings) {
  const auto marched = [](Tape& tape) {
    tape.clear();
    std::vector<Real> u = tape.inputs(std::vector<double>(800, 1.5));
    static std::int64_t calls;
    calls = 0;
    tape.steps(500, u, [](std::span<Real> v, std::int64_t) {
      ++calls;
      for (std::size_t i = 1; i < v.size(); ++i) v[i] += 0.001 * v[i] * v[i - 1];
    });
    tape.reverse(u.back());
    return calls;
  };
  Tape fresh({.memory = Bytes(300 << 10)});
  const std::int64_t calls = marched(fresh);
  Tape used({.memory = Bytes(300 << 10)});
  Real x = used.input(0.5);
  EXPECT_EQ(testing::code_of([&] {
              for (;;) x = x * x * 0.5 + 0.1;
            }),
            ErrorCode::tape_full);
  EXPECT_LE(marched(used), calls + calls / 4);
}

}  // namespace
}  // namespace tidemark::scalars
