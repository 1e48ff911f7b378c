// What a tape with a memory takes, counted by who allocates: every byte of operator new, that of algorithms
// which do without if there is none too.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/errors.h"
#include "tidemark/scalar/pattern.h"
#include "tidemark/scalar/solve.h"
#include "tidemark/scalar/tape.h"

namespace {

std::atomic<std::int64_t> allocated = 0, most_allocated = 0;
std::atomic<std::int64_t> allocations_left = -1;  // until there is no memory, once; -1: there is

void* count(void* memory) {
  if (!memory) return nullptr;
  const std::int64_t now = allocated += static_cast<std::int64_t>(malloc_usable_size(memory));
  std::int64_t most = most_allocated;
  while (now > most && !most_allocated.compare_exchange_weak(most, now)) {
  }
  return memory;
}
bool there_is_none() { return allocations_left >= 0 && allocations_left-- == 0; }
void* count_or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return count(memory);
}
void uncount(void* memory) {
  if (memory) allocated -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return count_or_throw(there_is_none() ? nullptr : std::malloc(bytes));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return count(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto multiple = static_cast<std::size_t>(alignment);
  return count_or_throw(
      there_is_none() ? nullptr : std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple));
}
void operator delete(void* memory) noexcept { uncount(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncount(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncount(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { uncount(memory); }

namespace tidemark::scalars {
namespace {

void diffuse(std::span<Real> u, const Real& strength) {
  Real left = u[0];
  for (std::size_t i = 1; i + 1 < u.size(); ++i) {
    const Real here = u[i];
    u[i] = here + strength * (u[i + 1] - 2 * here + left) * here;
    left = here;
  }
}

// malloc hands out a little more than is asked for, in particular for small things.
std::int64_t with_rounding(std::int64_t bytes) { return bytes + bytes / 32; }

TEST(StepsMemory, NeverMoreThanIsGiven) {
  for (const std::int64_t memory : {64 << 10, 100 << 10, 256 << 10, 1 << 20, 8 << 20}) {
    for (const std::size_t n : {std::size_t{10}, std::size_t{100}, std::size_t{400}}) {
      std::vector<Real> u(n), inputs(n);
      const std::int64_t before = allocated;
      most_allocated = before;
      Tape tape({.memory = Bytes(memory)});
      const Real strength = tape.input(0.01);
      for (std::size_t i = 0; i < n; ++i) u[i] = inputs[i] = tape.input(static_cast<double>(i % 5));
      bool fits = true;
      try {
        tape.steps(200, u, [strength](std::span<Real> v, std::int64_t) { diffuse(v, strength); });
        tape.steps(7, u, [strength](std::span<Real> v, std::int64_t i) {
          for (std::int64_t r = 0; r < i; ++r) diffuse(v, strength);
        });
        tape.reverse(u[n / 2]);
        tape.reverse(u[n / 3]);
      } catch (const Error& error) {
        fits = false;
        EXPECT_LT(memory, 256 << 10) << error.what();
      }
      EXPECT_LE(tape.peak_bytes().count, memory) << n;
      EXPECT_LE(most_allocated - before, with_rounding(memory))
          << n << " entries in " << memory << " " << fits;
    }
  }
}

TEST(StepsMemory, OfStepsOneByOneGrowsByLittleForEach) {
  constexpr std::int64_t memory = 2 << 20;
  std::vector<Real> u(500);
  const std::int64_t before = allocated;
  most_allocated = before;
  Tape tape({.memory = Bytes(memory)});
  const Real strength = tape.input(0.01);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = tape.input(static_cast<double>(i % 5));
  for (int i = 0; i < 2000; ++i) tape.step(u, [strength](std::span<Real> v) { diffuse(v, strength); });
  tape.reverse(u[3]);
  EXPECT_LE(tape.peak_bytes().count, memory);
  EXPECT_LE(most_allocated - before, with_rounding(memory));
  EXPECT_NE(tape.gradient(strength), 0);
}

TEST(StepsMemory, CodeThatIsNotMarkedSaysWhereItGrew) {
  const std::int64_t before = allocated;
  most_allocated = before;
  Tape tape({.memory = Bytes(1 << 20)});
  Real x = tape.input(0.5);
  std::vector<Real> u(100, x);
  tape.steps(500, u, [](std::span<Real> v, std::int64_t) { diffuse(v, 0.01); });
  try {
    for (int i = 0; i < 1000000; ++i) {
      const Real y = x * x * 0.25;
      x = y + 0.5 * x;
    }
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::tape_full);
    const std::string text = error.what();
    EXPECT_NE(text.find("it grew at steps_memory_test.cc"), std::string::npos) << text;
    EXPECT_NE(text.find("tape.steps"), std::string::npos) << text;
  }
  EXPECT_LE(tape.peak_bytes().count, 1 << 20);
  EXPECT_LE(most_allocated - before, with_rounding(1 << 20));
}

// What the memory leaves for a recording: lanes, patterns and forward sweeps count as the tape's. Of what was
// found, a vector that grows has half as much again for a while.
TEST(TapeMemory, HoldsLanesAndPatterns) {
  int full = 0, done = 0;
  for (const std::int64_t memory : {64 << 10, 256 << 10, 1 << 20, 4 << 20})
    for (const int rounds : {1, 12, 60, 150}) {
      constexpr std::size_t n = 300;
      const std::int64_t before = allocated;
      std::vector<Real> u(n);
      std::vector<Tape::LaneSeed> seeds;
      for (unsigned lane = 0; lane < 16; ++lane) seeds.push_back({Real(), lane, 1.0});
      Tape tape({.memory = Bytes(memory)});
      const std::int64_t own = allocated - before - tape.bytes().count;
      try {
        for (std::size_t i = 0; i < n; ++i) u[i] = tape.input(static_cast<double>(i % 5));
        for (int round = 0; round < rounds; ++round) diffuse(u, 0.01);
        for (unsigned lane = 0; lane < 16; ++lane) seeds[lane].of = u[lane * 15 + 7];
      } catch (const Error&) {
        continue;
      }
      const auto held_by = [&](std::int64_t results, auto&& work) {
        most_allocated = allocated.load();
        try {
          work();
          ++done;
        } catch (const Error& error) {
          ++full;
          EXPECT_EQ(error.code(), ErrorCode::tape_full) << error.what();
          EXPECT_NE(std::string(error.what()).find("steps_memory_test.cc"), std::string::npos)
              << error.what();
        }
        EXPECT_LE(most_allocated - before - own - 3 * results, with_rounding(memory))
            << memory << " " << rounds;
        EXPECT_LE(tape.peak_bytes().count, memory);
      };
      held_by(0, [&] { tape.reverse_lanes<16>(seeds); });
      held_by(2 * 16 * n * sizeof(double), [&] { tape.jacobian(std::span<const Real>(u).first(16), {}); });
      std::int64_t entries = n * n;
      SparsePattern pattern;
      held_by(0, [&] { EXPECT_EQ(tape.widest_lanes() % 4, 0u); });
      held_by(entries * 4 + 48 * n, [&] { pattern = detect_pattern(tape, u); });
      held_by(entries * 4 + 48 * n, [&] { pattern = detect_pattern_by_bits(tape, u); });
      if (pattern.rows == n)
        held_by(0, [&] { EXPECT_FALSE(outside_pattern(tape, u, pattern, std::source_location::current())); });
    }
  EXPECT_GT(full, 0);
  EXPECT_GT(done, 20);
}

// A ring for farther operands is made when the shorter one has gone, which shows where a recording leaves
// little room.
TEST(TapeMemory, HasOneRingAtATime) {
  constexpr std::int64_t memory = 1 << 20;
  std::vector<Real> chain(100000);
  bool full = false;
  for (std::size_t count = 80000; count < chain.size(); count += 1000) {
    const std::int64_t before = allocated;
    most_allocated = before;
    Tape tape({.memory = Bytes(memory)});
    try {
      for (const std::size_t distance : {std::size_t{3900}, std::size_t{13000}}) {
        tape.clear();
        chain[0] = tape.input(1);
        for (std::size_t i = 1; i < count; ++i) {
          const Real &near = chain[i - 1], &far = chain[i > distance ? i - distance : 0];
          if (i > distance)
            chain[i] = near * (0.999 + 1e-9 * static_cast<double>(i)) + far * 1e-4;
          else
            chain[i] = near * 0.999;
        }
        tape.reverse(chain[count - 1]);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::tape_full);
      full = true;
    }
    EXPECT_LE(most_allocated - before, memory + memory / 512) << count;
    EXPECT_LE(tape.peak_bytes().count, memory);
  }
  EXPECT_TRUE(full);
}

// Each leaves a gap, by which Reals that were forgotten are known.
TEST(TapeMemory, RewindsOfACheckedTapeAreCounted) {
  Tape tape({.memory = Bytes(128 << 10), .check = true});
  const Real x = tape.input(1);
  EXPECT_EQ(testing::code_of([&] {
              for (int i = 0; i < 100000; ++i) {
                const auto mark = tape.mark();
                const Real y = x * 0.5;
                EXPECT_EQ(y.value(), 0.5);
                tape.rewind(mark);
              }
            }),
            ErrorCode::tape_full);
  EXPECT_LE(tape.peak_bytes().count, 128 << 10);
}

// Whichever allocation fails, the tape goes on when there is memory again.
TEST(TapeMemory, ATapeOutlivesAnAllocationThatFails) {
  int failures = 0;
  for (const std::int64_t memory : {std::int64_t{-1}, std::int64_t{1} << 20})
    for (int left = 0;; ++left) {
      Tape tape({.memory = Bytes(memory)});
      const auto gradient = [&] {
        tape.clear();
        const Real x = tape.input(0.5);
        std::vector<Real> u(20, x);
        tape.steps(30, u, [](std::span<Real> v, std::int64_t) { diffuse(v, 0.01); });
        for (int i = 0; i < 3000; ++i) u[7] = u[7] * x + 0.25;
        tape.reverse(u[7]);
        return tape.gradient(x);
      };
      allocations_left = left;
      try {
        gradient();
      } catch (const std::bad_alloc&) {
        ++failures;
      }
      const bool all = allocations_left >= 0;
      allocations_left = -1;
      static const double expected = gradient();
      EXPECT_EQ(gradient(), expected) << left;
      if (all) break;
    }
  EXPECT_GT(failures, 20);
}

// What is not in chunks: events hold what their reversal needs, inputs have a list.
TEST(TapeMemory, EventsAndInputsAreCountedBeforeTheyAreMade) {
  for (const std::int64_t memory : {64 << 10, 1 << 20})
    for (const bool inputs : {false, true}) {
      const std::vector<double> matrix = {1, 0.5, 0.5, 2};
      const std::int64_t before = allocated;
      most_allocated = before;
      Tape tape({.memory = Bytes(memory)});
      std::vector<Real> u = {tape.input(1), tape.input(2)};
      EXPECT_EQ(testing::code_of([&] {
                  for (int i = 0; i < 1000000; ++i)
                    if (inputs)
                      tape.input(1);
                    else
                      u = solve(matrix, u);
                }),
                ErrorCode::tape_full);
      EXPECT_LE(tape.peak_bytes().count, memory);
      EXPECT_LE(tape.bytes().count, memory);
      EXPECT_LE(most_allocated - before, inputs ? with_rounding(memory) : 2 * memory);  // of small things
      tape.reverse(u[1]);
      EXPECT_LE(tape.peak_bytes().count, memory);
    }
}

// While the size of a step that does not fit is learnt, its statements are written over each other, in chunks
// of several sizes.
TEST(StepsMemory, LargeStatementsBehindManySmallOnesAreRefused) {
  Tape tape({.memory = Bytes(192 << 10)});
  const std::vector<double> ones(1000, 1.0), slopes(1000, 0.5);
  std::vector<Real> u = tape.inputs(ones);
  EXPECT_EQ(testing::code_of([&] {
              tape.steps(3, u, [&tape, slopes](std::span<Real> v, std::int64_t) {
                v[0] = tape.statement(1, v, slopes);
                for (int i = 0; i < 100000; ++i) v[1] = v[1] * 0.5 + v[0] * v[1];
                v[0] = tape.statement(1, v, slopes);
              });
            }),
            ErrorCode::infeasible_budget);
  tape.reverse(u[0]);
  EXPECT_EQ(tape.gradient(u[0]), 1);
}

// Its memory is not made before a later step runs again, and has no chunks when that begins.
TEST(StepsMemory, AFirstStepThatRecordsNothing) {
  const auto run = [](std::int64_t memory) {
    Tape tape({.memory = Bytes(memory)});
    const Real x = tape.input(0.5);
    Real y = x;
    for (int i = 0; i < 3000; ++i) y = y * x + 0.5;  // several chunks
    std::vector<Real> u = {y, x};
    tape.steps(40, u, [&tape](std::span<Real> v, std::int64_t i) {
      if (i == 0) return;
      v[0] = tape.preaccumulate([&] {
        Real z = v[0];
        for (int k = 0; k < 30; ++k) z = z * v[1] + 0.25 * z;
        return z;
      });
      v[1] = v[1] * 0.75 + 0.125 * v[0];
    });
    tape.reverse(u[0] + u[1]);
    return tape.gradient(x);
  };
  const double expected = run(-1);
  EXPECT_NE(expected, 0);
  EXPECT_EQ(run(200 << 10), expected);
  EXPECT_EQ(run(1 << 20), expected);
}

}  // namespace
}  // namespace tidemark::scalars
