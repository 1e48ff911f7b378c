#include "tidemark/plan/passes/updates.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "tidemark/ir/effects.h"
#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

constexpr std::int64_t small_bytes = 64;  // rates and counts, that many updates share

bool is_small(const Draft& draft, ValueId v) { return draft.graph->type(v).bytes() <= small_bytes; }
bool is_number(const Draft& draft, ValueId v) { return draft.graph->type(v).count() <= 1; }

// The donated input in whose memory a root lies; invalid: none.
ValueId donor_of(const Draft& draft, ValueId root) {
  return draft.graph->is_input(root) ? root : draft.home[root.index];
}

// Does it read one value, beside numbers and what it writes over? Then it codes or decodes that value, or
// puts it in its place. What makes a gradient reads two: what went in, and what comes back.
bool reads_one(const Draft& draft, const Node& node) {
  if (node.results.size() != 1 || !node.regions.empty() || has_effects(node)) return false;
  const ValueId donor = draft.home[node.results[0].index];
  std::vector<ValueId> read;
  for (const ValueId v : node.operands) {
    const ValueId root = draft.root(v);
    if (is_number(draft, v) || (donor.valid() && donor_of(draft, root) == donor)) continue;
    if (std::ranges::count(read, root) == 0) read.push_back(root);
  }
  return read.size() == 1;
}

// Each behind what it waits for, else as the graph lists them.
std::vector<int> in_graph_order(const Draft& draft, const OrderModel& model) {
  using Rank = std::pair<std::uint32_t, int>;
  std::priority_queue<Rank, std::vector<Rank>, std::greater<>> ready;
  const auto add = [&](int t) { ready.emplace(draft.executions[at(t)].node.index, t); };
  std::vector<int> waiting(at(model.tasks)), order;
  for (int t = 0; t < model.tasks; ++t) {
    waiting[at(t)] = static_cast<int>(model.before[t].size());
    if (waiting[at(t)] == 0) add(t);
  }
  while (!ready.empty()) {
    const int t = ready.top().second;
    ready.pop();
    order.push_back(t);
    for (const int a : model.after[t]) {
      if (--waiting[at(a)] == 0) add(a);
    }
  }
  return order;
}

}  // namespace

Updates::Updates(const Draft& draft, const OrderModel& model, const std::vector<bool>& joins)
    : update_of_(at(model.tasks), -1), free_(at(model.tasks), false) {
  const Graph& graph = *draft.graph;
  const std::vector<int> order = in_graph_order(draft, model);
  std::vector<bool> small(at(model.tasks)), member(at(model.tasks), false);
  for (const int t : order) {
    // Results in donated memory count too, though the order's model has no items for them.
    const auto& results = graph[draft.executions[at(t)].node].results;
    small[at(t)] = std::ranges::all_of(results, [&](ValueId v) { return is_small(draft, v); });
    free_[at(t)] = small[at(t)] && std::ranges::all_of(model.before[t], [&](int b) { return free_[at(b)]; });
  }
  // A number is what updates share, and no part of one: a rate, or the norm of all gradients.
  const auto is_shared = [&](int t) {
    const auto& results = graph[draft.executions[at(t)].node].results;
    return std::ranges::all_of(results, [&](ValueId v) { return is_number(draft, v); });
  };
  std::vector<int> root(at(model.tasks));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int t) {
    while (root[at(t)] != t) t = root[at(t)] = root[at(root[at(t)])];
    return t;
  };
  for (const int t : std::vector<int>(order.rbegin(), order.rend())) {
    // Nothing but its update waits for a member: what a backward pass goes on with is none, so that an
    // update can run as a whole. What ends in a few bytes may as well wait.
    const bool kept = std::ranges::any_of(model.makes[t], [&](int i) { return model.pinned[at(i)]; });
    const bool ends = model.after[t].empty();
    if (kept || free_[at(t)] || is_shared(t) || (ends && small[at(t)])) continue;
    if (!std::ranges::all_of(model.after[t], [&](int a) { return member[at(a)]; })) continue;
    member[at(t)] = joins[at(t)] || reads_one(draft, graph[draft.executions[at(t)].node]);
    if (!member[at(t)]) continue;
    for (const int a : model.after[t]) root[at(find(t))] = find(a);
  }
  for (const int t : order) {
    if (!member[at(t)]) continue;
    int& update = update_of_[at(find(t))];
    if (update < 0) {
      update = static_cast<int>(members_.size());
      members_.emplace_back();
    }
    update_of_[at(t)] = update;
    members_[at(update)].push_back(t);
  }
}

}  // namespace tidemark
