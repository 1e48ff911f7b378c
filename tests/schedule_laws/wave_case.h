// A small experiment with sound on which the laws of schedules are tried: a lens in a medium, one source, a
// line of receivers, and observations that the starting medium does not explain.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "examples/wave.h"

namespace tidemark::testing {

inline constexpr int wave_rows = 22, wave_columns = 19;
inline constexpr int wave_sponge = 4;

// In [-1, 1), from a seed and an index.
inline double noise(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15u + index * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

template <class T>
void fill_noise(wave::Field<T>& field, std::uint64_t seed, double centre, double swing) {
  for (int y = 0; y < field.rows(); ++y)
    for (int x = 0; x < field.columns(); ++x)
      field.at(y, x) =
          static_cast<T>(centre + swing * noise(seed, static_cast<std::uint64_t>(y * field.columns() + x)));
}

template <class T>
struct WaveCase {
  explicit WaveCase(wave::Step steps)
      : steps(steps), medium(wave_rows, wave_columns, wave_sponge), start(wave_rows, wave_columns) {
    fill_noise(medium.courant2, 1, 0.2, 0.05);
    fill_noise(start.now, 2, 0, 0.1);
    fill_noise(start.before, 3, 0, 0.1);
    shot.source = {6, 9};
    shot.wavelet = wave::ricker<T>(steps, 0.06);
    for (int x = 1; x < wave_columns; x += 3) shot.receivers.push_back({4, x});
    for (std::size_t i = 0; i < static_cast<std::size_t>(steps) * shot.receivers.size(); ++i)
      shot.observed.push_back(static_cast<T>(0.1 * noise(4, i)));
  }

  wave::Stepper<T> stepper(ThreadPool* pool = nullptr) const { return wave::Stepper<T>(medium, shot, pool); }

  // The misfit by running forward alone.
  double misfit() const {
    wave::Stepper<T> forward = stepper();
    wave::State<T> state = start;
    std::vector<T> heard(shot.receivers.size());
    double sum = 0;
    for (wave::Step i = 0; i < steps; ++i) {
      forward.advance(state, {i, i + 1});
      forward.hear(state, heard.data());
      for (std::size_t r = 0; r < heard.size(); ++r) {
        const double residual =
            static_cast<double>(heard[r] - shot.observed[static_cast<std::size_t>(i) * heard.size() + r]);
        sum += 0.5 * residual * residual;
      }
    }
    return sum;
  }

  // The gradient with every record in memory and no schedule at all.
  wave::Adjoint<T> store_all(ThreadPool* pool = nullptr) const {
    wave::Stepper<T> stepper = this->stepper(pool);
    wave::State<T> state = start;
    std::vector<wave::Record<T>> records;
    for (wave::Step i = 0; i < steps; ++i) records.push_back(stepper.record(state, i));
    wave::Adjoint<T> adjoint(wave_rows, wave_columns);
    for (wave::Step i = steps; i-- > 0;) stepper.reverse(records[static_cast<std::size_t>(i)], adjoint, i);
    return adjoint;
  }

  wave::Step steps;
  wave::Medium<T> medium;
  wave::State<T> start;
  wave::Shot<T> shot;
};

// Of <gradient, direction>.
template <class T>
double dot(const wave::Field<T>& a, const wave::Field<T>& b) {
  double sum = 0;
  for (int y = 0; y < a.rows(); ++y)
    for (int x = 0; x < a.columns(); ++x)
      sum += static_cast<double>(a.at(y, x)) * static_cast<double>(b.at(y, x));
  return sum;
}

// The order in h of misfit(courant2 + h d) - misfit(courant2) - h <gradient, d>, from the last halving of h:
// 2 for a true gradient, 1 for any other.
inline double taylor_rate(const WaveCase<double>& at, const wave::Adjoint<double>& adjoint) {
  wave::Field<double> direction(wave_rows, wave_columns);
  fill_noise(direction, 5, 0.3, 1);
  const double slope = dot(adjoint.courant2, direction);
  double remainder[2];
  for (int k = 0; k < 2; ++k) {
    const double h = 1e-4 / (1 << k);
    WaveCase<double> moved = at;
    for (int y = 0; y < wave_rows; ++y)
      for (int x = 0; x < wave_columns; ++x) moved.medium.courant2.at(y, x) += h * direction.at(y, x);
    remainder[k] = std::abs(moved.misfit() - adjoint.misfit - h * slope);
  }
  return std::log2(remainder[0] / remainder[1]);
}

}  // namespace tidemark::testing
