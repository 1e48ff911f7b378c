#include "tidemark/plan/passes/fuse_state.h"

#include <algorithm>

#include "tidemark/ir/effects.h"
#include "tidemark/plan/passes/groups.h"

namespace tidemark {
namespace {

// So many that the tiles of all temporaries stay in the nearest cache, and that preparing a kernel takes no
// time.
constexpr std::size_t most_runs = 32;
// Arrays that a kernel walks through at once; single elements do not count.
constexpr int most_streams = 16;

void add_once(std::vector<int>& list, int x) {
  if (std::ranges::count(list, x) == 0) list.push_back(x);
}

}  // namespace

FuseState::FuseState(const Draft& draft)
    : draft_(draft),
      graph_(*draft.graph),
      wanted_(output_roots(draft)),
      profile_(static_cast<int>(draft.executions.size())) {
  read_draft();
  for (std::size_t i = 0; i < items_.size(); ++i) count(static_cast<int>(i), +1);
  extra_.assign(units_.size(), 0);
  for (int u = 0; u < runs(); ++u) recount_extra(u);
  limit_ = highest_load();
}

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
}

void FuseState::read_run(int r, std::vector<int>& item_of) {
  const Node& node = graph_[draft_.executions[static_cast<std::size_t>(r)].node];
  const PlannedCall call(draft_, node);
  Run& run = this->run(r);
  run.scratch = draft_.target->aligned(draft_.target->scratch(call));
  if (!node.results.empty() && node.regions.empty()) run.fusion = draft_.target->fusion(call);
  if (run.fusion == Fusion::pointwise && run.scratch > 0) run.fusion = Fusion::none;
  if (run.fusion == Fusion::reduction) {
    run.shape = graph_.type(node.operands[0]).shape;
  } else if (run.fusion == Fusion::pointwise) {
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
                      .size = counts ? draft_.target->aligned(graph_.type(v).bytes()) : 0,
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

FuseState::Life FuseState::life_of(const Item& item) const {
  if (item.maker < 0) return {};
  const int home = unit_of(item.maker);
  const int begin = unit(home).position;
  if (item.pinned) return {begin, runs() - 1};
  if (unit(home).runs.size() > 1 && is_inside(item, home, home)) return {};
  return {begin, std::max(begin, item.last_read)};
}

int FuseState::find_last_read(const Item& item) const {
  int last = -1;
  for (int r : item.readers) last = std::max(last, unit(unit_of(r)).position);
  return last;
}

bool FuseState::is_inside(const Item& item, int a, int b) const {
  return !item.pinned && std::ranges::all_of(item.readers, [&](int r) { return is_in(r, a, b); });
}

void FuseState::count(int i, int sign) {
  const Life life = life_of(item(i));
  if (life.counts()) profile_.add(life.begin, life.end, sign * item(i).size);
}

void FuseState::drop_extra(int u) {
  const int at = unit(u).position;
  profile_.add(at, at, -extra_[static_cast<std::size_t>(u)]);
  extra_[static_cast<std::size_t>(u)] = 0;
}

void FuseState::recount_extra(int u) {
  drop_extra(u);
  std::int64_t extra = -saved_at(u);
  for (int r : unit(u).runs) extra += run(r).scratch;
  extra_[static_cast<std::size_t>(u)] = extra;
  profile_.add(unit(u).position, unit(u).position, extra);
}

// As the pass in_place will decide.
std::int64_t FuseState::saved_at(int u) const {
  const Unit& group = unit(u);
  std::vector<int> taken;
  std::int64_t saved = 0;
  const auto is_free = [&](int i) {
    const Item& x = item(i);
    if (x.maker < 0 || x.size == 0 || wanted_[x.root.index] || std::ranges::count(taken, i) > 0) return false;
    return life_of(x).end == group.position;
  };
  for (std::size_t w = 0; w < group.runs.size(); ++w) {
    const Run& writer = run(group.runs[w]);
    if (group.runs.size() > 1 && writer.fusion != Fusion::pointwise) continue;
    for (int made : writer.makes) {
      if (item(made).size == 0 || !life_of(item(made)).counts()) continue;
      int found = -1;
      for (const InPlaceReuse& pair : writer.reuses) {
        if (pair.made != made || !is_free(pair.used)) continue;
        if (group.runs.size() > 1 && !dies_in(group, pair.used, made, w)) continue;
        found = pair.used;
        break;
      }
      for (std::size_t t = 0; t < w && found < 0; ++t) {
        for (const Read& read : run(group.runs[t]).reads) {
          if (found < 0 && is_free(read.item) && dies_in(group, read.item, made, w)) found = read.item;
        }
      }
      if (found < 0) continue;
      taken.push_back(found);
      saved += item(found).size;
    }
  }
  return saved;
}

bool FuseState::dies_in(const Unit& group, int used, int made, std::size_t writer) const {
  const Type& type = graph_.type(item(made).root);
  if (graph_.type(item(used).root).bytes() != type.bytes()) return false;
  for (std::size_t t = 0; t < group.runs.size(); ++t) {
    const Run& r = run(group.runs[t]);
    for (int i : r.makes) {
      if (item(i).root == item(used).root) return false;
    }
    for (const Read& read : r.reads) {
      if (item(read.item).root != item(used).root) continue;
      if (t > writer || !is_aligned(draft_, read.value, type.shape)) return false;
      const auto pair = [&](const InPlaceReuse& p) { return p.made == made && p.used == used; };
      if (t == writer && std::ranges::none_of(r.reuses, pair)) return false;
    }
  }
  return true;
}

// ---- joining

std::vector<int> FuseState::items_of(int a, int b) const {
  std::vector<int> list;
  for (int u : {a, b}) {
    for (int r : unit(u).runs) {
      for (const Read& read : run(r).reads) list.push_back(read.item);
      list.insert(list.end(), run(r).makes.begin(), run(r).makes.end());
    }
  }
  std::ranges::sort(list);
  const auto repeats = std::ranges::unique(list);
  list.erase(repeats.begin(), repeats.end());
  return list;
}

// Facts only: shapes, windows, homes, size.
bool FuseState::fits_together(int first, int second) const {
  const Unit &a = unit(first), &b = unit(second);
  if (!a.open || !b.open || a.closed || a.runs.size() + b.runs.size() > most_runs) return false;
  const bool scalars = a.shape != b.shape;
  if (scalars && element_count(a.shape) != 1) return false;
  for (int r : a.runs) {
    for (int i : run(r).makes) {
      // One element has no memory in a group of more.
      const bool inside = is_inside(item(i), first, second);
      if (scalars && !inside) return false;
      const bool anyhow = inside && graph_.type(item(i).root).count() == 1;
      for (int s : item(i).readers) {
        if (anyhow || unit_of(s) != second) continue;
        for (const Read& read : run(s).reads) {
          if (read.item == i && !is_aligned(draft_, read.value, b.shape)) return false;
        }
      }
    }
  }
  if (b.closed && !folds_own_result(first, second)) return false;
  // Two versions of one value are more than a group need tell apart.
  for (int r : b.runs) {
    for (int i : run(r).makes) {
      for (int s : a.runs) {
        const auto same = [&](int other) { return item(other).root == item(i).root; };
        if (std::ranges::any_of(run(s).makes, same)) return false;
        if (std::ranges::any_of(run(s).reads, [&](const Read& read) { return same(read.item); }))
          return false;
      }
    }
  }
  return is_small_enough(first, second) &&
         (!(a.has_home || b.has_home) || keeps_homes(first, second, b.shape));
}

// A reduction ends a group that makes what it folds, element by element (not one element that is read as
// many), and is there for others.
bool FuseState::folds_own_result(int first, int second) const {
  const Run& fold = run(unit(second).runs.back());
  const Read& folded = fold.reads[0];
  if (!is_in(item(folded.item).maker, first, second)) return false;
  if (!is_aligned(draft_, folded.value, fold.shape)) return false;
  return std::ranges::none_of(fold.makes, [&](int i) { return is_inside(item(i), first, second); });
}

bool FuseState::is_small_enough(int first, int second) const {
  int streams = 0;
  for (int i : items_of(first, second)) {
    if (graph_.type(item(i).root).count() <= 1) continue;
    const bool made = item(i).maker >= 0 && is_in(item(i).maker, first, second);
    streams += !made || !is_inside(item(i), first, second);
  }
  return streams <= most_streams;
}

// What is written into the memory of a donated input may be read there by the same group at the same elements
// only, and not afterwards.
bool FuseState::keeps_homes(int first, int second, const Shape& shape) const {
  std::vector<int> both = unit(first).runs;
  both.insert(both.end(), unit(second).runs.begin(), unit(second).runs.end());
  std::vector<ValueId> written;
  for (std::size_t w = 0; w < both.size(); ++w) {
    for (int made : run(both[w]).makes) {
      const ValueId home = draft_.home[item(made).root.index];
      if (!home.valid() || is_inside(item(made), first, second)) continue;
      if (std::ranges::count(written, home) > 0) return false;
      written.push_back(home);
      for (std::size_t t = 0; t < both.size(); ++t) {
        for (const Read& read : run(both[t]).reads) {
          const Item& other = item(read.item);
          if (other.root != home && draft_.home[other.root.index] != home) continue;
          if (read.item == made || (is_in(other.maker, first, second) && is_inside(other, first, second)))
            continue;
          if (t > w || run(both[w]).fusion != Fusion::pointwise || !is_aligned(draft_, read.value, shape))
            return false;
        }
      }
    }
  }
  return true;
}

bool FuseState::can_stand_at(int position, int first, int second) const {
  if (draft_.order_is_given) {
    for (int p = unit(first).position + 1; p < unit(second).position; ++p) {
      if (at_[static_cast<std::size_t>(p)] >= 0) return false;
    }
  }
  const auto position_of = [&](int r) { return unit(unit_of(r)).position; };
  if (position != unit(first).position) {
    for (int r : unit(first).runs) {
      for (int s : run(r).after) {
        if (!is_in(s, first, second) && position_of(s) < position) return false;
      }
    }
  }
  if (position != unit(second).position) {
    for (int r : unit(second).runs) {
      for (int b : run(r).before) {
        if (!is_in(b, first, second) && position_of(b) > position) return false;
      }
    }
  }
  return true;
}

bool FuseState::try_join(int a, int b) {
  const int first = unit(a).position < unit(b).position ? a : b, second = first == a ? b : a;
  if (!fits_together(first, second)) return false;
  for (int u : {second, first}) {
    const int position = unit(u).position;
    if (can_stand_at(position, first, second) && join_at(position, first, second)) return true;
  }
  return false;
}

// The runs of `second` behind those of `first`, all of them in `first`.
void FuseState::move_runs(int first, int second, int position) {
  Unit &a = unit(first), &b = unit(second);
  for (int r : b.runs) unit_of_[static_cast<std::size_t>(r)] = first;
  a.runs.insert(a.runs.end(), b.runs.begin(), b.runs.end());
  at_[static_cast<std::size_t>(a.position)] = at_[static_cast<std::size_t>(b.position)] = -1;
  at_[static_cast<std::size_t>(position)] = first;
  a.position = position;
}

bool FuseState::join_at(int position, int first, int second) {
  const std::vector<int> items = items_of(first, second);
  const Unit before = unit(first);
  const int from = before.position, to = unit(second).position;
  const std::int64_t highest = std::max(limit_, profile_.most(from, to));
  std::vector<int>
      touched;  // other units where something may be overwritten that could not be before, or no longer
  const auto touch = [&](const Item& x) {
    const Life life = life_of(x);
    if (!life.counts()) return;
    const int u = at_[static_cast<std::size_t>(life.end)];
    if (u >= 0 && u != first && u != second) add_once(touched, u);
  };
  for (int i : items) touch(item(i));
  for (int i : items) count(i, -1);
  drop_extra(first);
  drop_extra(second);
  move_runs(first, second, position);
  std::vector<int> last_reads;
  for (int i : items) {
    int& last = item(i).last_read;
    last_reads.push_back(last);
    if (last <= to) last = find_last_read(item(i));
  }
  for (int i : items) touch(item(i));
  for (int i : items) count(i, +1);
  recount_extra(first);
  for (int u : touched) recount_extra(u);
  if (profile_.most(from, to) <= highest) {
    Unit &a = unit(first), &b = unit(second);
    a.shape = b.shape;
    a.closed = b.closed;
    a.has_home |= b.has_home;
    b.runs.clear();
    return true;
  }
  for (int i : items) count(i, -1);
  drop_extra(first);
  for (std::size_t k = 0; k < items.size(); ++k) item(items[k]).last_read = last_reads[k];
  unit(first) = before;
  for (int r : unit(second).runs) unit_of_[static_cast<std::size_t>(r)] = second;
  at_[static_cast<std::size_t>(from)] = first;
  at_[static_cast<std::size_t>(to)] = second;
  for (int i : items) count(i, +1);
  recount_extra(first);
  recount_extra(second);
  for (int u : touched) recount_extra(u);
  return false;
}

std::vector<int> FuseState::makers(int u) const {
  std::vector<int> list;
  for (int r : unit(u).runs) {
    for (const Read& read : run(r).reads) {
      const int maker = item(read.item).maker;
      if (maker >= 0 && unit_of(maker) != u && unit(unit_of(maker)).open) add_once(list, unit_of(maker));
    }
  }
  std::ranges::sort(list, std::greater(), [&](int other) { return unit(other).position; });
  return list;
}

std::vector<int> FuseState::fellow_readers(int u) const {
  constexpr int most = 3;
  std::vector<int> list;
  for (int r : unit(u).runs) {
    for (const Read& read : run(r).reads) {
      if (graph_.type(read.value).count() != element_count(unit(u).shape)) continue;
      const std::vector<int>& readers = item(read.item).readers;
      auto next = std::ranges::upper_bound(readers, r);
      for (int k = 0; k < most && next != readers.end(); ++k, ++next) {
        const int other = unit_of(*next);
        if (other != u && unit(other).open && unit(other).shape == unit(u).shape) add_once(list, other);
      }
    }
  }
  return list;
}

std::vector<Execution> FuseState::executions() const {
  std::vector<Execution> list;
  int group = 0;
  for (int u : at_) {
    if (u < 0) continue;
    for (int r : unit(u).runs) {
      list.push_back(draft_.executions[static_cast<std::size_t>(r)]);
      list.back().group = unit(u).runs.size() > 1 ? group : -1;
    }
    group += unit(u).runs.size() > 1;
  }
  return list;
}

std::int64_t FuseState::order_bound() const {
  OrderParts parts;
  std::vector<int> task_of(units_.size(), -1), item_number(items_.size(), -1);
  for (int u : at_) {
    if (u >= 0)
      task_of[static_cast<std::size_t>(u)] = static_cast<int>(parts.scratch.size()),
      parts.scratch.push_back(0);
  }
  parts.before.resize(parts.scratch.size());
  parts.uses.resize(parts.scratch.size());
  parts.makes.resize(parts.scratch.size());
  parts.reuses.resize(parts.scratch.size());
  for (int u : at_) {
    if (u < 0) continue;
    const auto t = static_cast<std::size_t>(task_of[static_cast<std::size_t>(u)]);
    std::vector<int> used;
    for (int r : unit(u).runs) {
      parts.scratch[t] += run(r).scratch;
      for (int b : run(r).before) {
        if (unit_of(b) != u) add_once(parts.before[t], task_of[static_cast<std::size_t>(unit_of(b))]);
      }
      for (const Read& read : run(r).reads) {
        const int number = item_number[static_cast<std::size_t>(read.item)];
        if (number < 0 || unit_of(item(read.item).maker) == u) continue;
        add_once(parts.uses[t], number);
        add_once(used, read.item);
      }
    }
    for (int r : unit(u).runs) {
      for (int i : run(r).makes) {
        if (item(i).size == 0 || !life_of(item(i)).counts()) continue;
        const int number = item_number[static_cast<std::size_t>(i)] = static_cast<int>(parts.size.size());
        parts.size.push_back(item(i).size);
        parts.pinned.push_back(item(i).pinned);
        parts.present.push_back(false);
        parts.makes[t].push_back(number);
        // A bound may think more possible than is.
        for (int other : used) {
          if (item(other).size == item(i).size && !wanted_[item(other).root.index])
            parts.reuses[t].push_back({number, item_number[static_cast<std::size_t>(other)]});
        }
      }
    }
  }
  return tidemark::order_bound(make_model(std::move(parts)));
}

}  // namespace tidemark
