// What a step of a plan costs besides its arithmetic: a graph of 10,000 operations on scalars, or on 4
// elements, each reading the one before. bench/peers/tiny_ops.py does the same in eager PyTorch and under
// jax.jit.
//
//   tiny_ops [--ops N] [--threads N] [--rounds N] [--device cuda]
//
// `steps` runs every operation as a step of its own; `planned` is what the planner makes of the graph.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cuda/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace {

using namespace tidemark;

// x ← x a + b, x ← x a - b, and so on: cheap ones, none of which an optimisation may leave out.
Graph chain(const Shape& shape, int ops) {
  Graph graph;
  Builder builder(graph);
  Var x = builder.input({DType::f32, shape});
  const Var a = builder.input({DType::f32, shape}), b = builder.input({DType::f32, shape});
  for (int i = 0; i < ops; ++i) x = i % 2 == 0 ? x * a : i % 4 == 1 ? x + b : x - b;
  graph.add_output(x.id());
  return graph;
}

double nanoseconds_per_op(const Graph& graph, const PlanOptions& options, int ops, int rounds, Device& device,
                          std::size_t& steps) {
  const Plan plan = make_plan(graph, device.target(), options);
  steps = plan.steps.size();
  Arena arena(device, plan.arena_bytes), arguments(device, 3 * 256);
  Executor executor(graph, verified(graph, plan, device.target()), device, arena);
  const float values[3][4] = {{1, 1, 1, 1}, {0.5F, 0.5F, 0.5F, 0.5F}, {2, 2, 2, 2}};
  Address inputs[3];
  for (int i = 0; i < 3; ++i) {
    inputs[i] = arguments.base() + 256 * i;
    device.write(inputs[i], reinterpret_cast<const std::byte*>(values[i]), sizeof(values[i]));
  }
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const Stopwatch watch;
    executor.run(inputs);
    best = std::min(best, watch.seconds());
  }
  return 1e9 * best / ops;
}

// Plan options without fusion, where the planner has it.
PlanOptions one_by_one() {
  PlanOptions options;
  for (const PassInfo& pass : pass_list()) {
    if (pass.name == "fuse") options.skip.emplace_back(pass.name);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  int ops = 10'000, threads = 0, rounds = 200;
  bool on_gpu = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--device") {
      on_gpu = std::string(argv[i + 1]) == "cuda";
      continue;
    }
    (word == "--ops" ? ops : word == "--threads" ? threads : rounds) = std::atoi(argv[i + 1]);
  }
  const std::shared_ptr<Device> device = on_gpu ? cuda::device() : std::make_shared<CpuDevice>(threads);
  fmt::print("{:<10} {:>8} {:>10} {:>8}\n", "shape", "as", "steps", "ns/op");
  for (const Shape& shape : {Shape{}, Shape{4}}) {
    const Graph graph = prepare_graph(chain(shape, ops), {}, nullptr, {}, device->target());
    for (bool fused : {false, true}) {
      std::size_t steps = 0;
      const double ns =
          nanoseconds_per_op(graph, fused ? PlanOptions{} : one_by_one(), ops, rounds, *device, steps);
      fmt::print("{:<10} {:>8} {:>10} {:>8.1f}\n", shape.empty() ? "scalar" : "4",
                 fused ? "planned" : "steps", steps, ns);
    }
  }
}
