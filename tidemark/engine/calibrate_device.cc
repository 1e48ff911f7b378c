#include "tidemark/engine/calibrate_device.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <random>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/calibrate_fit.h"
#include "tidemark/engine/device_probes.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/runtime/executor.h"

namespace tidemark {
namespace {

constexpr int few = 4, most = 256;      // calls in a plan; fewer than a few are run in another way
constexpr double stretch = 2e-3;        // seconds that the calls of a plan should take
constexpr int warm_runs = 3;            // a device may put, record and then replay
constexpr double link_bytes = 1 << 28;  // in one copy

// Memory of the device with random numbers about 1, or indices.
class Operand {
 public:
  Operand(Device& device, const Type& type, std::int64_t index_limit)
      : device_(device),
        bytes_(std::max<std::int64_t>(type.bytes(), 1)),
        address_(device.allocate(0, bytes_)) {
    const std::vector<std::byte> page = numbers(type.dtype, index_limit);
    for (std::int64_t at = 0; at < type.bytes(); at += static_cast<std::int64_t>(page.size())) {
      device.write({address_.value + static_cast<std::uintptr_t>(at)}, page.data(),
                   std::min(type.bytes() - at, static_cast<std::int64_t>(page.size())));
    }
  }
  ~Operand() { device_.release(0, address_, bytes_); }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  Address address() const { return address_; }

 private:
  static std::vector<std::byte> numbers(DType dtype, std::int64_t index_limit) {
    constexpr std::size_t count = std::size_t{1} << 20;
    std::vector<std::byte> page(count * static_cast<std::size_t>(size_of(dtype)));
    std::mt19937 random(1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t bits = static_cast<std::uint32_t>(random());
      const auto store = [&](auto value) {
        std::memcpy(page.data() + i * sizeof(value), &value, sizeof(value));
      };
      const double real = 0.25 + static_cast<double>(bits % 1024) / 1024;
      const std::int64_t index = bits % index_limit;
      switch (dtype) {
        case DType::f32:
          store(static_cast<float>(real));
          break;
        case DType::f64:
          store(real);
          break;
        case DType::bf16:  // ±[0.5, 1)
          store(static_cast<std::uint16_t>((bits & 0x807f) | 0x3f00));
          break;
        case DType::f16:
          store(static_cast<std::uint16_t>((bits & 0x83ff) | 0x3800));
          break;
        case DType::i32:
          store(static_cast<std::int32_t>(index));
          break;
        case DType::i64:
          store(index);
          break;
        case DType::u8:
        case DType::boolean:
          store(static_cast<std::uint8_t>(bits & 1));
          break;
      }
    }
    return page;
  }

  Device& device_;
  const std::int64_t bytes_;
  const Address address_;
};

// The call of a probe, so many times, on the same operands.
Graph repeated(const Probe& probe, int times) {
  Graph graph;
  Builder builder(graph);
  probe.build(builder);
  TM_CHECK(graph.nodes().size() == 1, "a probe of {} nodes", graph.nodes().size());
  const Node first = graph.nodes()[0];
  std::vector<Var> operands;
  for (const ValueId operand : first.operands) operands.emplace_back(builder, operand);
  for (int i = 1; i < times; ++i) builder.call(*first.op, operands, first.attrs);
  for (const Node& node : graph.nodes()) {
    // What can be a view costs nothing unless somebody wants it in memory of its own.
    if (!first.op->view && &node != &graph.nodes().back()) continue;
    for (const ValueId result : node.results) graph.add_output(result);
  }
  return graph;
}

// Steps as small as can be, each on the last one's result.
Graph tiny_steps(int times) {
  Graph graph;
  Builder builder(graph);
  Var x = builder.input({DType::f32, {32}});
  for (int i = 0; i < times; ++i) x = i % 2 == 0 ? neg(x) : abs(x);
  graph.add_output(x.id());
  return graph;
}

// The least time of a run over several.
double run_seconds(Device& device, const Graph& graph, std::int64_t index_limit, int runs) {
  const PlanOptions options{.machine = &device.machine(), .fixed_order = true, .skip = {"fuse"}};
  const VerifiedPlan plan = verified(graph, make_plan(graph, device.target(), options), device.target());
  Arena arena(device, plan->arena_bytes);
  Executor executor(graph, plan, device, arena);
  std::vector<std::unique_ptr<Operand>> operands;
  std::vector<Address> inputs;
  for (const Input& in : graph.inputs()) {
    operands.push_back(std::make_unique<Operand>(device, graph.type(in.value), index_limit));
    inputs.push_back(operands.back()->address());
  }
  for (int i = 0; i < warm_runs; ++i) executor.run(inputs);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const Stopwatch watch;
    executor.run(inputs);
    least = std::min(least, watch.seconds());
  }
  return least;
}

// Of one call among many: the difference of a plan with more and one with fewer of them.
template <class GraphOf>
double seconds_of_one(Device& device, const GraphOf& graph_of, std::int64_t index_limit, int more, int runs) {
  const double small = run_seconds(device, graph_of(few), index_limit, runs);
  const double large = run_seconds(device, graph_of(few + more), index_limit, runs);
  const double floor = 1e-3 * large / (few + more);  // where a clock sees no difference
  return std::max((large - small) / more, floor);
}

std::string call_text(const Graph& graph) {
  std::string text(graph.nodes()[0].op->name);
  for (const Input& in : graph.inputs()) text.append(" ").append(to_string(graph.type(in.value)));
  return text;
}

std::int64_t bytes_of_call(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Value& value : graph.values()) bytes += value.type.bytes();
  return bytes;
}

// Copies between the device's own memory and the one beside it: bytes/s and what the smallest takes.
void measure_link(Device& device, Link& link, std::int64_t bytes, int runs) {
  const auto of_memory = [&](int memory) { return std::make_unique<Arena>(device, bytes, memory); };
  const std::unique_ptr<Arena> from = of_memory(link.from), to = of_memory(link.to);
  const auto least = [&](std::int64_t count) {
    double seconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < runs + 1; ++i) {
      const Stopwatch watch;
      device.copy(to->base(), from->base(), count);
      seconds = std::min(seconds, watch.seconds());
    }
    return seconds;
  };
  const double share = link.beside_compute / link.bandwidth;  // as before: nothing runs beside these
  link.latency = std::max(least(std::min<std::int64_t>(bytes, 256)), 1e-9);
  link.bandwidth = static_cast<double>(bytes) / std::max(least(bytes) - link.latency, 1e-9);
  link.beside_compute = share * link.bandwidth;
}

}  // namespace

Machine calibrate(Device& device, const DeviceCalibrationOptions& options) {
  const bool quick = options.effort.factor < Effort::normal.factor;
  const int runs = quick ? 3 : 7;
  const Target& target = device.target();
  const Machine& before = device.machine();
  Machine machine = before;
  if (!options.name.empty()) machine.name = options.name;
  if (options.memory_bytes > 0) machine.memory_bytes = options.memory_bytes;

  struct Timed {
    std::string call;
    Measurement measured;
  };
  std::vector<Probe> probes = device_probes();
  std::erase_if(probes, [&](const Probe& probe) {
    const Graph graph = repeated(probe, 1);
    const NodeCall call(graph, graph.nodes()[0]);
    return (quick && !probe.quick) || !target.runs(*call.call.op) || target.on_host(call) ||
           bytes_of_call(graph) > options.largest_bytes;
  });
  machine.overhead = seconds_of_one(device, tiny_steps, 1, 64, runs);
  std::vector<Timed> timed;
  for (const Probe& probe : probes) {
    if (options.progress) options.progress(static_cast<int>(timed.size()), static_cast<int>(probes.size()));
    const Graph one = repeated(probe, 1);
    const NodeCall call(one, one.nodes()[0]);
    const double expected = seconds_of(before, target, call);
    // Results of views are all held at once.
    const double room = one.nodes()[0].op->view ? static_cast<double>(options.largest_bytes) /
                                                      static_cast<double>(bytes_of_call(one))
                                                : double{most};
    const int more = static_cast<int>(
        std::clamp(std::min(stretch / expected, room), static_cast<double>(few), double{most}));
    const auto graph_of = [&](int times) { return repeated(probe, times); };
    timed.push_back(
        {.call = call_text(one),
         .measured = {.cost = target.cost(call),
                      .dtype = arithmetic_dtype(call),
                      .seconds = seconds_of_one(device, graph_of, probe.index_limit, more, runs)}});
  }
  if (options.progress) options.progress(static_cast<int>(probes.size()), static_cast<int>(probes.size()));

  std::map<WorkKind, std::vector<Measurement>> by_work;  // elementwise comes first
  for (const Timed& t : timed) by_work[t.measured.cost.work].push_back(t.measured);
  for (const auto& [work, measurements] : by_work) {
    const auto speeds = before[work].speed;
    machine[work] =
        fit_rates(measurements, machine.overhead, machine[WorkKind::elementwise].bytes, machine.overlaps);
    for (int d = 1; d < dtype_count; ++d) {  // of those that were not timed, what was known
      const auto dtype = static_cast<DType>(d);
      if (std::ranges::count(measurements, dtype, &Measurement::dtype) == 0)
        machine[work].speed[static_cast<std::size_t>(d)] = speeds[static_cast<std::size_t>(d)];
    }
  }
  const auto bytes =
      static_cast<std::int64_t>(std::min(link_bytes, static_cast<double>(options.largest_bytes)));
  for (Link& link : machine.links) {
    const bool host =
        link.from + link.to == 1 && !machine.further.empty() && machine.further[0].name == host_memory_name;
    if (host) measure_link(device, link, bytes, runs);
  }
  for (const Timed& t : timed) {
    if (!options.report) break;
    options.report({.call = t.call,
                    .work = t.measured.cost.work,
                    .measured = t.measured.seconds,
                    .predicted = seconds_of(machine, t.measured.cost, t.measured.dtype)});
  }
  return machine;
}

}  // namespace tidemark
