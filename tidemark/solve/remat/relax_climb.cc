// The search for good prices.
#include <algorithm>

#include "tidemark/solve/never.h"
#include "tidemark/solve/remat/relax.h"

namespace tidemark {
namespace {

constexpr double no_cost = 1e9;  // in costs of all tasks: no sequence is that long

}  // namespace

// The volume algorithm (Barahona & Anbil 2000): steps along a mean of past slopes, from the best prices so
// far.
void RematRelaxation::climb(std::int64_t rounds, double target, SearchControl* control) {
  constexpr int patience = 20, period = 100;
  constexpr std::int64_t visits_a_unit = 100;
  prices_ = best_prices_;
  best_ = std::max(best_, evaluate());
  Prices mean = slope_;
  double weight = 0.1, pace = 1, reference = best_;
  int failures = 0;
  for (std::int64_t round = 1; round < rounds && best_ < never; ++round) {
    const double length = length_of(mean);
    if (!(length > 1e-24)) break;
    const double aim = std::min(target, std::max(best_ * 1.05, best_ + 5e-4)) - best_;
    const double step = pace * std::max(aim, 1e-7) / length;
    for (std::size_t i = 0; i < mean.memory.size(); ++i) {
      prices_.memory[i] = std::max(0.0, best_prices_.memory[i] + step * mean.memory[i] / memory_scale_);
    }
    for (std::size_t i = 0; i < mean.operand.size(); ++i) {
      prices_.operand[i] = std::max(0.0, best_prices_.operand[i] + step * mean.operand[i]);
    }
    const double value = evaluate();
    if (control && control->spent(1 + size() / visits_a_unit)) break;
    const double agreement = blend(mean, weight);
    if (value > best_) {
      best_ = value;
      std::swap(best_prices_, prices_);
      failures = 0;
      if (agreement > 0) pace = std::min(2.0, pace * 1.1);
    } else if (++failures >= patience) {
      failures = 0;
      pace = std::max(5e-4, pace * 0.66);
    }
    if (round % period == 0) {
      if (best_ < reference * (1 + 1e-5) + 1e-12 && weight < 0.003) break;
      if (best_ < reference * 1.01) weight = std::max(0.002, weight / 2);
      reference = best_;
    }
    if (best_ > no_cost) best_ = never;
  }
}

double RematRelaxation::improve(std::int64_t work, double target, SearchControl* control) {
  const auto rounds = [](std::int64_t visits, std::size_t each) {
    return std::max<std::int64_t>(1, visits / std::max<std::int64_t>(1, static_cast<std::int64_t>(each)));
  };
  target /= scale_;
  if (!links_.empty()) {
    // Most of the bound is the budget's rows: price them first, at a fraction of the price.
    operands_ = false;
    climb(std::min<std::int64_t>(rounds(work / 3, again_.size()), 600), target, control);
    operands_ = true;
  }
  climb(rounds(work, static_cast<std::size_t>(size())), target, control);
  return bound();
}

// Of the part that may be followed: prices are not negative.
double RematRelaxation::length_of(const Prices& mean) const {
  double length = 0;
  const auto add = [&](const std::vector<double>& m, const std::vector<double>& price) {
    for (std::size_t i = 0; i < m.size(); ++i) {
      if (m[i] > 0 || price[i] > 0) length += m[i] * m[i];
    }
  };
  add(mean.memory, best_prices_.memory);
  add(mean.operand, best_prices_.operand);
  return length;
}

// Moves the mean towards the slope at hand, as far as makes it shortest but at most by `weight`; returns how
// far they agreed.
double RematRelaxation::blend(Prices& mean, double weight) const {
  double agreement = 0, mean_length = 0, slope_length = 0;
  const auto measure = [&](const std::vector<double>& m, const std::vector<double>& slope) {
    for (std::size_t i = 0; i < m.size(); ++i) {
      agreement += m[i] * slope[i];
      mean_length += m[i] * m[i];
      slope_length += slope[i] * slope[i];
    }
  };
  measure(mean.memory, slope_.memory);
  measure(mean.operand, slope_.operand);
  const double apart = mean_length + slope_length - 2 * agreement;
  const double part = apart > 0 ? std::clamp((mean_length - agreement) / apart, weight / 10, weight) : weight;
  const auto move = [&](std::vector<double>& m, const std::vector<double>& slope) {
    for (std::size_t i = 0; i < m.size(); ++i) m[i] += part * (slope[i] - m[i]);
  };
  move(mean.memory, slope_.memory);
  move(mean.operand, slope_.operand);
  return agreement;
}

}  // namespace tidemark
