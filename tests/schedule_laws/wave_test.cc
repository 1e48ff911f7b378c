// The wave equation of the examples by itself, before any schedule: its derivatives, its bits, its bytes.
#include "examples/wave.h"

#include <gtest/gtest.h>

#include "tests/schedule_laws/wave_case.h"
#include "tidemark/base/parallel.h"

namespace tidemark::testing {
namespace {

using wave::Field;
using wave::State;
using wave::Step;

static_assert(schedule::Stepper<wave::Stepper<float>, State<float>, wave::Adjoint<float>>);
static_assert(schedule::Snapshotter<State<double>> && schedule::Snapshotter<wave::Record<double>> &&
              schedule::Snapshotter<wave::Adjoint<double>>);

TEST(Wave, GradientPassesTheTaylorTest) {
  const WaveCase<double> test(80);
  const wave::Adjoint<double> adjoint = test.store_all();
  EXPECT_NEAR(adjoint.misfit, test.misfit(), 1e-12 * adjoint.misfit);
  EXPECT_NEAR(taylor_rate(test, adjoint), 2, 0.02);
}

TEST(Wave, AWrongGradientFailsTheTaylorTest) {
  const WaveCase<double> test(80);
  wave::Adjoint<double> adjoint = test.store_all();
  adjoint.courant2.at(8, 8) += 0.01 * adjoint.courant2.at(8, 8) + 1e-2;
  EXPECT_GT(std::abs(taylor_rate(test, adjoint) - 2), 0.02);
}

TEST(Wave, TheInitialStateHasItsDerivativesToo) {
  const WaveCase<double> test(40);
  const wave::Adjoint<double> adjoint = test.store_all();
  Field<double> now(wave_rows, wave_columns), before(wave_rows, wave_columns), keep(wave_rows, wave_columns);
  fill_noise(now, 7, 0, 1);
  fill_noise(before, 8, 0, 1);
  double slope = dot(adjoint.now, now);
  for (int y = 0; y < wave_rows; ++y)
    for (int x = 0; x < wave_columns; ++x) {
      const double keep = test.medium.keep_row[static_cast<std::size_t>(y)] *
                          test.medium.keep_column[static_cast<std::size_t>(x)];
      slope -= keep * keep * adjoint.later.at(y, x) * before.at(y, x);
    }
  const auto moved = [&](double h) {  // the misfit is quadratic in the state: central differences are exact
    WaveCase<double> other = test;
    for (int y = 0; y < wave_rows; ++y)
      for (int x = 0; x < wave_columns; ++x) {
        other.start.now.at(y, x) += h * now.at(y, x);
        other.start.before.at(y, x) += h * before.at(y, x);
      }
    return other.misfit();
  };
  EXPECT_NEAR((moved(0.5) - moved(-0.5)) / slope, 1, 1e-11);
}

template <class T>
void expect_the_same_bits() {
  const WaveCase<T> test(30);
  wave::Stepper<T> stepper = test.stepper();
  State<T> advanced = test.start, recorded = test.start;
  stepper.advance(advanced, {0, 30});
  for (Step i = 0; i < 30; ++i) stepper.record(recorded, i);
  EXPECT_TRUE(advanced == recorded);
}

TEST(Wave, AdvanceAndRecordGiveTheSameBits) {
  expect_the_same_bits<float>();
  expect_the_same_bits<double>();
}

TEST(Wave, ThreadsChangeNothing) {
  ThreadPool pool(3);
  wave::Medium<float> medium(3 * wave::strip_rows + 5, 40, 8);
  fill_noise(medium.courant2, 1, 0.2, 0.05);
  wave::Shot<float> shot{{50, 20}, wave::ricker<float>(25, 0.1), {{48, 18}, {66, 30}}, {}};
  shot.observed.assign(50, 0.01f);
  const auto gradient = [&](ThreadPool* threads) {
    wave::Stepper<float> stepper(medium, shot, threads);
    State<float> state(medium.courant2.rows(), medium.courant2.columns());
    wave::Adjoint<float> adjoint(medium.courant2.rows(), medium.courant2.columns());
    std::vector<wave::Record<float>> records;
    for (Step i = 0; i < 25; ++i) records.push_back(stepper.record(state, i));
    for (Step i = 25; i-- > 0;) stepper.reverse(records[static_cast<std::size_t>(i)], adjoint, i);
    return adjoint;
  };
  const wave::Adjoint<float> alone = gradient(nullptr);
  EXPECT_GT(alone.misfit, 0);
  EXPECT_TRUE(gradient(&pool) == alone);
}

TEST(Wave, StatesRecordsAndAdjointsSurviveAsBytes) {
  const WaveCase<double> test(12);
  State<double> state = test.start, state_again(wave_rows, wave_columns);
  std::vector<std::byte> bytes(state.size());
  EXPECT_EQ(bytes.size(), 2 * sizeof(double) * wave_rows * wave_columns);
  state.save(bytes);
  state_again.load(bytes);
  EXPECT_TRUE(state_again == state);

  const wave::Record<double> record = test.stepper().record(state, 0);
  wave::Record<double> record_again;
  bytes.resize(record.size());
  record.save(bytes);
  record_again.load(bytes);
  EXPECT_EQ(std::memcmp(record.data(), record_again.data(), record.size()), 0);

  const wave::Adjoint<double> adjoint = test.store_all();
  wave::Adjoint<double> adjoint_again(wave_rows, wave_columns);
  bytes.resize(adjoint.size());
  adjoint.save(bytes);
  adjoint_again.load(bytes);
  EXPECT_TRUE(adjoint_again == adjoint);
}

TEST(Wave, TheSpongeSwallowsWhatArrives) {
  const int n = 60;
  wave::Medium<double> open(n, n, 20), closed(n, n, 0);
  wave::Shot<double> shot{{n / 2, n / 2}, wave::ricker<double>(600, 0.04), {}, {}};
  const auto energy = [&](const wave::Medium<double>& medium) {
    State<double> state(n, n);
    wave::Stepper<double>(medium, shot).advance(state, {0, 600});
    return dot(state.now, state.now);
  };
  EXPECT_LT(energy(open), 1e-3 * energy(closed));
}

}  // namespace
}  // namespace tidemark::testing
