#include "tidemark/plan/machine.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/base/repeatable_math.h"
#include "tidemark/ir/target.h"

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
  const double t = repeatable::log(size / low->size) / repeatable::log(high->size / low->size);
  return low->rate * repeatable::pow(high->rate / low->rate, t);
}

double with_bytes(double computed, double overhead, double moving, bool overlaps) {
  return overlaps ? std::max(computed, overhead + moving) : computed + moving;
}

double seconds_of(const Machine& machine, const Cost& cost, DType dtype) {
  TM_CHECK(cost.work != WorkKind::by_kind, "a cost that does not say its work");
  const WorkRates& rates = machine[cost.work];
  if (cost.seconds > 0) return machine.overhead + cost.seconds;
  return seconds_of(rates, cost, dtype, machine.overhead, machine.overlaps);
}

double seconds_of(const WorkRates& rates, const Cost& cost, DType dtype, double overhead, bool overlaps) {
  double computed = overhead;
  if (cost.flops > 0) {
    const double as_f32 = cost.flops / (rates.speed[static_cast<std::size_t>(dtype)] * cost.speed);
    computed += as_f32 / rates.flops.at(as_f32);
  }
  const double moving = cost.bytes > 0 ? cost.bytes / rates.bytes.at(cost.bytes) : 0;
  return with_bytes(computed, overhead, moving, overlaps);
}

double seconds_of(const Machine& machine, const Target& target, const Call& call) {
  return seconds_of(machine, target.cost(call), arithmetic_dtype(call));
}

const Link* find_link(const Machine& machine, int from, int to) {
  const auto found = std::ranges::find_if(
      machine.links, [&](const Link& link) { return link.from == from && link.to == to; });
  return found == machine.links.end() ? nullptr : &*found;
}

const CodecRate* find_codec_rate(const Machine& machine, std::string_view codec) {
  const auto found = std::ranges::find(machine.codecs, codec, &CodecRate::codec);
  return found == machine.codecs.end() ? nullptr : &*found;
}

double seconds_of(const Link& link, double bytes, bool beside_compute) {
  return link.latency + bytes / (beside_compute ? link.beside_compute : link.bandwidth);
}

// Two cores of a Neoverse V1 at 2.6 GHz, as `tidemark machine` sees them in a release build, rounded: one
// core where calls are small, nearly twice its rates where they are large. Bandwidths are what the bytes add
// to the flops.
const Machine& reference_machine() {
  static const Machine machine = [] {
    const auto curve = [](std::initializer_list<Curve::Point> points) { return Curve{points}; };
    const Curve bytes = curve({{8e3, 1000e9}, {150e3, 380e9}, {3e6, 140e9}, {50e6, 70e9}});
    Machine m{.name = "reference", .threads = 2, .memory_bytes = std::int64_t{16} << 30, .overhead = 0.3e-6};
    m[WorkKind::elementwise] = {.flops = curve({{12e3, 7e9}, {150e3, 13e9}, {1.8e6, 33e9}, {20e6, 50e9}}),
                                .bytes = bytes};
    m[WorkKind::reduction] = {.flops = curve({{40e3, 7.5e9}, {800e3, 17e9}}), .bytes = bytes};
    m[WorkKind::rows] = {.flops = curve({{170e3, 25e9}, {2.7e6, 53e9}, {40e6, 58e9}}),
                         .bytes = curve({{8e3, 900e9}, {100e3, 580e9}, {1e6, 400e9}, {12e6, 240e9}})};
    m[WorkKind::contraction] = {
        .flops = curve({{1e3, 4e9}, {16e3, 28e9}, {250e3, 57e9}, {4e6, 127e9}, {60e6, 140e9}}),
        .bytes = curve({{1e3, 800e9}, {9e3, 260e9}, {100e3, 84e9}, {1.1e6, 58e9}, {12e6, 40e9}})};
    m[WorkKind::convolution] = {.flops = curve({{300e3, 34e9}, {7e6, 85e9}, {150e6, 118e9}}), .bytes = bytes};
    m[WorkKind::depthwise] = {.flops = curve({{600e3, 29e9}, {5e6, 35e9}}), .bytes = bytes};
    m[WorkKind::attention] = {.flops = curve({{140e3, 47e9}, {2e6, 105e9}, {25e6, 112e9}}), .bytes = bytes};
    m[WorkKind::movement] = {
        .flops = curve({{1, 1e9}}),
        .bytes = curve({{4e3, 16e9}, {50e3, 25e9}, {500e3, 75e9}, {6e6, 100e9}, {60e6, 88e9}})};
    m[WorkKind::indexed] = {.flops = curve({{35e3, 7e9}, {2.6e6, 14e9}}),
                            .bytes = curve({{3e3, 180e9}, {50e3, 75e9}, {800e3, 78e9}, {14e6, 90e9}})};
    m[WorkKind::random] = {.flops = curve({{65e3, 12e9}, {1.5e6, 30e9}, {30e6, 47e9}}), .bytes = bytes};
    m[WorkKind::sort] = {.flops = curve({{6e3, 2.6e9}, {500e3, 3.9e9}}), .bytes = bytes};
    m[WorkKind::factorization] = {.flops = curve({{20e3, 4.5e9}, {300e3, 8.5e9}, {5e6, 17e9}, {90e6, 40e9}}),
                                  .bytes = bytes};
    m[WorkKind::opaque] = {.flops = m[WorkKind::contraction].flops, .bytes = bytes};
    for (const WorkKind work : {WorkKind::contraction, WorkKind::opaque}) {
      m[work].speed[static_cast<std::size_t>(DType::f64)] = 0.4;
      m[work].speed[static_cast<std::size_t>(DType::bf16)] = 2.2;
      m[work].speed[static_cast<std::size_t>(DType::f16)] = 0.85;
    }
    // A drive of the same age on a bus of its own.
    m.further = {{.name = "disk", .bytes = std::int64_t{100} << 30}};
    m.links = {{.from = 0, .to = 0, .latency = 0.2e-6, .bandwidth = 12e9, .beside_compute = 6e9},
               {.from = 0, .to = 1, .latency = 60e-6, .bandwidth = 1.0e9, .beside_compute = 0.9e9},
               {.from = 1, .to = 0, .latency = 120e-6, .bandwidth = 2.0e9, .beside_compute = 1.8e9}};
    m.codecs = {{.codec = "bits", .encode = 1.5e9, .decode = 1.5e9}};
    return m;
  }();
  return machine;
}

}  // namespace tidemark
