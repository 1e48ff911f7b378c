// May two units be one kernel? Facts only: shapes, windows, homes, size.
#include <algorithm>

#include "tidemark/plan/passes/fuse_state.h"
#include "tidemark/plan/passes/groups.h"

namespace tidemark {
namespace {

// Arrays that a kernel walks through at once; single elements do not count.
constexpr int most_streams = 16;

}  // namespace

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
        if (unit_of(s) != second) continue;
        if (run(s).fusion == Fusion::window && run(s).reads[0].item == i) return false;
        if (anyhow) continue;
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
          if (t > w || run(both[w]).fusion != Fusion::pointwise || run(both[t]).fusion == Fusion::window ||
              !is_aligned(draft_, read.value, shape))
            return false;
        }
      }
    }
  }
  return true;
}

}  // namespace tidemark
