#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

using State = std::span<Real>;

thread_local Tape* tape_of_test = nullptr;

// What a program says of itself: its values and gradients, to the bit.
using Program = std::function<std::vector<double>(Tape&)>;

std::vector<std::uint64_t> bits(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> words;
  for (const double x : numbers) words.push_back(std::bit_cast<std::uint64_t>(x));
  return words;
}

std::vector<double> in(std::int64_t memory, const Program& program) {
  Tape tape({.memory = Bytes(memory)});
  tape_of_test = &tape;
  std::vector<double> numbers = program(tape);
  if (memory >= 0) {
    EXPECT_LE(tape.peak_bytes().count, memory);
  }
  return numbers;
}

void expect_same_in_every_memory(const Program& program, std::initializer_list<std::int64_t> memories) {
  const std::vector<double> whole = in(-1, program);
  ASSERT_FALSE(whole.empty());
  for (const std::int64_t memory : memories) EXPECT_EQ(bits(in(memory, program)), bits(whole)) << memory;
}

std::vector<double> values_of(std::span<const Real> x) {
  std::vector<double> values;
  for (const Real& v : x) values.push_back(v.value());
  return values;
}

// Values of the state and the gradient of its weighted sum by `inputs`.
std::vector<double> outcome(Tape& tape, std::span<const Real> state, std::span<const Real> inputs) {
  Real sum = 0;
  for (std::size_t i = 0; i < state.size(); ++i) sum += state[i] * (1.0 + 0.1 * static_cast<double>(i));
  tape.reverse(sum);
  std::vector<double> numbers = values_of(state);
  for (const double slope : tape.gradient(inputs)) numbers.push_back(slope);
  return numbers;
}

void burgers(State u, const Real& viscosity) {
  Real left = u[0];
  for (std::size_t i = 1; i + 1 < u.size(); ++i) {
    const Real here = u[i];
    u[i] = here - 0.1 * here * (here - left) + viscosity * (u[i + 1] - 2 * here + left);
    left = here;
  }
}

std::vector<double> wave(std::size_t n) {
  std::vector<double> u(n);
  for (std::size_t i = 0; i < n; ++i) u[i] = 1 + 0.5 * std::sin(0.3 * static_cast<double>(i));
  return u;
}

Program burgers_program(std::size_t n, std::int64_t steps) {
  return [=](Tape& tape) {
    std::vector<Real> inputs = tape.inputs(wave(n));
    const Real viscosity = tape.input(0.05);
    std::vector<Real> u = inputs;
    tape.steps(steps, u, [viscosity](State v, std::int64_t) { burgers(v, viscosity); });
    inputs.push_back(viscosity);
    return outcome(tape, u, inputs);
  };
}

TEST(Steps, HaveTheBitsOfALoopWrittenOut) {
  for (const std::int64_t steps : {1, 2, 3, 10, 57, 300}) {
    const Program plain = [=](Tape& tape) {
      std::vector<Real> inputs = tape.inputs(wave(40));
      const Real viscosity = tape.input(0.05);
      std::vector<Real> u = inputs;
      for (std::int64_t i = 0; i < steps; ++i) burgers(u, viscosity);
      inputs.push_back(viscosity);
      return outcome(tape, u, inputs);
    };
    const std::vector<double> expected = in(-1, plain);
    for (const std::int64_t memory : {-1, 64 << 10, 80 << 10, 128 << 10, 200 << 10, 1 << 20, 64 << 20})
      EXPECT_EQ(bits(in(memory, burgers_program(40, steps))), bits(expected)) << steps << " in " << memory;
  }
}

TEST(Steps, ManyInLittleMemory) {
  expect_same_in_every_memory(burgers_program(100, 3000), {64 << 10, 100 << 10, 1 << 20});
}

TEST(Steps, OfStatesThatAreLargerThanTheRing) {
  expect_same_in_every_memory(burgers_program(5000, 20), {1200 << 10, 2 << 20, 32 << 20});
}

// Operands from tens of thousands of statements before: within the ring of a large memory or of none, of more
// bytes than two, and far away in a small one. Some statements have both kinds.
TEST(Steps, OperandsOfAnyDistanceHaveTheSameBitsInEveryMemory) {
  expect_same_in_every_memory(
      [](Tape& tape) {
        const std::vector<Real> x = tape.inputs(std::vector<double>{0.3, 0.7, -0.2});
        std::vector<Real> u = x;
        tape.steps(3, u, [](State v, std::int64_t) {
          constexpr std::size_t longest = 150'000;
          std::vector<Real> made(v.begin(), v.end());
          for (std::size_t i = 0; i < longest; ++i) {
            const std::size_t back = std::min(made.size(), 1 + i * 7919 % (i % 3 == 0 ? 200 : 140'000));
            const Real& far = made[made.size() - back];
            made.push_back(0.6 * made.back() + 0.39 * far - 0.01 * far * v[i % 3]);
          }
          for (std::size_t i = 0; i < v.size(); ++i) v[i] = made[made.size() - 1 - 40'000 * i];
        });
        return outcome(tape, u, x);
      },
      {8 << 20, 16 << 20, 32 << 20, 64 << 20});
}

TEST(Steps, NoneAtAll) {
  expect_same_in_every_memory(burgers_program(10, 0), {64 << 10});
  expect_same_in_every_memory(
      [](Tape& tape) {
        const Real x = tape.input(2);
        std::vector<Real> nothing;
        tape.steps(5, nothing, [](State, std::int64_t) {});
        std::vector<Real> u = {x};
        tape.steps(5, u, [](State, std::int64_t) {});
        return outcome(tape, u, u.empty() ? u : std::vector<Real>{x});
      },
      {64 << 10});
}

// Entries that are passive, never touched, given twice, swapped, or Reals from outside.
TEST(Steps, EntriesOfEveryKind) {
  expect_same_in_every_memory(
      [](Tape& tape) {
        const Real p = tape.input(0.3), q = tape.input(1.7);
        std::vector<Real> u = {p, p, 0.25, q, 4.0, p * q, 1.0};
        tape.steps(3000, u, [p, q](State v, std::int64_t i) {
          v[0] = v[0] * 0.5 + v[1] * 0.001 * p + v[2] * v[6] * 0.3;
          v[1] = v[1] + 0.5;
          if (i % 50 == 0) v[1] = v[1] * 0.1;
          if (i % 3 == 0) v[2] = v[0];
          if (i % 5 == 1) v[2] = 0.125;
          if (i % 7 == 2) v[3] = q;
          if (i == 20) v[6] = p + 0.5;
          std::swap(v[4], v[5]);
          v[5] += v[0] / (1.0 + v[0] * v[0]) * q;
        });
        return outcome(tape, u, std::vector<Real>{p, q});
      },
      {64 << 10, 128 << 10, 1 << 20});
}

// Steps that copy, swap, forget and combine entries at random, some of them in a loop of their own.
TEST(Steps, OfRandomPrograms) {
  struct Move {
    unsigned kind, every;
    std::size_t to, from, with;
    double slope;
  };
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::vector<Move> moves(6 + random() % 12);
    for (Move& move : moves)
      move = {static_cast<unsigned>(random() % 8),
              static_cast<unsigned>(1 + random() % 3),
              random() % 6,
              random() % 6,
              random() % 6,
              static_cast<double>(random() % 1000) / 2100.0 - 0.2};
    const auto count = static_cast<std::int64_t>(500 + random() % 1500);
    expect_same_in_every_memory(
        [=](Tape& tape) {
          const std::vector<Real> p = tape.inputs(std::vector<double>{0.3, -0.7});
          std::vector<Real> u = {p[0], 0.5, p[1] * p[0], p[1], 1.0, p[0]};
          const auto act = [moves, p](State v, std::int64_t i) {
            for (const Move& move : moves) {
              if (i % move.every != 0) continue;
              Real& to = v[move.to];
              const Real from = v[move.from], with = v[move.with];
              if (move.kind == 0) to = from;
              if (move.kind == 1) std::swap(v[move.to], v[move.from]);
              if (move.kind == 2) to = move.slope;
              if (move.kind == 3) to = p[move.with % 2];
              if (move.kind == 4) to = to * 0.5 + 0.1;
              if (move.kind >= 5) to = move.slope * from + 0.4 * with * p[move.kind % 2] + 0.1 * to;
            }
          };
          tape.steps(count, u, act);
          tape.steps(count / 20, u, [act, p](State v, std::int64_t i) {
            const Real scaled = v[i % 6 == 0 ? 1 : 2] * p[0];
            tape_of_test->steps(20, v, [act, scaled](State w, std::int64_t k) {
              act(w, k);
              w[3] = w[3] * 0.5 + scaled * 0.25;
            });
          });
          return outcome(tape, u, p);
        },
        {160 << 10, 240 << 10, 1 << 20});
  }
}

TEST(Steps, WithinStepsAndOneLoopAfterTheOther) {
  const Program program = [](Tape& tape) {
    std::vector<Real> inputs = tape.inputs(wave(30));
    const Real a = tape.input(0.02), b = tape.input(0.9);
    std::vector<Real> u = inputs;
    tape.steps(60, u, [a, b](State v, std::int64_t i) {
      const Real strength = a * (1.0 + 0.01 * static_cast<double>(i)) + v[3] * 1e-3;
      Tape& own = *tape_of_test;
      own.steps(9, v, [strength](State w, std::int64_t) { burgers(w, strength); });
      v[2] = v[2] * b;
      own.steps(4 + i % 3, v, [strength, b](State w, std::int64_t) { burgers(w, strength * b); });
    });
    const Real between = u[7] * a;
    tape.steps(50, u, [between](State v, std::int64_t) { burgers(v, between * 0.1); });
    tape.steps(1, u, [b](State v, std::int64_t) { v[1] = v[1] * b; });
    inputs.push_back(a);
    inputs.push_back(b);
    return outcome(tape, u, inputs);
  };
  expect_same_in_every_memory(program, {180 << 10, 220 << 10, 400 << 10, 8 << 20});
}

TEST(Steps, ManyLoopsInALoopOfOnesOwn) {
  expect_same_in_every_memory(
      [](Tape& tape) {
        std::vector<Real> inputs = tape.inputs(wave(20));
        std::vector<Real> u = inputs;
        for (int i = 0; i < 60; ++i) {
          const Real strength = 0.02 + u[5] * 0.001;
          const auto mark = tape.mark();
          std::vector<Real> trial = u;
          tape.steps(5, trial, [strength](State v, std::int64_t) { burgers(v, strength); });
          tape.rewind(mark);
          tape.steps(30, u, [strength](State v, std::int64_t) { burgers(v, strength); });
        }
        return outcome(tape, u, inputs);
      },
      {256 << 10, 1 << 20, 8 << 20});
}

TEST(Steps, OfFloats) {
  const auto gradient = [](std::int64_t memory) {
    BasicTape<float> tape({.memory = Bytes(memory)});
    const auto x = tape.input(0.5f);
    std::vector<BasicReal<float>> u = {x, x * 2.0f};
    tape.steps(300, u, [x](std::span<BasicReal<float>> v, std::int64_t) {
      v[0] = v[0] * 0.9f + v[1] * x * 0.1f;
      v[1] = v[1] + x * v[0] * 0.01f;
    });
    tape.reverse(u[0]);
    EXPECT_TRUE(memory < 0 || tape.peak_bytes().count <= memory);
    return tape.gradient(x);
  };
  EXPECT_EQ(gradient(64 << 10), gradient(-1));
  EXPECT_NE(gradient(-1), 0.0f);
}

TEST(Steps, WhoseSizeVaries) {
  expect_same_in_every_memory(
      [](Tape& tape) {
        std::vector<Real> inputs = tape.inputs(wave(20));
        const Real p = tape.input(0.04);
        std::vector<Real> u = inputs;
        tape.steps(200, u, [p](State v, std::int64_t i) {
          for (std::int64_t r = 0; r < (i == 150 ? 60 : 1 + i % 4); ++r) burgers(v, p);
        });
        return outcome(tape, u, std::vector<Real>{p, inputs[3]});
      },
      {128 << 10, 160 << 10, 300 << 10, 1 << 20});
}

TEST(Steps, OneByOneInALoopOfOnesOwn) {
  for (const int steps : {1, 2, 50, 1000}) {
    const auto program = [=](bool watched) {
      return [=](Tape& tape) {
        std::vector<Real> inputs = tape.inputs(wave(30));
        const Real p = tape.input(0.04);
        std::vector<Real> u = inputs;
        Real seen = 0;
        std::vector<Real> history;
        for (int i = 0; i < steps; ++i) {
          const Real strength = p * 1.5;
          tape.step(u, [strength](State v) { burgers(v, strength); });
          if (watched && i % 10 == 3) history.push_back(u[4]);
          if (watched && i % 100 == 7) seen += u[5] * u[6];
          if (watched && i == 30) u[9] = u[9] + 0.25;
        }
        for (const Real& h : history) seen += h * h;
        u.push_back(seen);
        inputs.push_back(p);
        return outcome(tape, u, inputs);
      };
    };
    expect_same_in_every_memory(program(false), {256 << 10, 400 << 10, 4 << 20});
    expect_same_in_every_memory(program(true), {800 << 10, 4 << 20});
  }
}

TEST(Steps, SeveralReversalsOfOneRecording) {
  expect_same_in_every_memory(
      [](Tape& tape) {
        std::vector<Real> inputs = tape.inputs(wave(25));
        std::vector<Real> u = inputs;
        tape.steps(77, u, [](State v, std::int64_t) { burgers(v, 0.03); });
        std::vector<double> all;
        for (const int i : {3, 9, 3}) {
          tape.reverse(u[static_cast<std::size_t>(i)]);
          for (const double slope : tape.gradient(inputs)) all.push_back(slope);
        }
        return all;
      },
      {64 << 10, 128 << 10, 1 << 20});
}

TEST(Steps, ThatThrowLeaveTheTapeAsItWas) {
  for (const std::int64_t memory : {std::int64_t{-1}, std::int64_t{128 << 10}}) {
    for (const int bad : {0, 1, 17, 39}) {
      Tape tape({.memory = Bytes(memory)});
      const Real x = tape.input(1.1);
      std::vector<Real> u = {x, x * 2};
      const auto id = u[1].id();
      EXPECT_THROW(tape.steps(40, u,
                              [=](State v, std::int64_t i) {
                                v[0] = v[0] * v[1];
                                if (i == bad) throw std::runtime_error("no");
                              }),
                   std::runtime_error);
      EXPECT_EQ(u[0].id(), x.id());
      EXPECT_EQ(u[1].id(), id);
      EXPECT_EQ(tape.statements(), 2u);
      EXPECT_THROW(tape.step(u, [=](State) { throw std::runtime_error("no"); }), std::runtime_error);
      tape.steps(3, u, [](State v, std::int64_t) { v[0] = v[0] * 3; });
      tape.reverse(u[0]);
      EXPECT_EQ(tape.gradient(x), 27);
    }
  }
}

TEST(Steps, ThatThrowWhileTheyAreReversed) {
  Tape tape({.memory = Bytes(128 << 10)});
  bool armed = false;
  const Real x = tape.input(1.1);
  std::vector<Real> u = {x};
  tape.steps(40, u, [&armed](State v, std::int64_t i) {
    v[0] = v[0] * 1.5;
    if (armed && i == 20) throw std::runtime_error("no");
  });
  const Real y = u[0] * 2;
  armed = true;
  EXPECT_THROW(tape.reverse(y), std::runtime_error);
  EXPECT_THROW(tape.gradient(x), Error);
  armed = false;
  tape.reverse(y);
  EXPECT_DOUBLE_EQ(tape.gradient(x), 2 * std::pow(1.5, 40));
}

TEST(Steps, MistakesAreNamed) {
  const auto code_of = [](const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_TRUE(error.where().known()) << error.what();
      return error.code();
    }
    return ErrorCode::syntax;
  };
  for (const std::int64_t memory : {std::int64_t{-1}, std::int64_t{128 << 10}}) {
    Tape tape({.memory = Bytes(memory)});
    std::vector<Real> u = {tape.input(1)};
    EXPECT_EQ(code_of([&] { tape.steps(-1, u, [](State, std::int64_t) {}); }), ErrorCode::bad_tape_use);
    EXPECT_EQ(code_of([&] { tape.steps(3, u, [&tape](State v, std::int64_t) { v[0] = tape.input(2); }); }),
              ErrorCode::bad_tape_use);
    EXPECT_EQ(code_of([&] { tape.steps(3, u, [&tape](State v, std::int64_t) { tape.reverse(v[0]); }); }),
              ErrorCode::bad_tape_use);
  }
}

// The least memory that the error names does.
TEST(Steps, AStepThatDoesNotFitSaysWhatWould) {
  const Program program = burgers_program(3000, 4);
  const std::vector<double> whole = in(-1, program);
  for (std::int64_t memory : {64 << 10, 128 << 10, 256 << 10, 300 << 10}) {
    for (int tries = 0;; ++tries) {
      ASSERT_LT(tries, 4);
      try {
        EXPECT_EQ(bits(in(memory, program)), bits(whole));
        break;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::tape_full) {  // what is beside the loop
          memory += 64 << 10;
          tries = 0;
          continue;
        }
        EXPECT_EQ(error.code(), ErrorCode::infeasible_budget);
        EXPECT_NE(std::string(error.what()).find("steps_test.cc"), std::string::npos) << error.what();
        const std::string least = error.parts().expected.substr(std::string("at least ").size());
        ASSERT_GT(parse_bytes(least).count, memory);
        memory = parse_bytes(least).count + 1024;  // text has two decimals
      }
    }
  }
}

TEST(Steps, OnSeveralThreads) {
  const Program program = burgers_program(50, 400);
  const std::vector<double> whole = in(-1, program);
  std::vector<std::vector<double>> results(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i)
      threads.emplace_back(
          [&, i] { results[i] = in((100 + 60 * static_cast<std::int64_t>(i)) << 10, program); });
  }
  for (const auto& result : results) EXPECT_EQ(bits(result), bits(whole));
}

TEST(Steps, InAMemoryOfTheCachesSize) {
  Tape tape({.memory = cache_sized});
  EXPECT_EQ(tape.memory(), cache_size());
  EXPECT_GE(cache_size().count, smallest_memory);
}

}  // namespace
}  // namespace tidemark::scalars
