// Makes one unit of two where the order allows it and the load does not rise above the limit.
#include <algorithm>

#include "tidemark/plan/passes/fuse_state.h"

namespace tidemark {

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
    unit(first).take_kind(unit(second));
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

}  // namespace tidemark
