// Programs of many steps on a GPU, inside a byte budget, timed: bench/compare_gpu_loops.py runs them next to
// JAX and PyTorch.
//
//   gpu_loops wave [--cells 512] [--steps 4096] [--memory 199MiB,88MiB] [--primal] [--rounds 5]
//   gpu_loops lstm [--batch 64] [--width 512] [--steps 1024] …
//   … --list: what the GPU would be told to do, counted without one
//
// One line for each budget; without --memory one alone, of a plan that computes nothing twice. Memory is the
// plan's peak less its arguments.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "tests/support/gpu_nodes.h"
#include "tests/support/loop_programs.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/ir/print.h"
#include "tidemark/tidemark.h"

namespace tidemark::bench {
namespace {

struct Options {
  std::string program = "wave", gradient;
  std::int64_t cells = 512, steps = 0, batch = 64, width = 512;
  std::vector<std::string> budgets;
  bool primal = false, list = false, graph = false, cpu = false;
  int rounds = 5;
};

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::int64_t argument_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Input& input : graph.inputs()) bytes += graph.type(input.value).bytes();
  return bytes;
}

std::string counts(const testing::GpuNodes& nodes, std::int64_t steps) {
  return fmt::format(
      "{} nodes, {:.2f} a step: {} kernels, {} products, {} copies, {} swaps, {} clears, {} on "
      "the host",
      nodes.all(), static_cast<double>(nodes.all()) / static_cast<double>(steps), nodes.kernels,
      nodes.products, nodes.copies, nodes.swaps, nodes.clears, nodes.host);
}

template <class F, class... Args>
void list(const Options& options, const F& f, const Args&... args) {
  const Graph traced = *trace_call(f, std::tuple<Args...>(args...), {}).graph;
  std::vector<std::string> budgets = options.budgets;
  if (budgets.empty()) budgets.emplace_back();
  for (const std::string& budget : budgets) {
    PlanOptions plan{.machine = &cuda::h200_machine(), .target = &cuda::cuda_target()};
    if (!budget.empty()) plan.memory = parse_bytes(budget).count;
    const Stopwatch watch;
    const PlanWithLoops found = plan_with_loops(traced, {}, plan);
    if (!found.plan) {
      fmt::print("{}: does not fit\n", budget);
      continue;
    }
    const VerifiedPlan good = verified(found.graph, found.plan.value(), cuda::cuda_target());
    const testing::GpuNodes nodes = testing::count_gpu_nodes(found.graph, good);
    fmt::print("{}: {:.1f} MiB beside the arguments, predicted {:.1f} ms, planned in {:.1f} s; {}\n",
               budget.empty() ? "no budget" : budget, mib(good->peak() - argument_bytes(found.graph)),
               1e3 * good->seconds, watch.seconds(), counts(nodes, options.steps));
    for (const auto& [name, count] : nodes.by_name) {
      if (count * 100 > options.steps) fmt::print("  {:>8} {}\n", count, name);
    }
    if (options.graph) fmt::print("{}\n", print(found.graph));
  }
}

template <class F, class... Args>
void run(const Options& options, const F& f, const Args&... args) {
  const std::shared_ptr<Device> device = options.cpu ? std::shared_ptr<Device>() : cuda::device();
  std::vector<std::string> budgets = options.budgets;
  if (budgets.empty()) budgets.emplace_back();
  for (const std::string& budget : budgets) {
    CompileOptions compiled{.device = device};
    if (!budget.empty()) compiled.memory = parse_bytes(budget);
    const auto g = compile(f, compiled);
    const auto timed = [&] {
      const Stopwatch watch;
      const auto results = g(args...);
      return std::pair(watch.seconds(), results);
    };
    const Stopwatch planning;
    const PlannedGraph planned = g.prepare(args...);
    const double ready = planning.seconds();
    const double first = timed().first, second = timed().first;  // by commands, then recorded
    std::vector<double> times;
    for (int r = 0; r < options.rounds; ++r) times.push_back(timed().first);
    std::ranges::sort(times);
    fmt::print(
        "{{\"program\": \"{}\", \"budget\": \"{}\", \"ms\": {:.3f}, \"least\": {:.3f}, \"mib\": {:.1f}, "
        "\"ready_s\": "
        "{:.2f}, \"first_ms\": {:.1f}, \"recording_ms\": {:.1f}, \"predicted_ms\": {:.1f}}}\n",
        options.primal ? options.program + " primal" : options.program, budget, 1e3 * times[times.size() / 2],
        1e3 * times.front(), mib(planned.plan.peak() - argument_bytes(planned.graph)), ready, 1e3 * first,
        1e3 * second, 1e3 * planned.plan.seconds);
    std::fflush(stdout);
    if (options.gradient.empty()) continue;
    std::ofstream file(options.gradient, std::ios::binary);
    const auto results = timed().second;
    for_each_tensor(results, [&](const std::string&, const Tensor& tensor) {
      if (tensor.rank() == 0) return;
      const std::vector<double> numbers = tensor.to_vector();
      for (const double x : numbers) {
        const auto single = static_cast<float>(x);
        file.write(reinterpret_cast<const char*>(&single), sizeof(single));
      }
    });
  }
}

template <class F, class... Args>
void show(const Options& options, const F& f, const Args&... args) {
  if (options.list) return list(options, f, args...);
  const auto there = [&](const auto& tree) {
    if (options.cpu) return tree;
    return to_device(tree, cuda::device());
  };
  run(options, f, there(args)...);
}

void wave(Options options) {
  if (options.steps == 0) options.steps = 4096;
  const testing::Wave wave{options.cells};
  const auto loss = [=](const Tensor& courant2, const testing::Wave::Medium& medium, const Tensor& wavelet) {
    return wave.heard(courant2, medium, wavelet);
  };
  const testing::Wave::Medium medium = wave.medium();
  const Tensor wavelet = wave.wavelet(options.steps);
  if (options.primal) return show(options, loss, medium.courant2, medium, wavelet);
  show(options, value_and_grad(loss), medium.courant2, medium, wavelet);
}

void lstm(Options options) {
  if (options.steps == 0) options.steps = 1024;
  const nn::LstmLayer layer = nn::LstmLayer::init(key(0), options.width, options.width);
  const Tensor x = random_normal(key(1), {options.steps, options.batch, options.width});
  const auto loss = [](const nn::LstmLayer& l, const Tensor& inputs) {
    return testing::lstm_loss(l, inputs);
  };
  if (options.primal) return show(options, loss, layer, x);
  show(options, value_and_grad(loss), layer, x);
}

}  // namespace
}  // namespace tidemark::bench

int main(int argc, char** argv) {
  tidemark::bench::Options options;
  CLI::App app("programs of many steps on a GPU");
  app.add_option("program", options.program)->check(CLI::IsMember({"wave", "lstm"}));
  app.add_option("--cells", options.cells);
  app.add_option("--steps", options.steps);
  app.add_option("--batch", options.batch);
  app.add_option("--width", options.width);
  app.add_option("--memory", options.budgets)->delimiter(',');
  app.add_option("--rounds", options.rounds);
  app.add_option("--gradient", options.gradient, "a file for it, as raw f32");
  app.add_flag("--primal", options.primal);
  app.add_flag("--list", options.list);
  app.add_flag("--graph", options.graph, "with --list: the graph as planned, too");
  app.add_flag("--cpu", options.cpu, "on the CPU instead");
  CLI11_PARSE(app, argc, argv);
  try {
    options.program == "wave" ? tidemark::bench::wave(options) : tidemark::bench::lstm(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
