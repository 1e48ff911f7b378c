#include "tidemark/engine/planned_graph.h"

#include <set>

#include "tidemark/base/error.h"
#include "tidemark/base/text_file.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/plan_page.h"
#include "tidemark/engine/program.h"
#include "tidemark/ir/graph.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/page.h"
#include "tidemark/plan/report/plan_json.h"

namespace tidemark {

std::vector<LoopForecast> PlannedGraph::loops() const { return loop_forecasts(graph); }

Bytes PlannedGraph::handed_out() const {
  std::set<BufferId> counted;
  Bytes bytes;
  for (const Ref& ref : plan.outputs) {
    const Bytes size(graph.type(ref.value).bytes());
    if (plan.buffers[ref.buffer.index].binding == Binding::arena && size.count > small_result_bytes &&
        counted.insert(ref.buffer).second)
      bytes += size;
  }
  return bytes;
}

std::vector<HostCall> PlannedGraph::host_calls() const {
  if (!program) return {};
  return tidemark::host_calls(graph, plan, program->target());
}

Explanation PlannedGraph::explain(const ExplainOptions& wanted, SourceLine where) const {
  PlanOptions options;
  if (program && program->planned_with()) options = plan_options(*program->planned_with());
  if (program) options.target = &program->target();
  if (!options.memory && plan.budget > 0) options.memory = plan.budget;  // a plan that was saved has its own
  return explain_plan(graph, plan, options, wanted, where);
}

std::string PlannedGraph::summary() const {
  std::string text = tidemark::summary(graph, plan) + to_text(loops()) + to_text(host_calls());
  if (program && !program->target().arithmetic.empty())
    text += fmt::format("{:<18}{}\n", "arithmetic", program->target().arithmetic);
  if (program && program->micro_batches().count > 1) {
    const auto [count, examples] = program->micro_batches();
    text +=
        fmt::format("{:<18}{} of {} example{}\n", "micro-batches", count, examples, examples == 1 ? "" : "s");
  }
  if (handed_out().count > 0)
    text +=
        fmt::format("{:<18}{} by each call, in its peak; what of it is held comes on top of later calls\n",
                    "handed out", to_string(handed_out()));
  return text;
}

std::string PlannedGraph::to_json() const {
  const PlannedAlgorithms algorithms = program ? program->algorithms() : PlannedAlgorithms();
  const PlanOrigin origin = program ? program->origin() : PlanOrigin();
  if (algorithms.empty()) return tidemark::to_json(plan, origin);
  Plan recorded = plan;
  recorded.algorithms = algorithms;
  return tidemark::to_json(recorded, origin);
}

void PlannedGraph::save(const std::string& path, SourceLine where) const {
  at_line(where, [&] { write_text_file(path, to_json() + '\n'); });
}

void PlannedGraph::write_html(const std::string& path) const {
  const Target& target = program ? program->target() : cpu_target();
  const Machine& machine = program ? program->machine() : reference_machine();
  const std::string title = graph.name.empty() ? "compiled function" : graph.name;
  PageContent content = page_content(title, graph, plan, target, machine);
  constexpr std::size_t most_nodes = 1000;  // that are explained without being asked for
  if (graph.nodes().size() <= most_nodes) content.explanation = tidemark::to_json(explain({.top = 0}));
  write_text_file(path, page_html(content));
}

}  // namespace tidemark
