#include "tidemark/plan/passes/duplicate_search.h"

#include <algorithm>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/groups.h"

namespace tidemark {
namespace {

// A value made in one kernel may be the reason that another is worth making there, too.
constexpr int most_rounds = 3;
// Of the runs that make a value: more are hardly ever faster than memory.
constexpr std::size_t most_copies = 8;
// Of the kernels that read it: each is tried.
constexpr std::size_t most_takers = 16;

}  // namespace

DuplicateSearch::DuplicateSearch(const Draft& draft)
    : draft_(draft),
      state_(draft),
      first_write_(draft.graph->values().size(), state_.last_position() + 1),
      versions_(draft.graph->values().size()),
      changed_(state_.units_.size(), 0),
      costs_(draft.graph->nodes().size()) {
  for (std::size_t i = 0; i < state_.items_.size(); ++i) {
    const Item& x = state_.items_[i];
    versions_[x.root.index].push_back(static_cast<int>(i));
    const ValueId home = draft.home[x.root.index];
    if (x.maker < 0 || !home.valid()) continue;
    int& first = first_write_[home.index];
    first = std::min(first, state_.unit(state_.unit_of(x.maker)).position);
  }
  for (std::size_t u = 0; u < state_.units_.size(); ++u) seconds_.push_back(seconds_of(static_cast<int>(u)));
}

bool DuplicateSearch::find() {
  bool any = false;
  for (round_ = 1; round_ <= most_rounds; ++round_) {
    bool more = false;
    const auto items = static_cast<int>(state_.items_.size());
    for (int i = 0; i < items; ++i) more |= try_item(i);
    if (!more) break;
    any = true;
  }
  return any;
}

bool DuplicateSearch::may_repeat(int r) const {
  const Run& run = state_.run(r);
  const auto listed = static_cast<std::size_t>(r);
  const bool required = listed < draft_.executions.size() && draft_.executions[listed].required;
  return run.fusion == Fusion::pointwise && run.makes.size() == 1 && !required &&
         may_recompute(draft_, run.node);
}

// Its run, and those that make what it reads and nobody stores, in order. Empty: not all may run again.
std::vector<int> DuplicateSearch::made_with(int item) const {
  const int home = state_.unit_of(state_.item(item).maker);
  std::vector<int> wanted = {state_.item(item).maker};
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!may_repeat(wanted[k]) || wanted.size() > most_copies) return {};
    for (const Read& read : state_.run(wanted[k]).reads) {
      const Item& x = state_.item(read.item);
      if (x.maker >= 0 && state_.unit_of(x.maker) == home && !state_.life_of(x).counts())
        FuseState::add_once(wanted, x.maker);
    }
  }
  std::vector<int> chain;
  for (const int r : state_.unit(home).runs) {
    if (std::ranges::count(wanted, r) > 0) chain.push_back(r);
  }
  return chain;
}

bool DuplicateSearch::takes_shape(const Unit& unit, int i) const {
  const Type& type = draft_.graph->type(state_.item(i).root);
  if (type.count() == 1) return true;
  if (type.shape != unit.shape) return false;
  for (const int r : unit.runs) {
    for (const Read& read : state_.run(r).reads) {
      if (read.item == i && !is_aligned(draft_, read.value, unit.shape)) return false;
    }
  }
  return true;
}

// What a copy would read in the unit if it stood behind so many of its runs, by the same name; negative:
// nothing is there. None: what is there cannot be read.
std::optional<int> DuplicateSearch::found_in(int u, const Read& read, std::size_t at) const {
  const Unit& unit = state_.unit(u);
  const ValueId root = state_.item(read.item).root;
  int found = -1;
  for (std::size_t t = 0; t < unit.runs.size(); ++t) {
    const Run& run = state_.run(unit.runs[t]);
    for (const int made : run.makes) {
      if (state_.item(made).root != root) continue;
      const bool one = draft_.graph->type(root).count() == 1;
      if (t >= at || !(one || is_aligned(draft_, read.value, unit.shape))) return {};
      return made;
    }
    for (const Read& other : run.reads) {
      if (state_.item(other.item).root == root) found = other.item;
    }
  }
  return found;
}

// The version in memory that whoever stands at the unit's position reads.
std::optional<int> DuplicateSearch::stored_before(int u, ValueId root) const {
  const int position = state_.unit(u).position;
  std::optional<int> latest;
  for (const int i : versions_[root.index]) {
    const Item& x = state_.item(i);
    if (draft_.graph->is_input(root)) return i;
    if (x.maker < 0) continue;  // no longer made
    if (state_.unit(state_.unit_of(x.maker)).position >= position) continue;
    const auto place = [&](int other) {
      return state_.unit(state_.unit_of(state_.item(other).maker)).position;
    };
    if (!latest || place(i) >= place(*latest)) latest = i;
  }
  if (latest && !state_.life_of(state_.item(*latest)).counts()) return {};
  return latest;
}

// What is overwritten by then, or was asked not to wait, is not there.
bool DuplicateSearch::may_read(int i, int u) const {
  const Item& x = state_.item(i);
  const int position = state_.unit(u).position;
  if (draft_.home[x.root.index].valid() || first_write_[x.root.index] <= position) return false;
  const bool waits = x.maker < 0 || x.pinned || x.last_read >= position;
  return waits || draft_.hints.must_drop.empty() || !draft_.hints.must_drop[x.root.index];
}

// How the unit would make the item for itself; none: it cannot.
std::optional<DuplicateSearch::Taker> DuplicateSearch::taker(int u, int item,
                                                             std::span<const int> chain) const {
  const Unit& unit = state_.unit(u);
  if (state_.reads_window_inside(u, u)) return {};  // its runs are computed more than once as it is
  // A window is read from memory: what it is on cannot be made here.
  for (const int r : unit.runs) {
    if (state_.run(r).fusion != Fusion::window) continue;
    const ValueId root = state_.item(state_.run(r).reads[0].item).root;
    for (const int copied : chain) {
      if (state_.item(state_.run(copied).makes[0]).root == root) return {};
    }
  }
  if (!unit.open || !takes_shape(unit, item)) return {};
  const ValueId root = state_.item(item).root;
  Taker taker{.unit = u, .at = unit.runs.size(), .copies = {}};
  for (std::size_t t = unit.runs.size(); t-- > 0;) {
    const Run& run = state_.run(unit.runs[t]);
    for (const int made : run.makes) {
      if (state_.item(made).root == root) return {};
    }
    for (const Read& read : run.reads) {
      if (read.item == item) {
        taker.at = t;
      } else if (state_.item(read.item).root == root) {
        return {};
      }
    }
  }
  // From the value to what it is made of: of that, some may be at hand.
  std::vector<int> wanted = {chain.back()};
  for (std::size_t k = chain.size(); k-- > 0;) {
    const int r = chain[k];
    if (std::ranges::count(wanted, r) == 0) continue;
    Copy copy{.run = r, .items = {}};
    for (const Read& read : state_.run(r).reads) {
      const std::optional<int> found = found_in(u, read, taker.at);
      if (!found) return {};
      int source = *found;
      const Item& x = state_.item(read.item);
      if (source < 0 && std::ranges::count(chain, x.maker) > 0) {
        FuseState::add_once(wanted, x.maker);
        copy.items.push_back(-1 - x.maker);
        continue;
      }
      if (source < 0) {
        const std::optional<int> stored = stored_before(u, x.root);
        if (!stored) return {};
        source = *stored;
      }
      const Item& there = state_.item(source);
      const bool made_here = there.maker >= 0 && state_.unit_of(there.maker) == u;
      if (!made_here && !may_read(source, u)) return {};
      copy.items.push_back(source);
    }
    taker.copies.insert(taker.copies.begin(), std::move(copy));
  }
  if (unit.runs.size() + taker.copies.size() > FuseState::most_runs) return {};
  return taker;
}

bool DuplicateSearch::try_item(int i) {
  const Item& x = state_.item(i);
  if (x.maker < 0 || x.pinned || x.size == 0 || !state_.life_of(x).counts()) return false;
  const int home = state_.unit_of(x.maker);
  std::vector<int> outside;
  for (const int r : x.readers) {
    if (state_.unit_of(r) != home) FuseState::add_once(outside, state_.unit_of(r));
  }
  if (outside.empty() || outside.size() > most_takers) return false;
  const auto is_new = [&](int u) { return changed_[static_cast<std::size_t>(u)] >= round_ - 1; };
  if (!is_new(home) && std::ranges::none_of(outside, is_new)) return false;
  const std::vector<int> chain = made_with(i);
  if (chain.empty()) return false;
  std::vector<Taker> takers;
  for (const int u : outside) {
    if (std::optional<Taker> found = taker(u, i, chain)) takers.push_back(*std::move(found));
  }
  if (takers.size() == outside.size() && attempt(i, takers)) return true;
  if (outside.size() == 1) return false;
  bool any = false;
  for (const Taker& one : takers) any |= attempt(i, {&one, 1});
  return any;
}

}  // namespace tidemark
