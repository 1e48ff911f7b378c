#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/support/errors.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

// A random program: each statement of a few earlier values, near and far.
std::vector<Real> random_program(std::vector<Real> values, int statements, std::size_t results,
                                 unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  const auto any = [&] {
    const std::size_t size = values.size();
    return values[random() % 4 != 0 && size > 10 ? size - 1 - random() % 10 : random() % size];
  };
  for (int i = 0; i < statements; ++i) {
    const Real a = any(), b = any(), c = any();
    switch (random() % 4) {
      case 0:
        values.push_back(a * 0.5 - b * (0.5 * number(random)));
        break;
      case 1:
        values.push_back((a * b + c) / (a * a + b * b + c * c + 1));
        break;
      case 2:
        values.push_back(a / (b * b + 2) - 0.1);
        break;
      default:
        values.push_back((a + b - c) * 0.3);
    }
    if (random() % 16 == 0) values.back() = values.back().value();
  }
  return {values.end() - static_cast<std::ptrdiff_t>(results), values.end()};
}

TEST(TapeLanes, RowsAreTheGradientsThatSweepsOneByOneGive) {
  for (const std::size_t count : {1, 2, 4, 5, 8, 9, 16, 17, 40})
    for (const int statements : {50, 3000}) {
      Tape tape;
      const std::vector<double> at = {0.5, -0.25, 1.5, 0.75, -1};
      const std::vector<Real> x = tape.inputs(at);
      const std::vector<Real> y = random_program(x, statements, count, static_cast<unsigned>(count));
      const Matrix rows = tape.jacobian(y, x);
      ASSERT_EQ(rows.rows, count);
      for (std::size_t i = 0; i < count; ++i) {
        tape.reverse(y[i]);
        const std::vector<double> slopes = tape.gradient(x);
        EXPECT_EQ(std::vector<double>(rows.row(i).begin(), rows.row(i).end()), slopes) << count << " " << i;
      }
    }
}

TEST(TapeLanes, SeedsOfARowAddUpAndRowsMayHaveNone) {
  Tape tape;
  const Real x = tape.input(2), y = tape.input(3);
  const Real z = x * y, passive = 4;
  const std::vector<Tape::RowSeed> seeds = {{z, 0, 1.0}, {z, 0, 2.0}, {x, 2, 1.0}, {x, 2, 1.0}, {passive, 1}};
  const Matrix rows = tape.reverse_rows(seeds, 3);
  EXPECT_EQ(rows.values, (std::vector<double>{9, 6, 0, 0, 2, 0}));
}

TEST(TapeLanes, NoResultsAndNoInputs) {
  Tape tape;
  EXPECT_EQ(tape.jacobian({}, {}).values.size(), 0u);
  const std::vector<Real> constants = {1, 2};
  EXPECT_EQ(tape.jacobian(constants, {}).rows, 2u);
  const std::vector<Real> x = {tape.input(1)};
  EXPECT_EQ(tape.jacobian({}, x).columns, 1u);
  EXPECT_EQ(tape.jacobian(constants, x).values, (std::vector<double>{0, 0}));
  EXPECT_THROW(tape.jacobian(x, constants), Error);
}

TEST(TapeLanes, ADirectionThatMeetsAnInfiniteSlopeHarmsNoOther) {
  Tape tape;
  const std::vector<Real> x = {tape.input(0.0), tape.input(2.0)};
  const Real inverse = 1 / x[0];
  const std::vector<Real> y = {inverse, x[1] * x[1], inverse + x[1]};
  const Matrix rows = tape.jacobian(y, x);
  EXPECT_TRUE(std::isinf(rows(0, 0)));
  EXPECT_EQ(rows(1, 0), 0);
  EXPECT_EQ(rows(1, 1), 4);
  EXPECT_EQ(rows(2, 1), 1);
}

struct Product final : Event<double> {
  Real a, b;
  Product(const Real& left, const Real& right) : a(left), b(right) {}
  void reverse(std::span<const double> results, AdjointSink<double>& operands) override {
    operands.add(a.id(), results[0] * b.value());
    operands.add(b.id(), results[0] * a.value());
    operands.add(a.id(), results[1]);
  }
};

TEST(TapeLanes, EventsAreCalledForEachLane) {
  Tape tape;
  const std::vector<Real> x = {tape.input(2), tape.input(5)};
  const Real u = x[0] * x[0];
  const std::vector<Real> operands = {u, x[1]};
  const std::vector<double> values = {20, 4};
  const std::vector<Real> y = tape.record_event(std::make_unique<Product>(u, x[1]), operands, values);
  const std::vector<Real> z = {y[0], y[1], y[0] * y[1], x[1]};
  EXPECT_EQ(tape.jacobian(z, x).values, (std::vector<double>{20, 4, 4, 0, 80 + 80, 16, 0, 1}));
}

// Steps run again once for all lanes; an event within them is called for each.
TEST(TapeLanes, AlongStepsThatRunAgain) {
  const auto run = [](TapeOptions options) {
    Tape tape(options);
    const std::vector<double> at = {0.5, -0.25, 1.5};
    const std::vector<Real> x = tape.inputs(at);
    std::vector<Real> u = x;
    tape.steps(3000, u, [](std::span<Real> v, std::int64_t i) {
      for (int k = 0; k < 20; ++k) v[0] = v[0] * 0.999 + v[1] * v[2] * 1e-4;
      v[1] = v[1] - v[0] * 1e-3;
      if (i == 2000) {
        const std::vector<Real> operands = {v[0], v[2]};
        const std::vector<double> values = {v[0].value() * v[2].value(), v[0].value()};
        v[2] = Tape::active() == nullptr
                   ? Real(values[0])
                   : Tape::active()->record_event(std::make_unique<Product>(v[0], v[2]), operands, values)[0];
      }
    });
    const Matrix rows = tape.jacobian(u, x);
    for (std::size_t i = 0; i < 3; ++i) {
      tape.reverse(u[i]);
      EXPECT_EQ(std::vector<double>(rows.row(i).begin(), rows.row(i).end()), tape.gradient(x));
    }
    return rows.values;
  };
  EXPECT_EQ(run({.memory = Bytes(1 << 20)}), run({}));
}

// Where there is no room for sixteen, fewer are taken, with the same bits.
TEST(TapeLanes, AMemoryHoldsLanesToo) {
  const auto rows_in = [](std::int64_t memory) {
    Tape tape({.memory = Bytes(memory)});
    const std::vector<Real> x = {tape.input(1)};
    std::vector<Real> y = x;
    for (int i = 0; i < 40; ++i) y.push_back(y.back() * 1.5);
    if (memory == 256 << 10) {
      EXPECT_EQ(tape.widest_lanes(), 4u);
      const std::vector<Tape::LaneSeed> seeds = {{y[0], 0, 1.0}, {y[1], 15, 1.0}};
      EXPECT_THROW(tape.reverse_lanes<16>(seeds), Error);
    }
    const Matrix rows = tape.jacobian(y, x);
    if (memory >= 0) {
      EXPECT_LE(tape.peak_bytes().count, memory);
    }
    return rows.values;
  };
  EXPECT_EQ(rows_in(256 << 10), rows_in(-1));
  EXPECT_EQ(rows_in(4 << 20), rows_in(-1));
}

TEST(TapeLanes, AThreadHasATapeOfItsOwn) {
  std::vector<std::thread> threads;
  std::vector<Matrix> rows(4);
  for (std::size_t i = 0; i < rows.size(); ++i)
    threads.emplace_back([&, i] {
      Tape tape;
      const std::vector<double> at = {0.5, -0.25, 1.5};
      const std::vector<Real> x = tape.inputs(at);
      rows[i] = tape.jacobian(random_program(x, 2000, 20, 7), x);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Matrix& other : rows) EXPECT_EQ(other.values, rows[0].values);
}

TEST(TapeLanes, SeedsBeyondTheLastLaneOrRowAreRefused) {
  Tape tape;
  const Real x = tape.input(2), y = x * x;
  const std::vector<Tape::LaneSeed> lane = {{y, 8}};
  EXPECT_EQ(testing::code_of([&] { tape.reverse_lanes<8>(lane); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(tape.reverse_lanes<16>(lane)[0][8], 4);
  const std::vector<Tape::RowSeed> row = {{y, 2}};
  EXPECT_EQ(testing::code_of([&] { tape.reverse_rows(row, 2); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(tape.reverse_rows(row, 3)(2, 0), 4);
}

}  // namespace
}  // namespace tidemark::scalars
