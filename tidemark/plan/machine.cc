#include "tidemark/plan/machine.h"

#include <algorithm>
#include <cmath>

#include "tidemark/base/check.h"

namespace tidemark {
DType arithmetic_dtype(const Call& call) {
  for (const Type& type : call.in) {
    if (is_float(type.dtype)) return type.dtype;
  }
  for (const Type& type : call.out) {
    if (is_float(type.dtype)) return type.dtype;
  }
  if (!call.in.empty()) return call.in[0].dtype;
  return call.out.empty() ? DType::f32 : call.out[0].dtype;
}

double Curve::at(double size) const {
  if (size <= points.front().size) return points.front().rate;
  if (size >= points.back().size) return points.back().rate;
  const auto high = std::upper_bound(points.begin(), points.end(), size,
                                     [](double s, const Point& point) { return s < point.size; });
  const auto low = high - 1;
  const double t = std::log(size / low->size) / std::log(high->size / low->size);
  return low->rate * std::pow(high->rate / low->rate, t);
}

double seconds_of(const Machine& machine, const Cost& cost, DType dtype) {
  TM_CHECK(cost.work != WorkKind::by_kind, "a cost that does not say its work");
  const WorkRates& rates = machine[cost.work];
  if (cost.seconds > 0) return machine.overhead + cost.seconds;
  double seconds = machine.overhead;
  if (cost.flops > 0) {
    seconds += cost.flops / (rates.flops.at(cost.flops) * rates.speed[static_cast<std::size_t>(dtype)]);
  }
  if (cost.bytes > 0) seconds += cost.bytes / rates.bytes.at(cost.bytes);
  return seconds;
}

double seconds_of(const Machine& machine, const Call& call) {
  return seconds_of(machine, cost_of(call), arithmetic_dtype(call));
}

// Two cores of a Neoverse V1 at 2.6 GHz, as `tidemark machine` sees them in a release build, rounded: one core where
// calls are small, nearly twice its rates where they are large. Bandwidths are what the bytes add to the flops.
const Machine& reference_machine() {
  static const Machine machine = [] {
    const auto curve = [](std::initializer_list<Curve::Point> points) { return Curve{points}; };
    const Curve bytes = curve({{8e3, 600e9}, {150e3, 350e9}, {3e6, 200e9}, {50e6, 60e9}});
    Machine m{.name = "reference", .threads = 2, .memory_bytes = std::int64_t{16} << 30, .overhead = 0.5e-6};
    m[WorkKind::elementwise] = {.flops = curve({{20e3, 7e9}, {400e3, 13e9}}), .bytes = bytes};
    m[WorkKind::reduction] = {.flops = curve({{20e3, 7e9}, {400e3, 13e9}}), .bytes = bytes};
    m[WorkKind::rows] = {.flops = curve({{100e3, 18e9}, {2e6, 33e9}}), .bytes = bytes};
    m[WorkKind::contraction] = {
        .flops = curve({{1e3, 9e9}, {16e3, 30e9}, {250e3, 47e9}, {4e6, 100e9}, {100e6, 112e9}}),
        .bytes = curve({{1e3, 500e9}, {10e3, 200e9}, {100e3, 60e9}, {1e6, 40e9}, {12e6, 20e9}})};
    m[WorkKind::convolution] = {.flops = curve({{300e3, 14e9}, {7e6, 50e9}, {150e6, 88e9}}), .bytes = bytes};
    m[WorkKind::depthwise] = {.flops = curve({{100e3, 4.7e9}, {2e6, 9e9}}), .bytes = bytes};
    m[WorkKind::attention] = {.flops = curve({{140e3, 17e9}, {2e6, 50e9}, {500e6, 72e9}}), .bytes = bytes};
    m[WorkKind::movement] = {.flops = curve({{1, 1e9}}),
                             .bytes = curve({{4e3, 23e9}, {50e3, 27e9}, {500e3, 70e9}, {60e6, 60e9}})};
    m[WorkKind::indexed] = {.flops = curve({{4e3, 8.6e9}, {1e6, 15e9}}),
                            .bytes = curve({{3e3, 230e9}, {50e3, 100e9}, {800e3, 80e9}, {14e6, 35e9}})};
    m[WorkKind::random] = {.flops = curve({{100e3, 10e9}, {2e6, 19e9}}), .bytes = bytes};
    m[WorkKind::sort] = {.flops = curve({{100e3, 2e9}, {2e6, 3.8e9}}), .bytes = bytes};
    m[WorkKind::factorization] = {.flops = curve({{20e3, 4.5e9}, {300e3, 5.5e9}, {90e6, 40e9}}),
                                  .bytes = bytes};
    m[WorkKind::opaque] = {.flops = m[WorkKind::contraction].flops, .bytes = bytes};
    for (const WorkKind work : {WorkKind::contraction, WorkKind::opaque}) {
      m[work].speed[static_cast<std::size_t>(DType::f64)] = 0.4;
      m[work].speed[static_cast<std::size_t>(DType::f16)] = 0.5;
    }
    return m;
  }();
  return machine;
}

}  // namespace tidemark
