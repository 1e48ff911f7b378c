#include "tidemark/engine/prepare_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/loop_sums.h"
#include "tidemark/autodiff/several_steps.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/session.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/channels_last.h"
#include "tidemark/opt/dce.h"
#include "tidemark/opt/fp8_products.h"
#include "tidemark/opt/product_rows.h"
#include "tidemark/opt/split_norms.h"
#include "tidemark/opt/windows.h"

namespace tidemark {
namespace {

std::vector<Literal> evaluate_constant(const Op& op, std::span<const Literal> operands, const Attrs& attrs) {
  const std::shared_ptr<CpuDevice> device = default_device();  // stays until this is done
  return interpret(op, operands, attrs, device->pool());
}

bool has_regions(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return !node.regions.empty(); });
}

OptOptions optimisations(const std::vector<std::string>& skip) {
  return {.ops = known_ops(find_op), .evaluate = evaluate_constant, .skip = skip};
}

}  // namespace

void require_kernels(const Graph& graph, const Target& target) {
  for (const Node& node : graph.nodes()) {
    if (!target.runs(*node.op)) {
      fail(ErrorCode::no_kernel,
           {.what = fmt::format("{} cannot run on `{}`: it has no kernel there", node.op->name, target.name),
            .where = node.where,
            .help = "compute this part in a function of its own that runs on the CPU"});
    }
    for (const Graph& region : node.regions) require_kernels(region, target);
  }
}

Graph prepare_unlowered(const Graph& graph, const std::vector<std::string>& skip_optimisations,
                        const Target& target) {
  Graph runnable = expand(
      graph, [&](const Node& node) { return !target.runs(*node.op) && node.op->expand; },
      ExpandRegions::inside);
  require_kernels(runnable, target);
  const OptOptions options = optimisations(skip_optimisations);
  if (target.adds_rows) runnable = add_rows_in_products(runnable, options.ops);
  // What it recognises is what is left of a graph after a first optimisation; the next one removes what it
  // leaves behind.
  if (target.channels_last && has_convolutions(runnable, options.ops))
    runnable = channels_last(optimize(std::move(runnable), options), options.ops);
  if (target.splits_norms && has_column_norms(runnable, options.ops))
    runnable = split_norms(optimize(std::move(runnable), options), options.ops);
  const auto with_windows = [&](Graph made) {
    return target.reads_windows ? dce(read_windows(made, options.ops)) : made;
  };
  if (!has_regions(runnable)) return with_windows(std::move(runnable));
  // What the reverse of a step need not read, it should not: optimised before it is decided what is kept.
  return with_windows(take_out_sums(optimize(runnable, options)));
}

Graph prepare_lowered(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                      OptReport* report, const LoopMemory& loop_memory, const Target& target) {
  const OptOptions options = optimisations(skip_optimisations);
  Graph runnable =
      optimize(has_regions(unlowered) ? lower_loops(unlowered, loop_memory) : unlowered, options, report);
  // Nothing is differentiated or merged any more.
  if (target.fp8_seconds) runnable = fp8_products(runnable, options.ops, target);
  donate_handed_inputs(runnable);
  // Behind the donations: several steps at once take the place of nothing that is handed to them.
  if (loop_memory.several_steps && has_steps_to_join(runnable, target))
    runnable = optimize(take_several_steps(runnable, target), options);
  return runnable;
}

Graph prepare_graph(const Graph& graph, const std::vector<std::string>& skip_optimisations, OptReport* report,
                    const LoopMemory& loop_memory, const Target& target) {
  return prepare_lowered(prepare_unlowered(graph, skip_optimisations, target), skip_optimisations, report,
                         loop_memory, target);
}

}  // namespace tidemark
