#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tidemark/base/bytes.h"
#include "tidemark/engine/program.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/dag_schedule.h"
#include "tidemark/plan/plan_json.h"
#include "tools/plan_command.h"
#include "tools/text_file.h"

namespace tidemark::cli {

namespace {

// The nodes of the graph as planned, in order of execution.
Sequence order_of(const Plan& plan) {
  Sequence order;
  for (const Step& step : plan.steps) order.push_back(static_cast<int>(step.node.index));
  return order;
}

}  // namespace

ExitCode plan_graph(const PlanCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const Graph graph = prepare_graph(command.model.load());
  PlanOptions options{.skip = command.disable};
  if (command.fixed_order) options.skip.push_back("order");
  if (!command.dump_after.empty()) {
    options.after = [&](std::string_view pass, const Draft& draft) {
      if (pass == command.dump_after) fmt::print("-- after {}\n{}\n", pass, to_text(draft));
    };
  }
  PipelineReport report;
  const Plan plan = make_plan(graph, options, &report);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (command.memory && plan.peak() > command.memory->bytes(plan.peak())) {
    fmt::print(stderr, "no plan within {} was found; {} are needed at no extra time\n",
               to_string(Bytes(command.memory->bytes(plan.peak()))), to_string(Bytes(plan.peak())));
    return exit_gave_up;
  }
  if (!command.output.empty()) write_text(command.output, to_json(plan) + '\n');
  if (!command.schedule.empty()) write_text(command.schedule, schedule_text(order_of(plan)));
  if (command.json) {
    const nlohmann::json summary = {{"model", command.model.model},
                                    {"nodes", graph.nodes().size()},
                                    {"steps", plan.steps.size()},
                                    {"peak", plan.peak()},
                                    {"input_bytes", plan.input_bytes},
                                    {"arena_bytes", plan.arena_bytes},
                                    {"lower_bound", plan.lower_bound},
                                    {"store_all_bytes", plan.store_all_bytes},
                                    {"flops", plan.flops},
                                    {"bytes_moved", plan.bytes_moved},
                                    {"seconds", seconds}};
    fmt::print("{}\n", summary.dump(2));
    return exit_ok;
  }
  if (command.print_graph) fmt::print("{}\n", print(graph));
  fmt::print("{}", summary(graph, plan));
  if (command.passes) {
    fmt::print("\npasses\n");
    for (const PassReport& pass : report.passes) {
      fmt::print("  {:<12} {:>9.1f} ms{}\n", pass.name, 1e3 * pass.seconds, pass.skipped ? "  skipped" : "");
    }
  }
  fmt::print("planned in {:.2f} s\n", seconds);
  return exit_ok;
}

}  // namespace tidemark::cli
