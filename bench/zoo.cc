// From the name of a built-in model to a plan: nodes, seconds to build the training step and to optimise it,
// seconds to plan it, and the peak, for every model of the zoo at its own sizes. Arguments: names, to see
// only those.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tidemark/base/stopwatch.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

}  // namespace

int main(int argc, char** argv) {
  set_threads(1);
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  fmt::print("{:<14} {:>8} {:>8} {:>10} {:>8} {:>12} {:>12}\n", "model", "nodes", "build", "optimise", "plan",
             "inputs", "peak");
  for (const nn::ZooModel& model : nn::zoo()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), model.name) == wanted.end()) continue;
    Graph step, graph;
    Plan plan;
    const double build = seconds_taken([&] { step = model.training_step(); });
    const double optimise = seconds_taken([&] { graph = prepare_graph(step); });
    const double planning = seconds_taken([&] { plan = make_plan(graph, cpu_target()); });
    fmt::print("{:<14} {:>8} {:>8.3f} {:>10.3f} {:>8.3f} {:>12} {:>12}\n", model.name, graph.nodes().size(),
               build, optimise, planning, to_string(Bytes(plan.input_bytes)), to_string(Bytes(plan.peak())));
  }
}
