#include <algorithm>
#include <cmath>

#include "tidemark/cpu/fit_profiles.h"

namespace tidemark {
namespace {

constexpr double smooth_weight = 0.5;  // neighbours of a curve move together unless there is a reason
constexpr double hold_weight = 0.02;   // and not without one

// Corrections to the rates of a machine, in logarithms, point by point of its curves.
class Refit {
 public:
  Refit(const WorkRates& base, std::span<const Measurement> measurements, double overhead, bool overlaps)
      : base_(base), rates_(base), measurements_(measurements), overhead_(overhead), overlaps_(overlaps) {
    Move all;  // a machine that is slower or faster as a whole
    for (auto* curve : {&rates_.flops, &rates_.bytes}) {
      for (Curve::Point& point : curve->points) all.values.push_back(&point.rate);
    }
    moves_.push_back(std::move(all));
    add_moves(rates_.flops.points);
    add_moves(rates_.bytes.points);
    // Without f32 beside it, the speed of a dtype and the rate of f32 are one unknown: the rate takes it.
    const bool has_f32 = std::ranges::count(measurements, DType::f32, &Measurement::dtype) > 0;
    for (std::size_t t = 1; has_f32 && t < dtype_count; ++t) {
      if (std::ranges::count(measurements, static_cast<DType>(t), &Measurement::dtype) > 0)
        moves_.push_back({{&rates_.speed[t]}});
    }
  }

  WorkRates run() {
    constexpr int rounds = 120;
    for (int round = 0; round < rounds; ++round) {
      bool moved = false;
      for (Move& move : moves_) moved |= improve(move);
      if (!moved) break;
    }
    limit(rates_.flops);
    limit(rates_.bytes);
    return rates_;
  }

 private:
  struct Move {
    std::vector<double*> values;
    double step = 0.7;  // in the logarithm; grows while it helps, shrinks when neither direction does
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

  static double penalty(const Curve& now, const Curve& base) {
    double sum = 0, last = 0;
    for (std::size_t i = 0; i < now.points.size(); ++i) {
      const double correction = std::log(now.points[i].rate / base.points[i].rate);
      sum += hold_weight * correction * correction;
      if (i > 0) sum += smooth_weight * (correction - last) * (correction - last);
      last = correction;
    }
    return sum;
  }

  double loss() const {
    double sum = penalty(rates_.flops, base_.flops) + penalty(rates_.bytes, base_.bytes);
    for (std::size_t t = 0; t < dtype_count; ++t) {
      const double correction = std::log(rates_.speed[t] / base_.speed[t]);
      sum += hold_weight * correction * correction;
    }
    for (const Measurement& m : measurements_) {
      const double error = std::log(seconds_of(rates_, m.cost, m.dtype, overhead_, overlaps_) / m.seconds);
      sum += std::sqrt(1e-3 + error * error);
    }
    return sum;
  }

  // Was there a way, or might a smaller step be one?
  bool improve(Move& move) {
    constexpr double smallest_step = 1e-3, widest = 1e4;
    if (move.step < smallest_step) return false;
    const double before = loss();
    for (const double factor : {std::exp(move.step), std::exp(-move.step)}) {
      for (double* value : move.values) *value *= factor;
      if (loss() < before && within(widest)) {
        move.step = std::min(1.5 * move.step, 1.0);
        return true;
      }
      for (double* value : move.values) *value /= factor;
    }
    move.step *= 0.5;
    return true;
  }

  // No measurement moves a rate by more than this factor, however odd it is.
  bool within(double factor) const {
    const auto near = [&](double now, double base) { return now < factor * base && base < factor * now; };
    for (std::size_t i = 0; i < rates_.flops.points.size(); ++i) {
      if (!near(rates_.flops.points[i].rate, base_.flops.points[i].rate)) return false;
    }
    for (std::size_t i = 0; i < rates_.bytes.points.size(); ++i) {
      if (!near(rates_.bytes.points[i].rate, base_.bytes.points[i].rate)) return false;
    }
    return std::ranges::equal(rates_.speed, base_.speed, near);
  }

  // More work must not take less time, whatever the noise said.
  static void limit(Curve& curve) {
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const Curve::Point& last = curve.points[i - 1];
      Curve::Point& point = curve.points[i];
      point.rate = std::min(point.rate, last.rate * (point.size / last.size));
    }
  }

  const WorkRates& base_;
  WorkRates rates_;
  std::span<const Measurement> measurements_;
  double overhead_;
  bool overlaps_;
  std::vector<Move> moves_;
};

}  // namespace

WorkRates refit_rates(const WorkRates& base, std::span<const Measurement> measurements, double overhead,
                      bool overlaps) {
  if (measurements.empty()) return base;
  return Refit(base, measurements, overhead, overlaps).run();
}

}  // namespace tidemark
