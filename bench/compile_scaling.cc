// From a C++ function to a plan as programs grow: training steps of a GPT with 1k, 3k, 10k and 30k nodes,
// traced, differentiated, optimised and planned on one core from types alone. One row per size: seconds per
// stage, and microseconds per node, which should stay flat.
//
//   compile_scaling               the table above
//   compile_scaling ROW...        rows of bench/support/training_rows.h ("all": every one), with AdamW, until
//                                 they can run:
//                                 building the step, optimising, each pass of the planner, preparing kernels
#include <fmt/format.h>

#include "bench/support/training_rows.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/models.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

void show_row(const bench::TrainingRow& row) {
  tiny::TinyModel model;
  Graph graph;
  Plan plan;
  PipelineReport report;
  const double build = seconds_taken([&] { model = row.build(); });
  const double optimise = seconds_taken([&] { graph = prepare_graph(model.step); });
  const double planning = seconds_taken([&] { plan = make_plan(graph, cpu_target(), {}, &report); });
  Arena arena(*default_device(), plan.arena_bytes);
  const double prepare =
      seconds_taken([&] { Executor(graph, verified(graph, plan, cpu_target()), *default_device(), arena); });
  fmt::print("{:<10} {:>7} nodes {:>8.3f} s: build {:.3f}, optimise {:.3f}, plan {:.3f}, prepare {:.3f}\n",
             row.name, graph.nodes().size(), build + optimise + planning + prepare, build, optimise, planning,
             prepare);
  for (const PassReport& pass : report.passes) {
    if (pass.seconds >= 0.001) fmt::print("    {:<10} {:>8.3f}\n", pass.name, pass.seconds);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  set_threads(1);
  if (argc > 1) {
    for (const bench::TrainingRow& row : bench::training_rows()) {
      for (int i = 1; i < argc; ++i) {
        if (row.name == argv[i] || std::string_view(argv[i]) == "all") show_row(row);
      }
    }
    return 0;
  }
  fmt::print("{:>8} {:>8} {:>10} {:>10} {:>10} {:>8} {:>9}\n", "nodes", "trace", "gradient", "optimise",
             "plan", "total", "us/node");
  const auto loss = [](const nn::Gpt& model, Tensor tokens, Tensor next) {
    return nn::classification_loss(model(tokens), next);
  };
  const Tensor tokens = Tensor::of_type({DType::i32, {4, 64}});
  for (int nodes : {1'000, 3'000, 10'000, 30'000}) {
    const int layers = nodes / 105;  // nodes of one block's training step, updates included
    const nn::GptConfig config{.layers = layers, .width = 64, .heads = 4, .vocabulary = 256, .context = 64};
    const auto model = result_types([&] { return nn::Gpt::init(key(0), config); });
    const auto step = [&](const nn::Gpt& p, Tensor x, Tensor y) {
      const auto [value, gradients] = value_and_grad(loss)(p, x, y);
      return std::pair(map_tree([](const Tensor& w, const Tensor& g) { return w - g * 0.01; }, p, gradients),
                       value);
    };
    // Tracing the step includes tracing and differentiating the loss inside it; the loss alone gives the
    // split.
    const double forward = seconds_taken([&] { trace_call(loss, std::tuple(model, tokens, tokens), {}); });
    TracedCall<std::pair<nn::Gpt, Tensor>> traced;
    const double whole =
        seconds_taken([&] { traced = trace_call(step, std::tuple(model, tokens, tokens), {}); });
    for (std::size_t i = 0; i < traced.argument_ends[0]; ++i) traced.graph->inputs()[i].donated = true;
    Graph graph;
    const double optimise = seconds_taken([&] { graph = prepare_graph(*traced.graph); });
    Plan plan;
    const double planning = seconds_taken([&] { plan = make_plan(graph, cpu_target()); });
    const double total = whole + optimise + planning;
    fmt::print("{:>8} {:>8.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>8.3f} {:>9.1f}\n", graph.nodes().size(),
               forward, whole - forward, optimise, planning, total,
               1e6 * total / static_cast<double>(graph.nodes().size()));
  }
}
