#include "tidemark/cpu/calibrate.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <random>

#include "tidemark/base/aligned.h"
#include "tidemark/cpu/calibrate_fit.h"
#include "tidemark/cpu/calibrate_links.h"
#include "tidemark/cpu/calibrate_probes.h"
#include "tidemark/cpu/kernel_clock.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/runtime/executor.h"

namespace tidemark {
namespace {

struct Patience {
  double seconds;  // per probe and pass
  int passes;
  double
      footprint;  // bytes that a round walks through: operands come from the outer caches, as in a training step
};
constexpr Patience quick_patience{0.006, 2, 8e6}, normal_patience{0.008, 3, 16e6};
constexpr int most_copies = 32, least_rounds = 2;
constexpr double longest_round = 1e-3;  // shorter than the slices that other processes take

// Numbers about 1, or indices: some random ones, again and again; a prime number, so that no two rows are
// equal.
void fill(std::span<std::byte> bytes, DType dtype, std::int64_t index_limit, std::mt19937& random) {
  const std::size_t page = 8191 * static_cast<std::size_t>(size_of(dtype));
  const auto store = [&](auto value) {
    for (std::size_t i = 0; i + sizeof(value) <= std::min(bytes.size(), page); i += sizeof(value)) {
      value =
          static_cast<decltype(value)>(is_float(dtype) ? 0.25 + static_cast<double>(random() % 1024) / 1024
                                                       : static_cast<double>(random() % index_limit));
      std::memcpy(bytes.data() + i, &value, sizeof(value));
    }
  };
  switch (dtype) {
    case DType::f32:
      store(float{});
      break;
    case DType::f64:
      store(double{});
      break;
    case DType::i32:
      store(std::int32_t{});
      break;
    case DType::i64:
      store(std::int64_t{});
      break;
    case DType::bf16:
    case DType::f16:
    case DType::u8:
    case DType::boolean:
      std::memset(bytes.data(), dtype == DType::boolean ? 1 : 0x3a, bytes.size());
      return;
  }
  for (std::size_t i = page; i < bytes.size(); i += page) {
    std::memcpy(bytes.data() + i, bytes.data(), std::min(page, bytes.size() - i));
  }
}

// One of several copies of a probe's program, each with memory of its own.
struct Copy {
  Copy(const Graph& graph, const VerifiedPlan& plan, CpuDevice& device, std::int64_t index_limit,
       std::mt19937& random)
      : arena(device, plan->arena_bytes), executor(graph, plan, device, arena) {
    for (const Input& in : graph.inputs()) {
      const Type& type = graph.type(in.value);
      memory.push_back(allocate_aligned(type.bytes()));
      fill({memory.back().get(), static_cast<std::size_t>(type.bytes())}, type.dtype, index_limit, random);
      inputs.push_back(host_address(memory.back().get()));
    }
  }
  Arena arena;
  Executor executor;
  std::vector<AlignedBytes> memory;
  std::vector<Address> inputs;
};

// The least time per execution of the graph, over rounds of executions on different memory.
double least_seconds(const Graph& graph, const VerifiedPlan& plan, std::int64_t index_limit,
                     CpuDevice& device, const Patience& patience) {
  const KernelClock clock(device.pool().threads());
  std::mt19937 random(1);
  const double bytes = static_cast<double>(std::max<std::int64_t>(plan->peak(), 1));
  std::vector<std::unique_ptr<Copy>> copies;
  const auto add_copy = [&] {
    copies.push_back(std::make_unique<Copy>(graph, plan, device, index_limit, random));
    copies.back()->executor.run(copies.back()->inputs);
  };
  add_copy();
  const double once = clock.now();
  copies[0]->executor.run(copies[0]->inputs);
  const double first = std::max(clock.now() - once, clock.resolution());
  const int wanted =
      static_cast<int>(std::clamp(patience.footprint / bytes, 1.0, static_cast<double>(most_copies)));
  while (static_cast<int>(copies.size()) < wanted) add_copy();
  const int stretch = static_cast<int>(std::clamp(longest_round / first, 1.0, static_cast<double>(wanted)));

  double least = first;
  const double begin = clock.now();
  std::size_t at = 0;
  for (int round = 0; round < least_rounds || clock.now() - begin < patience.seconds; ++round) {
    const double start = clock.now();
    for (int i = 0; i < stretch; ++i, at = (at + 1) % copies.size()) {
      copies[at]->executor.run(copies[at]->inputs);
    }
    least = std::min(least, std::max(clock.now() - start - clock.cost(), clock.resolution()) / stretch);
  }
  return least;
}

Graph graph_of(const Probe& probe) {
  Graph graph;
  Builder builder(graph);
  probe.build(builder);
  TM_CHECK(graph.nodes().size() == 1, "a probe of {} nodes", graph.nodes().size());
  for (const ValueId result : graph.nodes()[0].results) graph.add_output(result);
  return graph;
}

// Steps as small as can be, of many ops: none finds its code and its operands ready in the nearest cache.
Graph tiny_steps() {
  Graph graph;
  Builder b(graph);
  Var x = b.input({DType::f32, {4, 4}});
  for (int i = 0; i < 4; ++i) {
    x = matmul(tanh(x), exp(neg(x))) + reduce_sum(square(x), {1}, true);
    x = softmax(relu(x) * x, 1) - sqrt(abs(x));
  }
  graph.add_output(x.id());
  return graph;
}

// A graph ready to run, and the least time of a step so far. A probe has one step.
struct Timed {
  explicit Timed(const Probe& probe) : Timed(graph_of(probe), probe.index_limit) {}
  Timed(Graph g, std::int64_t limit)
      : graph(std::move(g)),
        plan(verified(graph, make_plan(graph, cpu_target(), {.skip = {"fuse"}}), cpu_target())),
        index_limit(limit) {
    const NodeCall call(graph, graph.nodes()[0]);
    measured = {.cost = cpu_target().cost(call),
                .dtype = arithmetic_dtype(call),
                .seconds = std::numeric_limits<double>::infinity()};
  }
  void measure(CpuDevice& device, const Patience& patience) {
    const double seconds = least_seconds(graph, plan, index_limit, device, patience);
    measured.seconds = std::min(measured.seconds, seconds / static_cast<double>(plan->steps.size()));
  }

  Graph graph;
  VerifiedPlan plan;
  std::int64_t index_limit;
  Measurement measured;
};

std::string call_text(const Graph& graph) {
  std::string text(graph.nodes()[0].op->name);
  for (const Input& in : graph.inputs()) text.append(" ").append(to_string(graph.type(in.value)));
  return text;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown processor";
}

}  // namespace

Machine calibrate(CpuDevice& device, const CalibrationOptions& options) {
  const bool quick = options.effort.factor < Effort::normal.factor;
  const Patience& patience = quick ? quick_patience : normal_patience;
  Machine machine;
  machine.threads = device.pool().threads();
  machine.name =
      fmt::format("{}, {} thread{}", processor_name(), machine.threads, machine.threads > 1 ? "s" : "");
  machine.memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);

  std::vector<Probe> probes = calibration_probes();
  if (quick) std::erase_if(probes, [](const Probe& probe) { return !probe.quick; });
  std::vector<Timed> timed;
  for (const Probe& probe : probes) timed.emplace_back(probe);
  Timed nothing(tiny_steps(), 1);

  const int total = patience.passes * static_cast<int>(timed.size());
  for (int pass = 0, done = 0; pass < patience.passes; ++pass) {
    nothing.measure(device, patience);
    for (Timed& t : timed) {
      if (options.progress) options.progress(done, total);
      t.measure(device, patience);
      ++done;
    }
  }
  if (options.progress) options.progress(total, total);

  machine.overhead = nothing.measured.seconds;
  std::map<WorkKind, std::vector<Measurement>> by_work;  // elementwise comes first
  for (const Timed& t : timed) by_work[t.measured.cost.work].push_back(t.measured);
  for (const auto& [work, measurements] : by_work) {
    machine[work] = fit_rates(measurements, machine.overhead, machine[WorkKind::elementwise].bytes);
  }
  machine[WorkKind::opaque] = {.flops = machine[WorkKind::contraction].flops,
                               .bytes = machine[WorkKind::elementwise].bytes,
                               .speed = machine[WorkKind::contraction].speed};
  measure_links(machine, device, options.disk_folder);
  for (const Timed& t : timed) {
    if (!options.report) break;
    options.report({.call = call_text(t.graph),
                    .work = t.measured.cost.work,
                    .measured = t.measured.seconds,
                    .predicted = seconds_of(machine, t.measured.cost, t.measured.dtype)});
  }
  return machine;
}

}  // namespace tidemark
