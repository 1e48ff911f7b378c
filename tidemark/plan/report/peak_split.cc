#include "tidemark/plan/report/peak_split.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/report/phases.h"

namespace tidemark {
namespace {

// Does an output depend on the gradients of several parameters?
bool mixes_gradients(const Graph& graph) {
  constexpr int none = -1, several = -2;
  const std::vector<bool> gradients = gradients_of(graph);
  std::vector<int> of(graph.values().size(), none);  // the value of the gradient it depends on
  for (const Node& node : graph.nodes()) {
    int from = none;
    for (const ValueId v : node.operands) {
      if (of[v.index] == none) continue;
      from = from == none || from == of[v.index] ? of[v.index] : several;
    }
    for (const ValueId v : node.results) of[v.index] = gradients[v.index] ? static_cast<int>(v.index) : from;
  }
  return std::ranges::any_of(graph.outputs(), [&](ValueId v) { return of[v.index] == several; });
}

bool returns_gradients(const Graph& graph) {
  std::vector<bool> gradients = gradients_of(graph);
  for (const ValueId v : graph.outputs()) gradients[v.index] = false;
  return std::ranges::none_of(gradients, std::identity());
}

}  // namespace

PeakSplit peak_split(const Graph& graph, const Plan& plan) {
  PeakSplit split;
  if (plan.steps.empty()) return split;
  const std::vector<std::vector<RoleSpan>> spans = roles_over_time(graph, plan);
  const std::int32_t peak = peak_step(plan);
  std::vector<std::int64_t> change(plan.steps.size() + 1, 0);  // of gradients
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.memory != 0) continue;
    for (const RoleSpan& span : spans[b]) {
      if (span.role == PeakRole::gradients && buffer.binding == Binding::arena) {
        ++split.gradients;
        split.all_gradients += buffer.bytes;
        change[static_cast<std::size_t>(span.begin)] += buffer.bytes;
        change[static_cast<std::size_t>(span.end)] -= buffer.bytes;
      }
      const bool there = span.begin <= peak && peak < span.end;
      if (there) split.bytes[static_cast<std::size_t>(span.role)] += buffer.bytes;
    }
  }
  split.all_needed = mixes_gradients(graph);
  split.all_returned = returns_gradients(graph);
  std::int64_t load = 0;
  for (const std::int64_t c : change) split.most_gradients = std::max(split.most_gradients, load += c);
  const std::int64_t sum = std::accumulate(split.bytes.begin(), split.bytes.end(), std::int64_t{0});
  split.bytes[static_cast<std::size_t>(PeakRole::unused)] = plan.peak() - sum;
  return split;
}

}  // namespace tidemark
