#include "tidemark/plan/groups.h"

#include <algorithm>
#include <array>

namespace tidemark {

std::size_t group_end(const Draft& draft, std::size_t t) {
  const int group = draft.executions[t++].group;
  while (group >= 0 && t < draft.executions.size() && draft.executions[t].group == group) ++t;
  return t;
}

std::vector<std::vector<bool>> in_tiles(const Draft& draft) {
  const Graph& graph = *draft.graph;
  const std::vector<bool> pinned = output_roots(draft);
  std::vector<std::vector<bool>> result(draft.executions.size());
  constexpr std::size_t never = 0;
  std::vector<std::size_t> last_read(graph.values().size(), never);  // one past it; of the version at hand
  std::size_t end = draft.executions.size();                         // of the group at hand
  for (std::size_t t = draft.executions.size(); t-- > 0;) {
    const Execution& run = draft.executions[t];
    if (t + 1 == draft.executions.size() || draft.executions[t + 1].group != run.group || run.group < 0)
      end = t + 1;
    const Node& node = graph[run.node];
    for (ValueId v : node.results) {
      if (run.group >= 0)
        result[t].push_back(!draft.is_view(v) && !pinned[v.index] && last_read[v.index] <= end);
      last_read[v.index] = never;
    }
    for (ValueId v : node.operands) {
      std::size_t& last = last_read[draft.root(v).index];
      last = std::max(last, t + 1);
    }
  }
  return result;
}

bool is_aligned(const Draft& draft, ValueId operand, const Shape& shape) {
  return draft.graph->type(operand).shape == shape && draft.covers_root(operand);
}

namespace {

// Adds up the runs of one kernel: a group's, or one by itself.
class KernelCost {
 public:
  explicit KernelCost(const Draft& draft) : draft_(draft), graph_(*draft.graph) {}

  // What the run adds.
  Cost add(const Execution& run, const std::vector<bool>& in_tiles) {
    const Node& node = graph_[run.node];
    const PlannedCall call(draft_, node);
    Cost cost = cost_of(call);
    alone_ += seconds_of(*draft_.machine, cost, arithmetic_dtype(call));
    if (run.group < 0) return cost;
    for (ValueId v : node.operands) {
      if (is_in(at_hand_, v) || is_in(made_, draft_.root(v))) {
        cost.bytes -= static_cast<double>(graph_.type(v).bytes());
      } else {
        at_hand_.push_back(v);
      }
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      made_.push_back(node.results[r]);
      if (in_tiles[r]) cost.bytes -= static_cast<double>(graph_.type(node.results[r]).bytes());
    }
    cost.bytes = std::max(0.0, cost.bytes);
    bytes_ += cost.bytes;
    const auto work = static_cast<std::size_t>(cost.work);
    const auto dtype = static_cast<std::size_t>(arithmetic_dtype(call));
    work_flops_[work] += cost.flops / draft_.machine->work[work].speed[dtype];
    if (first_ == WorkKind::by_kind) first_ = cost.work;
    return cost;
  }

  double alone() const { return alone_; }  // if the runs were kernels of their own
  double seconds() const {
    if (first_ == WorkKind::by_kind) return alone_;
    const Machine& machine = *draft_.machine;
    double seconds = machine.overhead;
    for (std::size_t work = 0; work < work_flops_.size(); ++work) {
      if (work_flops_[work] > 0)
        seconds += work_flops_[work] / machine.work[work].flops.at(work_flops_[work]);
    }
    if (bytes_ > 0) seconds += bytes_ / machine[first_].bytes.at(bytes_);
    return seconds;
  }

 private:
  static bool is_in(const std::vector<ValueId>& list, ValueId v) { return std::ranges::count(list, v) > 0; }

  const Draft& draft_;
  const Graph& graph_;
  std::vector<ValueId> at_hand_, made_;  // read before; written here
  double bytes_ = 0, alone_ = 0;
  std::array<double, work_count> work_flops_ = {};  // by kind, as many as take f32 the same time
  WorkKind first_ = WorkKind::by_kind;              // whose bandwidth counts
};

}  // namespace

RunCosts costs_of(const Draft& draft) {
  RunCosts costs;
  const std::vector<std::vector<bool>> tiles = in_tiles(draft);
  std::vector<bool> ran(draft.graph->nodes().size(), false);
  for (std::size_t t = 0; t < draft.executions.size();) {
    KernelCost all(draft), firsts(draft);
    bool repeats = false;
    for (const std::size_t end = group_end(draft, t); t < end; ++t) {
      const Execution& run = draft.executions[t];
      const Cost cost = all.add(run, tiles[t]);
      costs.flops += cost.flops;
      costs.bytes += cost.bytes;
      if (!ran[run.node.index]) firsts.add(run, tiles[t]);
      repeats |= ran[run.node.index];
      ran[run.node.index] = true;
    }
    costs.seconds += all.seconds();
    costs.saved_seconds += all.alone() - all.seconds();
    costs.first_seconds += !repeats ? all.seconds() : firsts.seconds();
  }
  costs.first_seconds = std::min(costs.first_seconds, costs.seconds);
  return costs;
}

}  // namespace tidemark
