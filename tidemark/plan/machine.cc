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

// Two Neoverse cores at 2.6 GHz with 32 MiB of shared cache, as `tidemark machine` saw them, rounded: peak 166
// Gflop/s in f32, about 40 GB/s from memory. Elementwise arithmetic of one flop per element is bound by its bytes.
const Machine& reference_machine() {
  static const Machine machine = [] {
    const Curve bandwidth{{{16e3, 20e9}, {256e3, 40e9}, {4e6, 40e9}, {64e6, 18e9}}};
    const auto scaled = [](Curve curve, double factor) {
      for (Curve::Point& point : curve.points) point.rate *= factor;
      return curve;
    };
    Machine m{.name = "reference", .threads = 2, .memory_bytes = std::int64_t{16} << 30, .overhead = 1e-6};
    m.work.fill({.flops = {{{1e4, 10e9}, {1e6, 20e9}}}, .bytes = bandwidth});
    m[WorkKind::by_kind] = {};  // no op's work: cost_of says which it is
    m[WorkKind::contraction] = {.flops = {{{1e4, 10e9}, {1e6, 40e9}, {1e8, 120e9}}}, .bytes = bandwidth};
    m[WorkKind::convolution] = {.flops = {{{1e4, 5e9}, {1e6, 25e9}, {1e8, 80e9}}},
                                .bytes = scaled(bandwidth, 0.5)};
    m[WorkKind::depthwise] = {.flops = {{{1e4, 5e9}, {1e7, 20e9}}}, .bytes = bandwidth};
    m[WorkKind::attention] = {.flops = {{{1e4, 5e9}, {1e6, 20e9}, {1e8, 60e9}}}, .bytes = bandwidth};
    m[WorkKind::movement] = {.flops = {{{1e4, 10e9}}}, .bytes = scaled(bandwidth, 0.5)};
    m[WorkKind::indexed] = {.flops = {{{1e4, 5e9}}}, .bytes = scaled(bandwidth, 0.3)};
    m[WorkKind::random] = {.flops = {{{1e4, 5e9}}}, .bytes = scaled(bandwidth, 0.5)};
    m[WorkKind::sort] = {.flops = {{{1e4, 1e9}}}, .bytes = scaled(bandwidth, 0.5)};
    m[WorkKind::factorization] = {.flops = {{{1e4, 2e9}, {1e8, 40e9}}}, .bytes = bandwidth};
    m[WorkKind::opaque] = {.flops = {{{1e4, 10e9}, {1e6, 40e9}, {1e8, 120e9}}}, .bytes = bandwidth};
    return m;
  }();
  return machine;
}

}  // namespace tidemark
