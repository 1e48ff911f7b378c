// How long planning takes as graphs grow: training steps of a residual MLP of 1k, 3k, 10k and 30k nodes, on
// one core. Prints one row per size: nodes, seconds per pass, work units, peak against the bounds.
#include <fmt/format.h>

#include "tests/support/model_graphs.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/passes/pipeline.h"

using namespace tidemark;

int main() {
  fmt::print("{:>8} {:>8}", "nodes", "seconds");
  for (const PassInfo& pass : pass_list()) fmt::print(" {:>9}", pass.name);
  fmt::print(" {:>9} {:>11} {:>12} {:>11} {:>10}\n", "verify", "work", "peak/bound", "peak/any", "peak/all");
  for (int nodes : {1'000, 3'000, 10'000, 30'000}) {
    // A transformer block with its gradient and Adam updates is about 190 nodes.
    const Graph graph = models::transformer(nodes / 190, 8, 64, 128, 4);
    PipelineReport report;
    const Plan plan = make_plan(graph, cpu_target(), {}, &report);
    double seconds = 0;
    std::int64_t work = 0;
    for (const PassReport& pass : report.passes) seconds += pass.seconds, work += pass.work_units;
    fmt::print("{:>8} {:>8.3f}", graph.nodes().size(), seconds);
    for (const PassReport& pass : report.passes) fmt::print(" {:>9.3f}", pass.seconds);
    const auto ratio = [&](std::int64_t other) {
      return static_cast<double>(plan.peak()) / static_cast<double>(other);
    };
    fmt::print(" {:>11} {:>12.4f} {:>11.4f} {:>10.4f}\n", work, ratio(plan.lower_bound),
               ratio(plan.order_free_bound), ratio(plan.store_all_bytes));
  }
}
