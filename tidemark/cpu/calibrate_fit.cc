#include "tidemark/cpu/calibrate_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

constexpr double knot_ratio = 24;  // sizes of neighbouring points, at most
constexpr double bend_weight = 0.1, fall_weight = 10;
constexpr double loose = 1e-3, tight = 0.05;  // how strongly a rate is held at its prior
constexpr double least_share = 0.05;          // of a time, once the overhead is taken off

double time_without(double overhead, const Measurement& m) {
  return std::max(m.seconds - overhead, least_share * m.seconds);
}

// The sizes at which a rate is asked for: the measured range in equal steps of its logarithm.
std::vector<double> knots(std::span<const Measurement> measurements, double Cost::*size) {
  double low = 0, high = 0;
  for (const Measurement& m : measurements) {
    const double s = m.cost.*size;
    if (s <= 0) continue;
    low = low == 0 ? s : std::min(low, s);
    high = std::max(high, s);
  }
  if (low == 0) return {1};
  const int steps = static_cast<int>(std::ceil(std::log(high / low) / std::log(knot_ratio) - 1e-9));
  std::vector<double> sizes;
  for (int i = 0; i <= steps; ++i) {
    sizes.push_back(steps == 0 ? low : low * std::pow(high / low, static_cast<double>(i) / steps));
  }
  return sizes;
}

class Fit {
 public:
  Fit(std::span<const Measurement> measurements, double overhead, const Curve& bandwidth, bool overlaps)
      : measurements_(measurements), overhead_(overhead), overlaps_(overlaps) {
    rates_.flops.points = start(&Cost::flops);
    rates_.bytes.points = start(&Cost::bytes);
    for (Curve::Point& point : rates_.flops.points) add(point.rate, loose);
    for (Curve::Point& point : rates_.bytes.points) {
      if (!bandwidth.points.empty()) point.rate = bandwidth.at(point.size);
      add(point.rate, bandwidth.points.empty() ? loose : tight);
    }
    std::array<bool, dtype_count> seen{true};  // f32
    for (const Measurement& m : measurements) {
      const auto t = static_cast<std::size_t>(m.dtype);
      if (std::exchange(seen[t], true)) continue;
      const double f32 = fastest(&Cost::flops, DType::f32), own = fastest(&Cost::flops, m.dtype);
      if (overlaps && f32 > 0 && own > 0) rates_.speed[t] = own / f32;
      add(rates_.speed[t], loose);
      moves_.push_back({{&rates_.speed[t]}});
    }
    add_moves(rates_.flops.points);
    add_moves(rates_.bytes.points);
  }

  WorkRates run() {
    constexpr int rounds = 300;
    for (int round = 0; round < rounds; ++round) {
      for (Move& move : moves_) improve(move);
    }
    limit_growth(rates_.flops);
    limit_growth(rates_.bytes);
    return rates_;
  }

 private:
  struct Parameter {
    double* value;
    double prior;  // its logarithm
    double weight;
  };
  void add(double& value, double weight) { parameters_.push_back({&value, std::log(value), weight}); }

  // Values that are raised or lowered together. Runs of neighbours, too: what a penalty ties together would
  // not move one by one.
  struct Move {
    std::vector<double*> values;
    double step = 1;  // in the logarithm; grows while it helps, shrinks when neither direction does
  };
  void add_moves(std::vector<Curve::Point>& points) {
    for (std::size_t begin = 0; begin < points.size(); ++begin) {
      Move move;
      for (std::size_t end = begin; end < points.size(); ++end) {
        move.values.push_back(&points[end].rate);
        moves_.push_back(move);
      }
    }
  }

  double fastest(double Cost::*size, std::optional<DType> dtype = {}) const {
    double rate = 0;
    for (const Measurement& m : measurements_) {
      if (!dtype || m.dtype == *dtype) rate = std::max(rate, m.cost.*size / time_without(overhead_, m));
    }
    return rate;
  }

  // No rate can be below what the fastest measurement reached on that count alone; start at twice that. Where
  // the longer of two times counts, at that itself, and for each dtype: what is never the longer would not
  // move.
  std::vector<Curve::Point> start(double Cost::*size) const {
    double rate = 2 * fastest(size);
    if (overlaps_) {
      const double of_f32 = fastest(size, DType::f32);
      rate = of_f32 > 0 ? of_f32 : fastest(size);
    }
    std::vector<Curve::Point> points;
    for (double s : knots(measurements_, size)) points.push_back({s, rate > 0 ? rate : 1e9});
    return points;
  }

  double predicted(const Measurement& m) const {
    return seconds_of(rates_, m.cost, m.dtype, overhead_, overlaps_);
  }

  static double bend(const Curve& curve) {
    double sum = 0;
    for (std::size_t i = 1; i + 1 < curve.points.size(); ++i) {
      const double second = std::log(curve.points[i - 1].rate * curve.points[i + 1].rate /
                                     (curve.points[i].rate * curve.points[i].rate));
      sum += second * second;
    }
    return sum;
  }

  static double fall(const Curve& curve) {
    double sum = 0;
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      sum += std::max(0.0, std::log(curve.points[i - 1].rate / curve.points[i].rate));
    }
    return sum;
  }

  double loss() const {
    double sum = bend_weight * (bend(rates_.flops) + bend(rates_.bytes)) + fall_weight * fall(rates_.flops);
    for (const Measurement& m : measurements_) {
      const double error = std::log(predicted(m) / m.seconds);
      sum += std::sqrt(0.01 + error * error);
    }
    for (const Parameter& p : parameters_) {
      const double off = std::log(*p.value) - p.prior;
      sum += p.weight * off * off;
    }
    return sum;
  }

  void improve(Move& move) {
    constexpr double smallest_step = 1e-3;
    const double before = loss();
    for (const double factor : {std::exp(move.step), std::exp(-move.step)}) {
      for (double* value : move.values) *value *= factor;
      if (loss() < before) {
        move.step *= 1.5;
        return;
      }
      for (double* value : move.values) *value /= factor;
    }
    move.step = std::max(0.5 * move.step, smallest_step);
  }

  // More work must not take less time, whatever the noise said.
  static void limit_growth(Curve& curve) {
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const Curve::Point& last = curve.points[i - 1];
      Curve::Point& point = curve.points[i];
      point.rate = std::min(point.rate, last.rate * (point.size / last.size));
    }
  }

  std::span<const Measurement> measurements_;
  double overhead_;
  bool overlaps_;
  WorkRates rates_;
  std::vector<Parameter> parameters_;
  std::vector<Move> moves_;
};

}  // namespace

WorkRates fit_rates(std::span<const Measurement> measurements, double overhead, const Curve& bandwidth,
                    bool overlaps) {
  TM_CHECK(!measurements.empty());
  return Fit(measurements, overhead, bandwidth, overlaps).run();
}

}  // namespace tidemark
