// Where the time of a training step goes: runs a model of the zoo with every step of its plan timed, and prints the least
// time of each op (and with --calls of each different call) with the rates it reaches.
//   step_profile MODEL [--batch N] [--context N] [--threads N] [--rounds N] [--calls N] [--optimizer NAME]
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "tidemark/base/aligned.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/kernel_clock.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/pipeline.h"

using namespace tidemark;

namespace {

struct Options {
  std::string model = "resnet18";
  nn::ZooOptions zoo = {};
  int threads = 0, rounds = 10;
  std::size_t calls = 0;  // so many of the most expensive
};

Options read_options(int argc, char** argv) {
  Options options;
  if (argc > 1) options.model = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--batch") options.zoo.batch = std::stoi(value);
    if (name == "--context") options.zoo.context = std::stoi(value);
    if (name == "--optimizer") options.zoo.optimizer = nn::optimizer_named(value);
    if (name == "--threads") options.threads = std::stoi(value);
    if (name == "--rounds") options.rounds = std::stoi(value);
    if (name == "--calls") options.calls = static_cast<std::size_t>(std::stoi(value));
  }
  return options;
}

void fill(std::byte* bytes, const Type& type, std::mt19937& random) {
  std::memset(bytes, 0, static_cast<std::size_t>(type.bytes()));
  if (type.dtype != DType::f32) return;  // indices and labels: 0
  for (std::int64_t i = 0; i < type.count(); ++i) {
    const float value = (static_cast<float>(random() % 1024) - 511.5f) / 8192;
    std::memcpy(bytes + 4 * i, &value, 4);
  }
}

std::string text_of(const Call& call) {
  std::string text(call.op->name);
  for (const Type& type : call.in) text += " " + to_string(type);
  text += " ->";
  for (const Type& type : call.out) text += " " + to_string(type);
  return text;
}

struct Sum {
  int steps = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

void print(std::string_view title, const std::map<std::string, Sum>& table, double whole, std::size_t most) {
  std::vector<std::pair<std::string, Sum>> rows(table.begin(), table.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  fmt::print("\n{:>9} {:>6} {:>6} {:>9} {:>7}  {}\n", "ms", "share", "steps", "GFLOP/s", "GB/s", title);
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const auto& [name, s] = rows[i];
    fmt::print("{:>9.3f} {:>5.1f}% {:>6} {:>9.1f} {:>7.1f}  {}\n", 1e3 * s.seconds, 100 * s.seconds / whole,
               s.steps, 1e-9 * s.flops / s.seconds, 1e-9 * s.bytes / s.seconds, name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const nn::ZooModel* model = nn::find_in_zoo(options.model);
  if (!model) {
    fmt::print(stderr, "no model '{}' in the zoo\n", options.model);
    return 2;
  }
  CpuDevice device(options.threads);
  const Graph graph = prepare_graph(model->training_step(options.zoo));
  const Plan plan = make_plan(graph);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, plan, device, arena);
  std::mt19937 random(1);
  std::vector<AlignedBytes> memory;
  std::vector<std::byte*> inputs;
  for (const Input& in : graph.inputs()) {
    memory.push_back(allocate_aligned(graph.type(in.value).bytes()));
    fill(memory.back().get(), graph.type(in.value), random);
    inputs.push_back(memory.back().get());
  }
  const KernelClock clock(device.pool().threads());
  std::vector<double> least(plan.steps.size(), 1e9);
  double least_whole = 1e9;
  for (int round = 0; round < options.rounds; ++round) {
    const double begin = clock.now();
    double last = begin;
    executor.run(inputs, [&](std::size_t step) {
      const double now = clock.now();
      least[step] = std::min(least[step], std::max(now - last - clock.cost(), clock.resolution()));
      last = now;
    });
    least_whole = std::min(least_whole, last - begin);
  }
  std::map<std::string, Sum> by_op, by_call;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Node& node = graph[plan.steps[i].node];
    const NodeCall call(graph, node);
    const Cost cost = cost_of(call);
    for (Sum* sum : {&by_op[std::string(node.op->name)], &by_call[text_of(call)]}) {
      ++sum->steps;
      sum->seconds += least[i], sum->flops += cost.flops, sum->bytes += cost.bytes;
    }
  }
  fmt::print("{}: {:.3f} ms, {} steps, {:.1f} GFLOP/s, arena {:.1f} MiB, {} threads\n", options.model,
             1e3 * least_whole, plan.steps.size(), 1e-9 * plan.flops / least_whole,
             static_cast<double>(plan.arena_bytes) / 1048576, device.pool().threads());
  print("op", by_op, least_whole, 100);
  if (options.calls > 0) print("call", by_call, least_whole, options.calls);
}
