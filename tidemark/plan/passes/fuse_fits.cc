// May two units be one kernel? Facts only: shapes, windows, homes, size.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tidemark/plan/passes/fuse_state.h"
#include "tidemark/plan/passes/groups.h"

namespace tidemark {
namespace {

// Arrays that a kernel walks through at once; single elements do not count.
constexpr int most_streams = 16;
constexpr int most_tiled_rank = 3;

}  // namespace

bool FuseState::fits_together(int first, int second) const {
  const Unit &a = unit(first), &b = unit(second);
  if (!a.open || !b.open || a.closed) return false;
  const bool tiled = reads_window_inside(first, second);
  if (a.runs.size() + b.runs.size() > (tiled ? max_tiled_steps : most_runs)) return false;
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
  if (tiled && !fits_in_tiles(first, second)) return false;
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

// Is there a window on what a run of the two makes?
bool FuseState::reads_window_inside(int first, int second) const {
  for (int u : {first, second}) {
    for (int r : unit(u).runs) {
      if (run(r).fusion == Fusion::window && is_in(item(run(r).reads[0].item).maker, first, second))
        return true;
    }
  }
  return false;
}

// As Target::most_halo says.
bool FuseState::fits_in_tiles(int first, int second) const {
  const Unit &a = unit(first), &b = unit(second);
  const int rank = b.shape.rank();
  if (draft_.target->most_halo == 0 || a.closed || b.closed || a.has_home || b.has_home || rank < 1 ||
      rank > most_tiled_rank || element_count(b.shape) == 1)
    return false;
  struct Array {
    int item;
    std::size_t layer = 0;
  };
  std::vector<Array> arrays;   // that windows read and runs make
  std::vector<Dims> farthest;  // per layer: of the shifts of windows on it
  const auto array_of = [&](int i) { return std::ranges::find(arrays, i, &Array::item); };
  const auto each_run = [&](auto&& visit) {
    for (int u : {first, second}) {
      for (int r : unit(u).runs) {
        if (!visit(run(r))) return false;
      }
    }
    return true;
  };
  const bool shifts = each_run([&](const Run& r) {
    if (r.fusion != Fusion::window || !is_in(item(r.reads[0].item).maker, first, second)) return true;
    const int i = r.reads[0].item;
    if (array_of(i) == arrays.end()) arrays.push_back({i});
    return r.shift.has_value() && graph_.type(item(i).root).count() > 1;
  });
  if (!shifts) return false;
  std::vector<std::pair<int, std::size_t>> layer_of;  // of items that are made, if it is not the first
  each_run([&](const Run& r) {
    std::size_t layer = 0;
    for (const Read& read : r.reads) {
      if (const auto array = array_of(read.item); array != arrays.end()) {
        layer = std::max(layer, array->layer + 1);
      } else {
        for (const auto& [i, known] : layer_of) {
          if (i == read.item) layer = std::max(layer, known);
        }
      }
    }
    for (int i : r.makes) {
      if (const auto array = array_of(i); array != arrays.end()) array->layer = layer;
      if (layer > 0) layer_of.emplace_back(i, layer);
    }
    return true;
  });
  each_run([&](const Run& r) {
    const auto array = r.fusion == Fusion::window ? array_of(r.reads[0].item) : arrays.end();
    if (array == arrays.end()) return true;
    if (farthest.size() <= array->layer) farthest.resize(array->layer + 1, Dims::filled(rank, 0));
    Dims& most = farthest[array->layer];
    for (int d = 0; d < rank; ++d) most[d] = std::max(most[d], std::abs((*r.shift)[d]));
    return true;
  });
  Dims wide = least_tile(rank);
  for (int d = 0; d < rank; ++d) {
    std::int64_t halo = 0;
    for (const Dims& most : farthest) halo += most[d];
    if (halo > draft_.target->most_halo) return false;
    wide[d] += 2 * halo;
  }
  std::int64_t bytes = 0;
  for (const Array& array : arrays)
    bytes += element_count(wide) * size_of(graph_.type(item(array.item).root).dtype);
  return bytes <= draft_.target->tile_bytes;
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
