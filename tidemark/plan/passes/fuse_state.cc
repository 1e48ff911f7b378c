#include "tidemark/plan/passes/fuse_state.h"

#include <algorithm>

#include "tidemark/plan/passes/groups.h"

namespace tidemark {

void FuseState::add_once(std::vector<int>& list, int x) {
  if (std::ranges::count(list, x) == 0) list.push_back(x);
}

FuseState::FuseState(const Draft& draft)
    : draft_(draft),
      graph_(*draft.graph),
      wanted_(output_roots(draft)),
      profile_(static_cast<int>(draft.executions.size())) {
  read_draft();
  for (std::size_t i = 0; i < items_.size(); ++i) count(static_cast<int>(i), +1);
  extra_.assign(units_.size(), 0);
  for (int u = 0; u < runs(); ++u) {
    if (!unit(u).runs.empty()) recount_extra(u);
  }
  limit_ = highest_load();
}

FuseState::Life FuseState::life_of(const Item& item) const {
  if (item.maker < 0) return {};
  const int home = unit_of(item.maker);
  const int begin = unit(home).position;
  if (item.pinned) return {begin, last_position()};
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
  if (reads_window_inside(u, u)) return 0;
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
      if (t > writer || r.fusion == Fusion::window || !is_aligned(draft_, read.value, type.shape))
        return false;
      const auto pair = [&](const InPlaceReuse& p) { return p.made == made && p.used == used; };
      if (t == writer && std::ranges::none_of(r.reuses, pair)) return false;
    }
  }
  return true;
}

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
      const auto r_index = static_cast<std::size_t>(r);
      if (r_index < draft_.executions.size()) {
        list.push_back(draft_.executions[r_index]);
      } else {
        list.push_back({.node = run(r).node, .duplicate = true});
      }
      list.back().group = unit(u).runs.size() > 1 ? group : -1;
    }
    group += unit(u).runs.size() > 1;
  }
  return list;
}

}  // namespace tidemark
