// One step: a value made again in some of the units that read it, and taken back if nothing is gained.
#include <algorithm>

#include "tidemark/plan/costs.h"
#include "tidemark/plan/passes/duplicate_search.h"

namespace tidemark {
namespace {

// Of the time of the kernels that change. Predictions are not as exact as that: of what promised two or three
// hundredths (the slope of gelu on the way back), nothing was to be measured.
constexpr double least_gain = 0.05;

}  // namespace

std::vector<int> DuplicateSearch::touched_items(int item, std::span<const Taker> takers) const {
  const int home = state_.unit_of(state_.item(item).maker);
  std::vector<int> list;
  for (const Taker& taker : takers) {
    const std::vector<int> items = state_.items_of(home, taker.unit);
    list.insert(list.end(), items.begin(), items.end());
    for (const Copy& copy : taker.copies) {
      for (const int i : copy.items) {
        if (i >= 0) list.push_back(i);
      }
    }
  }
  std::ranges::sort(list);
  const auto repeats = std::ranges::unique(list);
  list.erase(repeats.begin(), repeats.end());
  return list;
}

DuplicateSearch::Before DuplicateSearch::remember(std::span<const int> units,
                                                  std::span<const int> items) const {
  Before before;
  before.all_runs = state_.runs_.size();
  before.all_items = state_.items_.size();
  for (const int u : units) {
    before.units.emplace_back(u, state_.unit(u));
    for (const int r : state_.unit(u).runs) before.runs.emplace_back(r, state_.run(r));
  }
  for (const int i : items) before.items.emplace_back(i, state_.item(i));
  return before;
}

void DuplicateSearch::restore(const Before& before) {
  state_.runs_.resize(before.all_runs);
  state_.unit_of_.resize(before.all_runs);
  state_.items_.resize(before.all_items);
  for (const auto& [u, unit] : before.units) {
    state_.unit(u) = unit;
    state_.at_[static_cast<std::size_t>(unit.position)] = u;
    for (const int r : unit.runs) state_.unit_of_[static_cast<std::size_t>(r)] = u;
  }
  for (const auto& [r, run] : before.runs) state_.run(r) = run;
  for (const auto& [i, item] : before.items) state_.item(i) = item;
}

void DuplicateSearch::copy_into(const Taker& taker, int item) {
  const int position = state_.unit(taker.unit).position;
  std::vector<int> copies;
  std::vector<std::pair<int, int>> copy_of;  // run: the item that its copy makes
  for (const Copy& copy : taker.copies) {
    const Run& original = state_.run(copy.run);
    const auto r = static_cast<int>(state_.runs_.size()), made = static_cast<int>(state_.items_.size());
    Run run;
    run.node = original.node;
    run.fusion = original.fusion;
    run.shape = original.shape;
    run.makes = {made};
    for (std::size_t k = 0; k < copy.items.size(); ++k) {
      int source = copy.items[k];
      if (source < 0) source = std::ranges::find(copy_of, -1 - source, &std::pair<int, int>::first)->second;
      run.reads.push_back({source, original.reads[k].value});
      Item& x = state_.item(source);
      FuseState::add_once(x.readers, r);
      if (x.maker >= 0) FuseState::add_once(run.before, x.maker);
      x.last_read = std::max(x.last_read, position);
    }
    const Item& as = state_.item(original.makes[0]);
    state_.items_.push_back(
        {.root = as.root, .maker = r, .readers = {}, .last_read = position, .size = as.size});
    state_.runs_.push_back(std::move(run));
    state_.unit_of_.push_back(taker.unit);
    copy_of.emplace_back(copy.run, made);
    copies.push_back(r);
  }
  const int made = copy_of.back().second;
  Unit& unit = state_.unit(taker.unit);
  for (const int r : unit.runs) {
    bool reads = false;
    for (Read& read : state_.run(r).reads) {
      if (read.item != item) continue;
      read.item = made;
      reads = true;
    }
    if (!reads) continue;
    std::erase(state_.item(item).readers, r);
    state_.item(made).readers.push_back(r);
  }
  unit.runs.insert(unit.runs.begin() + static_cast<std::ptrdiff_t>(taker.at), copies.begin(), copies.end());
}

// What nobody reads any more is not made, nor what its unit makes for it alone. False: another unit makes
// something for it alone, another version of which the copies read; that one had better stay in use.
bool DuplicateSearch::remove_unread(int item) {
  const int home = state_.unit_of(state_.item(item).maker);
  std::vector<int> unread = {item};
  while (!unread.empty()) {
    const int i = unread.back();
    unread.pop_back();
    Item& x = state_.item(i);
    x.last_read = state_.find_last_read(x);
    if (!x.readers.empty() || x.pinned || x.maker < 0) continue;
    const int r = x.maker;
    if (state_.unit_of(r) != home || state_.run(r).makes.size() != 1) return false;
    x.maker = -1;
    Unit& unit = state_.unit(home);
    std::erase(unit.runs, r);
    state_.unit_of_[static_cast<std::size_t>(r)] = -1;
    if (unit.runs.empty()) state_.at_[static_cast<std::size_t>(unit.position)] = -1;
    for (const Read& read : state_.run(r).reads) {
      std::erase(state_.item(read.item).readers, r);
      unread.push_back(read.item);
    }
  }
  return true;
}

bool DuplicateSearch::is_valid(std::span<const int> units) const {
  for (const int u : units) {
    const Unit& unit = state_.unit(u);
    if (unit.runs.size() <= 1) continue;
    if (!state_.is_small_enough(u, u) || (unit.closed && !state_.folds_own_result(u, u))) return false;
  }
  return state_.profile_.most() <= state_.limit_;
}

// Where a change of lifetimes, or of the units themselves, changes what may be overwritten.
void DuplicateSearch::touch(std::span<const int> items, std::vector<int>& touched) const {
  for (const int i : items) {
    const FuseState::Life life = state_.life_of(state_.item(i));
    const int u = life.counts() ? state_.at_[static_cast<std::size_t>(life.end)] : -1;
    if (u >= 0) FuseState::add_once(touched, u);
  }
}

// Takes the load from one state of these items and units to the other, which is in place.
void DuplicateSearch::recount(std::span<const Life> lives, std::span<const int> items,
                              std::span<const int> units) {
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (lives[k].counts()) state_.profile_.add(lives[k].begin, lives[k].end, -state_.item(items[k]).size);
    state_.count(items[k], +1);
  }
  for (const int u : units) state_.recount_extra(u);
}

bool DuplicateSearch::attempt(int item, std::span<const Taker> takers) {
  const int home = state_.unit_of(state_.item(item).maker);
  std::vector<int> units = {home};
  for (const Taker& taker : takers) units.push_back(taker.unit);
  const std::vector<int> items = touched_items(item, takers);
  const auto lives = [&] {
    std::vector<Life> list;
    for (const int i : items) list.push_back(state_.life_of(state_.item(i)));
    return list;
  };
  std::vector<int> touched = units;
  touch(items, touched);
  const Before before = remember(units, items);
  const std::vector<Life> lives_before = lives();
  for (const Taker& taker : takers) copy_into(taker, item);
  const bool complete = remove_unread(item);
  const bool in_order = !draft_.order_is_given || state_.item(item).maker >= 0;
  double seconds = 0, seconds_before = 0;
  for (const int u : units) {
    seconds += seconds_of(u);
    seconds_before += seconds_[static_cast<std::size_t>(u)];
  }
  if (complete && in_order && seconds < (1 - least_gain) * seconds_before) {
    touch(items, touched);
    recount(lives_before, items, touched);
    if (is_valid(units)) {
      for (const int u : units) {
        seconds_[static_cast<std::size_t>(u)] = seconds_of(u);
        changed_[static_cast<std::size_t>(u)] = round_;
      }
      return true;
    }
    const std::vector<Life> lives_after = lives();
    restore(before);
    recount(lives_after, items, touched);
    return false;
  }
  restore(before);
  return false;
}

const DuplicateSearch::RunCost& DuplicateSearch::cost_of(NodeId node) const {
  std::optional<RunCost>& known = costs_[node.index];
  if (!known) {
    const PlannedCall call(draft_, (*draft_.graph)[node]);
    known = {draft_.target->cost(call), arithmetic_dtype(call)};
  }
  return *known;
}

// As kernel_costs counts (costs.h).
double DuplicateSearch::seconds_of(int u) const {
  const Unit& unit = state_.unit(u);
  if (unit.runs.empty()) return 0;
  KernelSum sum(*draft_.machine);
  const auto bytes = [&](ValueId v) { return static_cast<double>(draft_.graph->type(v).bytes()); };
  std::vector<ValueId> at_hand;
  for (const int r : unit.runs) {
    const Run& run = state_.run(r);
    const RunCost& known = cost_of(run.node);
    if (unit.runs.size() == 1) {
      sum.add_alone(known.cost, known.dtype);
      break;
    }
    Cost cost = known.cost;
    for (const Read& read : run.reads) {
      const int maker = state_.item(read.item).maker;
      if ((maker >= 0 && state_.unit_of(maker) == u) || std::ranges::count(at_hand, read.value) > 0) {
        cost.bytes -= bytes(read.value);
      } else {
        at_hand.push_back(read.value);
      }
    }
    for (const int made : run.makes) {
      if (!state_.life_of(state_.item(made)).counts()) cost.bytes -= bytes(state_.item(made).root);
    }
    cost.bytes = std::max(0.0, cost.bytes);
    sum.add_to_group(cost, known.dtype);
  }
  return sum.seconds();
}

}  // namespace tidemark
