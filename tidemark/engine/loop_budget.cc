#include "tidemark/engine/loop_budget.h"

#include <algorithm>
#include <cmath>

#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ops/cpu_target.h"

namespace tidemark {

Graph prepare_within(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                     const PlanOptions& options) {
  Graph everything = prepare_graph(traced, skip_optimisations);
  if (!options.memory) return everything;
  const LoopMemoryRange range = loop_memory_range(traced);
  if (!range.any) return everything;
  PlanOptions free = options;
  free.memory.reset();
  free.warm_start.clear();
  free.after = {};
  free.effort = std::min(free.effort, Effort::quick.factor);
  free.one_round = true;
  // As it will be planned: state that a failing call would lose gets memory of its own.
  const auto fits = [&](Graph graph) {
    return make_safe(graph, [&](const Graph& g) { return make_plan(g, cpu_target(), free); }).peak() <=
           *options.memory;
  };
  if (fits(everything)) return everything;
  const auto with = [&](std::int64_t bytes) {
    return prepare_graph(traced, skip_optimisations, nullptr, bytes);
  };
  Graph best = with(0);  // one state of each, also of those that are smaller than the largest
  if (!fits(best)) return best;
  double low = static_cast<double>(std::max<std::int64_t>(1, range.least));
  double high = static_cast<double>(std::max(range.least, range.most)) + 1;
  constexpr double close = 1.01;
  while (high / low > close && high - low > 1 && !(options.control && options.control->time_is_up())) {
    const double middle = std::sqrt(low * high);
    Graph graph = with(static_cast<std::int64_t>(middle));
    if (fits(graph)) {
      low = middle;
      best = std::move(graph);
    } else {
      high = middle;
    }
  }
  return best;
}

}  // namespace tidemark
