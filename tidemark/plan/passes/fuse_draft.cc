// From a draft to what groups are made of: runs, the items that they make and read, and what must run before
// what.
#include "tidemark/ir/effects.h"
#include "tidemark/plan/passes/fuse_state.h"

namespace tidemark {

void FuseState::read_draft() {
  runs_.resize(draft_.executions.size());
  std::vector<int> item_of(graph_.values().size(), -1);
  for (const Input& input : graph_.inputs()) {
    item_of[input.value.index] = static_cast<int>(items_.size());
    items_.push_back({.root = input.value, .maker = -1, .readers = {}, .size = 0, .pinned = true});
  }
  for (int r = 0; r < runs(); ++r) read_run(r, item_of);
  for (std::size_t v = 0; v < item_of.size(); ++v) {
    if (item_of[v] >= 0 && wanted_[v]) item(item_of[v]).pinned = true;
  }
  read_edges();
  for (int r = 0; r < runs(); ++r) {
    Unit u{.runs = {r}, .position = r, .open = run(r).fusion != Fusion::none, .shape = run(r).shape};
    u.closed = run(r).fusion == Fusion::reduction;
    for (int i : run(r).makes) u.has_home |= draft_.home[item(i).root.index].valid();
    units_.push_back(std::move(u));
    unit_of_.push_back(r);
    at_.push_back(r);
  }
  read_groups();
}

// Groups that the draft has already are units, at the position of their first run.
void FuseState::read_groups() {
  bool any = false;
  for (int r = 1; r < runs(); ++r) {
    const int group = draft_.executions[static_cast<std::size_t>(r)].group;
    if (group < 0 || draft_.executions[static_cast<std::size_t>(r) - 1].group != group) continue;
    const int first = unit_of(r - 1);
    move_runs(first, r, unit(first).position);
    unit(first).take_kind(unit(r));
    any = true;
  }
  if (!any) return;
  for (Item& x : items_) x.last_read = find_last_read(x);
}

void FuseState::read_run(int r, std::vector<int>& item_of) {
  const Node& node = graph_[draft_.executions[static_cast<std::size_t>(r)].node];
  const PlannedCall call(draft_, node);
  Run& run = this->run(r);
  run.node = draft_.executions[static_cast<std::size_t>(r)].node;
  run.scratch = draft_.target->aligned(draft_.target->scratch(call));
  if (!node.results.empty() && node.regions.empty()) run.fusion = draft_.target->fusion(call);
  const bool elementwise = run.fusion == Fusion::pointwise || run.fusion == Fusion::window;
  if (elementwise && run.scratch > 0) run.fusion = Fusion::none;
  if (run.fusion == Fusion::window && draft_.target->most_halo > 0) run.shift = draft_.target->shift(call);
  if (run.fusion == Fusion::reduction) {
    run.shape = graph_.type(node.operands[0]).shape;
  } else if (run.fusion != Fusion::none) {
    run.shape = graph_.type(node.results[0]).shape;
  }
  for (ValueId v : node.operands) {
    const int i = item_of[draft_.root(v).index];
    TM_CHECK(i >= 0, "%{} is read before it is computed", v.index);
    run.reads.push_back({i, v});
    if (item(i).last_read == r) continue;
    item(i).readers.push_back(r);
    item(i).last_read = r;
  }
  for (std::size_t q = 0; q < node.results.size(); ++q) {
    const ValueId v = node.results[q];
    const bool counts = !draft_.home[v.index].valid();
    // A region's outputs lie where its caller says: they are no load here.
    const bool elsewhere = draft_.binds_outputs && wanted_[v.index];
    const int made = static_cast<int>(items_.size());
    if (draft_.target->facts(*node.op).in_place && counts) {
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        const ValueId root = draft_.root(node.operands[k]);
        if (graph_.is_input(root) || draft_.home[root.index].valid() || wanted_[root.index]) continue;
        if (!can_overwrite(draft_, node, call, static_cast<int>(q), static_cast<int>(k))) continue;
        run.reuses.push_back({made, run.reads[k].item});
      }
    }
    run.makes.push_back(made);
    items_.push_back({.root = v,
                      .maker = r,
                      .readers = {},
                      .size = counts && !elsewhere ? draft_.target->aligned(graph_.type(v).bytes()) : 0,
                      .pinned = false});
    item_of[v.index] = made;
  }
}

// Whatever must have run before a run: makers of what it reads, who read the version that it replaces, the
// run before of the same node, earlier effects of its domains, and readers of memory that is to be
// overwritten.
void FuseState::read_edges() {
  std::vector<std::vector<int>> runs_of(graph_.nodes().size());
  std::vector<int> version(graph_.values().size(), -1);  // the latest item
  const auto edge = [&](int first, int second) { add_once(run(second).before, first); };
  EffectOrder effects;
  for (int r = 0; r < runs(); ++r) {
    const NodeId id = draft_.executions[static_cast<std::size_t>(r)].node;
    const Node& node = graph_[id];
    for (const Read& read : run(r).reads) {
      if (item(read.item).maker >= 0) edge(item(read.item).maker, r);
    }
    if (!runs_of[id.index].empty()) edge(runs_of[id.index].back(), r);
    runs_of[id.index].push_back(r);
    for (int earlier : effects.follow(node, r)) edge(earlier, r);
    for (int i : run(r).makes) {
      int& latest = version[item(i).root.index];
      if (latest >= 0) {
        for (int reader : item(latest).readers) edge(reader, r);
      }
      latest = i;
    }
  }
  for (const Precedence& p : draft_.precedences) {
    for (int second : runs_of[p.second.index]) {
      for (int first : runs_of[p.first.index]) edge(first, second);
    }
  }
  for (int r = 0; r < runs(); ++r) {
    for (int b : run(r).before) run(b).after.push_back(r);
  }
}

}  // namespace tidemark
