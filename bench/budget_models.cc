// Small models trained at 8 budgets from the smallest to no extra time: what was planned and predicted, and
// what the runs took, as ratios to the run without a budget in the same process. Times are of the processor,
// on one thread: others who use the machine do not count.
//
//   bench/budget_models [EFFORT [ROUNDS]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "tests/support/tiny_models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/report/frontier.h"

namespace {

using namespace tidemark;

struct Runner {
  std::unique_ptr<Program> program;
  std::vector<Tensor> inputs;
  std::vector<double> seconds = {};

  void run(std::size_t state) {
    const std::clock_t start = std::clock();
    const std::vector<Tensor> outputs = program->run(inputs, {});
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    std::copy_n(outputs.begin(), state, inputs.begin());
  }
  // The fastest: whatever disturbs only adds.
  double best() const { return *std::ranges::min_element(seconds); }
};

void show(const tiny::TinyModel& model, const Machine& machine, double effort, int rounds) {
  const Graph graph = prepare_graph(model.step);
  const std::vector<Plan> plans = frontier(graph, cpu_target(), {.machine = &machine, .effort = effort}, 8);
  std::vector<Runner> runners;
  for (const Plan& plan : plans) {
    runners.push_back({std::make_unique<Program>(graph, plan, std::make_shared<Workspace>(default_device())),
                       model.inputs()});
  }
  // In turn, so that what else the machine does falls on all of them.
  for (int i = 0; i < rounds; ++i) {
    for (Runner& runner : runners) runner.run(model.state);
  }
  const double base = runners.back().best();
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const Plan& plan = plans[k];
    fmt::print("{:<9} {:>12} {:>12} {:>7.1f}% {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}\n",
               k == 0 ? model.name : "", to_string(Bytes(plan.budget)), to_string(Bytes(plan.peak())),
               100.0 * static_cast<double>(plan.arena_bytes) / static_cast<double>(plans.back().arena_bytes),
               1e3 * plan.seconds, 1e3 * runners[k].best(), 1 + plan.extra_time(), runners[k].best() / base);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double effort = argc > 1 ? std::atof(argv[1]) : 0.3;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const Machine& machine = reference_machine();
  set_threads(1);
  fmt::print("{:<9} {:>12} {:>12} {:>8} {:>9} {:>9} {:>9} {:>9}\n", "model", "budget", "peak", "arena",
             "ms plan", "ms run", "predicted", "measured");
  show(tiny::mlp(512, 256), machine, effort, rounds);
  show(tiny::gpt(4, 4, 64, 64), machine, effort, rounds);
  show(tiny::resnet18(4, 32, 16), machine, effort, rounds);
  show(tiny::unet(2, 64, 8), machine, effort, rounds);
  show(tiny::lstm(16, 32, 64), machine, effort, rounds);
}
