#include "tidemark/plan/report/peak_split.h"
#include "tidemark/ir/graph.h"

#include <algorithm>
#include <numeric>

namespace tidemark {
namespace {

// What a step has put into a buffer of the arena.
struct Held {
  std::size_t step = 0;  // that made it
  bool again = false;    // its node had run before
};

}  // namespace

PeakSplit peak_split(const Graph& graph, const Plan& plan) {
  PeakSplit split;
  if (plan.steps.empty()) return split;
  const std::vector<PeakRole> inputs = roles_of_inputs(graph);
  const std::vector<bool> forward = forward_nodes(graph);
  const std::vector<bool> gradients = gradient_values(graph, plan, forward);
  const std::int32_t peak = peak_step(plan);

  std::vector<Held> held(plan.buffers.size());
  std::vector<bool> gradient(plan.buffers.size(), false), waits(plan.buffers.size(), false);
  std::vector<bool> ran(graph.nodes().size(), false);
  std::size_t forward_end = 0;  // its last step
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    const bool computes = step.kind == StepKind::compute;
    const bool before = static_cast<std::int32_t>(t) <= peak;
    if (static_cast<std::int32_t>(t) >= peak && (!computes || !forward[step.node.index])) {
      for (const Ref& in : step.in) waits[in.buffer.index] = true;
    }
    for (const Ref& out : step.out) {
      gradient[out.buffer.index] = gradient[out.buffer.index] || gradients[out.value.index];
      if (before) held[out.buffer.index] = {t, computes && ran[step.node.index]};
    }
    if (computes && !ran[step.node.index] && forward[step.node.index]) forward_end = t;
    if (computes) ran[step.node.index] = true;
  }

  const auto role_of = [&](std::size_t b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.binding == Binding::argument) return inputs[static_cast<std::size_t>(buffer.slot)];
    if (!buffer.value.valid()) return PeakRole::workspaces;
    if (gradient[b]) return PeakRole::gradients;
    if (buffer.purpose == Purpose::output) return PeakRole::results;
    if (held[b].again) return PeakRole::recomputed;
    if (held[b].step <= forward_end && waits[b]) return PeakRole::activations;
    return PeakRole::temporaries;
  };
  std::vector<std::int64_t> change(plan.steps.size() + 1, 0);  // of gradients
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.memory != 0 || buffer.binding == Binding::tile) continue;
    if (gradient[b] && buffer.binding == Binding::arena) {
      ++split.gradients;
      split.all_gradients += buffer.bytes;
      change[static_cast<std::size_t>(buffer.begin)] += buffer.bytes;
      change[static_cast<std::size_t>(buffer.end)] -= buffer.bytes;
    }
    const bool there = buffer.begin <= peak && peak < buffer.end;
    if (!there && buffer.binding != Binding::argument) continue;
    split.bytes[static_cast<std::size_t>(role_of(b))] += buffer.bytes;
  }
  split.all_needed = mixes_gradients(graph);
  std::int64_t load = 0;
  for (const std::int64_t c : change) split.most_gradients = std::max(split.most_gradients, load += c);
  const std::int64_t sum = std::accumulate(split.bytes.begin(), split.bytes.end(), std::int64_t{0});
  split.bytes[static_cast<std::size_t>(PeakRole::unused)] = plan.peak() - sum;
  return split;
}

}  // namespace tidemark
