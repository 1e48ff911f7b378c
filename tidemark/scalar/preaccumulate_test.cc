#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tidemark/scalar/functions.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

Real chain(Real u, const Real& a, int length) {
  for (int i = 0; i < length; ++i) u = u * 0.99 + a * u * 0.01 + 0.001 * sin(u);
  return u;
}

TEST(Preaccumulate, LeavesARowAndTheSameGradients) {
  const auto run = [](bool rows, std::size_t& statements) {
    Tape tape;
    const Real x = tape.input(0.5), a = tape.input(0.25);
    Real u = x * a;
    for (int step = 0; step < 10; ++step)
      u = rows ? tape.preaccumulate([&] { return chain(u, a, 100); }) : chain(u, a, 100);
    tape.reverse(u);
    statements = tape.statements();
    return std::array{u.value(), tape.gradient(x), tape.gradient(a)};
  };
  std::size_t all = 0, rows = 0;
  const auto expected = run(false, all), got = run(true, rows);
  EXPECT_EQ(rows, 2 + 1 + 10u);
  EXPECT_GT(all, 1000u);
  EXPECT_EQ(got[0], expected[0]);
  EXPECT_NEAR(got[1], expected[1], 1e-14);
  EXPECT_NEAR(got[2], expected[2], 1e-14);
}

TEST(Preaccumulate, SeveralResultsOfAnyKind) {
  for (const std::size_t count : {1, 2, 5, 16, 17, 40}) {
    Tape tape;
    const Real x = tape.input(0.5), a = tape.input(0.25);
    const auto both = [&] {
      std::vector<Real> results;
      Real u = x;
      for (std::size_t i = 0; i < count; ++i) {
        u = chain(u, a, 60);
        results.push_back(u);
      }
      return std::tuple(results, std::pair(u, Real(3)), std::array<Real, 2>{x, a * 1.0});
    };
    const auto [many, pair, two] = tape.preaccumulate(both);
    EXPECT_EQ(tape.statements(), 2 + count);
    EXPECT_EQ(pair.first.id(), many.back().id());
    EXPECT_EQ(pair.second.id(), 0u);
    EXPECT_EQ(two[0].id(), x.id());
    EXPECT_EQ(two[1].id(), a.id());
    const auto plain = std::get<0>(both());
    for (std::size_t i = 0; i < count; ++i) {
      tape.reverse(many[i]);
      const double by_x = tape.gradient(x), by_a = tape.gradient(a);
      tape.reverse(plain[i]);
      EXPECT_NEAR(by_x, tape.gradient(x), 1e-13);
      EXPECT_NEAR(by_a, tape.gradient(a), 1e-13);
    }
  }
}

TEST(Preaccumulate, StatementsThatAreSmallerStay) {
  Tape tape;
  const std::vector<double> at(50, 1.5);
  const std::vector<Real> x = tape.inputs(at);
  const std::vector<Real> y = tape.preaccumulate([&] {
    std::vector<Real> sums;
    Real all = 0;
    for (const Real& each : x) all += each * each;
    for (int i = 0; i < 50; ++i) sums.push_back(all * (i + 2));
    return sums;
  });
  EXPECT_GT(tape.statements(), 140u);
  tape.reverse(y[1]);
  EXPECT_EQ(tape.gradient(x[3]), 9);
}

TEST(Preaccumulate, EventsAndInputsInsideStay) {
  Tape tape;
  const Real x = tape.input(2);
  Real inner;
  const Real y = tape.preaccumulate([&] {
    inner = tape.input(3);
    return chain(x * inner, x, 100);
  });
  tape.reverse(y);
  EXPECT_NE(tape.gradient(inner), 0);
  EXPECT_NE(tape.gradient(x), 0);
}

TEST(Preaccumulate, WithinItself) {
  Tape tape;
  const Real x = tape.input(0.5), a = tape.input(0.25);
  const Real y = tape.preaccumulate([&] {
    Real u = x;
    for (int i = 0; i < 5; ++i) u = tape.preaccumulate([&] { return chain(u, a, 50); }) + a;
    return u;
  });
  EXPECT_EQ(tape.statements(), 3u);
  tape.reverse(y);
  const double by_x = tape.gradient(x), by_a = tape.gradient(a);
  Real u = x;
  for (int i = 0; i < 5; ++i) u = chain(u, a, 50) + a;
  tape.reverse(u);
  EXPECT_NEAR(by_x, tape.gradient(x), 1e-13);
  EXPECT_NEAR(by_a, tape.gradient(a), 1e-13);
}

TEST(Preaccumulate, PassiveScopesAndScopesOfNothing) {
  Tape tape;
  const Real x = tape.input(2);
  EXPECT_EQ(tape.preaccumulate([&] { return Real(4); }).id(), 0u);
  EXPECT_EQ(tape.preaccumulate([&] { return x; }).id(), x.id());
  EXPECT_TRUE(tape.preaccumulate([&] { return std::vector<Real>(); }).empty());
  const Real zero = tape.preaccumulate([&] {
    const Real y = chain(x, x, 10);
    return y - y;
  });
  EXPECT_EQ(zero.value(), 0);
  EXPECT_EQ(zero.id(), 0u);
  EXPECT_EQ(tape.statements(), 1u);
}

// The scope's statements fill several chunks, and its operands are near and far.
TEST(Preaccumulate, OverChunks) {
  Tape tape;
  const Real x = tape.input(0.5), a = tape.input(0.25);
  const Real far = chain(x, a, 100000);
  const Real y = tape.preaccumulate([&] { return chain(far * x, far, 50000) + x; });
  const Id count = tape.statements();
  EXPECT_LT(count, 400000u);
  const Real z = y * 2;
  EXPECT_EQ(tape.statements(), count + 1);
  tape.reverse(z);
  const double by_x = tape.gradient(x);
  const Real plain = (chain(far * x, far, 50000) + x) * 2;
  tape.reverse(plain);
  EXPECT_NEAR(by_x, tape.gradient(x), 1e-9 * std::abs(by_x));
}

// Rows of every length, where heads count in one byte, in two and in four, of slopes of 1 and others.
TEST(Preaccumulate, RowsOfAnyLength) {
  for (const std::size_t ones : {0, 1, 2, 7, 8, 200, 255, 256, 300})
    for (const std::size_t others : {0, 1, 6, 7, 254, 255, 256, 3000}) {
      Tape tape;
      const std::vector<double> at(ones + others, 1);
      const std::vector<Real> x = tape.inputs(at);
      std::vector<double> slopes(ones + others, 1);
      for (std::size_t i = 0; i < others; ++i) slopes[i] = 2.0 + static_cast<double>(i);
      const Real y = tape.statement(5, x, slopes);
      EXPECT_EQ(y.value(), 5);
      const Real z = y * 3 + y;
      if (ones + others == 0) {
        EXPECT_EQ(y.id(), 0u);
        continue;
      }
      tape.reverse(z);
      for (double& slope : slopes) slope *= 4;
      EXPECT_EQ(tape.gradient(x), slopes) << ones << " " << others;
      const std::vector<Real> results = {z};
      EXPECT_EQ(tape.jacobian(results, x).values, slopes);
    }
  Tape tape;
  const std::vector<Real> x = {tape.input(1)};
  EXPECT_THROW(tape.statement(1, x, {}), Error);
}

TEST(Preaccumulate, WithinAMemory) {
  Tape tape({.memory = Bytes(512 << 10)});
  const Real x = tape.input(0.5), a = tape.input(0.25);
  Real u = x;
  for (int i = 0; i < 2000; ++i) u = tape.preaccumulate([&] { return chain(u, a, 100) + x; });
  tape.reverse(u);
  EXPECT_LE(tape.peak_bytes().count, 512 << 10);
  EXPECT_NE(tape.gradient(a), 0);
}

// In steps that run again, where states have taken all the memory there is.
TEST(Preaccumulate, WithinStepsHasTheSameBitsInEveryMemory) {
  const auto run = [](std::int64_t memory) {
    Tape tape({.memory = Bytes(memory)});
    const Real x = tape.input(0.5), a = tape.input(0.25);
    std::vector<Real> u(20, x);
    tape.steps(400, u, [&tape, a](std::span<Real> v, std::int64_t i) {
      for (std::size_t k = 0; k < v.size(); ++k)
        v[k] = tape.preaccumulate([&] { return chain(v[k], a + 0.1 * v[(k + 1) % v.size()], 40) * 0.9; }) +
               0.001 * static_cast<double>(i % 3);
    });
    tape.reverse(u[7]);
    return std::array{u[7].value(), tape.gradient(x), tape.gradient(a)};
  };
  const auto expected = run(-1);
  for (const std::int64_t memory : {128 << 10, 200 << 10, 1 << 20, 16 << 20})
    EXPECT_EQ(run(memory), expected) << memory;
}

// Loops are events within a memory: they stay what they are without one, too.
TEST(Preaccumulate, AroundStepsHasTheSameBitsInEveryMemory) {
  const auto run = [](std::int64_t memory) {
    Tape tape({.memory = Bytes(memory)});
    const std::vector<Real> x = tape.inputs(std::vector<double>{0.3, 0.2});
    const Real p = tape.input(0.7);
    const auto marched = [&tape, p](std::vector<Real> u) {
      return tape.preaccumulate([&] {
        tape.steps(50, u, [p](std::span<Real> v, std::int64_t) {
          v[0] = v[0] + 0.1 * sin(v[1] * p);
          v[1] = v[1] * 0.99 + 0.1 * v[0] * p;
        });
        return Real(u[0] * u[1]);
      });
    };
    std::vector<Real> outer = {marched(x), x[1]};
    tape.steps(3, outer, [marched](std::span<Real> v, std::int64_t) { v[0] = marched({v[0], v[1]}); });
    tape.reverse(outer[0] * outer[0] * x[0]);
    return std::vector<double>{tape.gradient(x[0]), tape.gradient(x[1]), tape.gradient(p)};
  };
  const std::vector<double> expected = run(-1);
  for (const std::int64_t memory : {128 << 10, 300 << 10, 4 << 20})
    EXPECT_EQ(run(memory), expected) << memory;
}

}  // namespace
}  // namespace tidemark::scalars
