#include "tidemark/cuda/tile_layout.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/cuda/group_source.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t most_shared = 46 << 10;  // bytes of a block, of 48 KiB that need not be asked for
constexpr std::int64_t multiprocessors = 132, shared_of_one = 220 << 10;
constexpr std::int64_t threads_of_one = 1024;  // of 64 registers
// A multiprocessor begins some 3 of its 4 instructions of a clock where it has warps enough; one warp begins
// one every 4 clocks or so.
constexpr std::int64_t warp = 32, instructions_of_clock = 3, clocks_of_instruction = 4;
constexpr std::int64_t banks = 32, bank_bytes = 4;  // of shared memory
// Instructions besides the steps, of a run and of an element; a thread that stays has done most of them
// before. What a phase waits for whatever it computes, in clocks.
constexpr std::int64_t per_run = 16, per_element = 4, per_phase = 700;
constexpr std::int64_t per_run_that_stays = 4, per_element_that_stays = 2;
constexpr std::int64_t fewest_threads = 128, most_threads = 1024;
// Windows that reach farther read from where the array lies.
constexpr std::int64_t farthest = 8;

bool is_near(const Call& window) {
  const std::optional<Dims> shift = window_shift(window);
  return shift &&
         std::all_of(shift->begin(), shift->end(), [](std::int64_t n) { return std::abs(n) <= farthest; });
}

class Layouter {
 public:
  Layouter(std::span<const GroupStep> steps, std::optional<bool> stays) : steps_(steps), wanted_(stays) {}

  TileLayout run() {
    for (const GroupStep& step : steps_) {
      if (step.call.out[0].count() != 1) made_.shape = step.call.out[0].shape;
    }
    // What comes from outside is in tiles, too, where there is room.
    for (const bool operands : {true, false}) {
      find_arrays(operands);
      find_phases();
      for (std::size_t p = made_.phases.size(); p-- > 0;) widen_before(p);
      if (choose_tile()) return std::move(made_);
    }
    TM_CHECK(wanted_, "a group for whose tiles there is no room");
    return Layouter(steps_, {}).run();
  }

 private:
  // A result that is in no array.
  bool is_other(const GroupStep& step) const {
    return step.out[0].kind == GroupRef::result && !made_.find(step.out[0]);
  }
  std::optional<std::size_t> maker(const GroupRef& ref) const {
    for (std::size_t s = 0; s < steps_.size() && ref.kind != GroupRef::operand; ++s) {
      if (steps_[s].out[0] == ref) return s;
    }
    return {};
  }
  std::optional<std::size_t> number_of(const GroupRef& ref) const {
    const TileLayout::Array* const found = made_.find(ref);
    if (!found) return {};
    return static_cast<std::size_t>(found - made_.arrays.data());
  }
  // The array in which a step finds an operand; none: it finds it elsewhere.
  std::optional<std::size_t> array_read(const GroupStep& step, std::size_t operand) const {
    if (operand == 0 && is_group_window(step.call) && !made_.reads_tile(step)) return {};
    return number_of(step.in[operand]);
  }

  void find_arrays(bool operands) {
    made_.arrays.clear();
    for (const GroupStep& step : steps_) {
      if (!is_group_window(step.call) || number_of(step.in[0])) continue;
      if (step.in[0].kind == GroupRef::operand && !(operands && is_near(step.call))) continue;
      made_.arrays.push_back({.of = step.in[0], .dtype = step.call.in[0].dtype, .outside = step.in[1]});
    }
  }

  // Marks the step, and those that are computed with it, and the arrays that are read there.
  void add_step(std::size_t s, std::vector<bool>& computed, std::vector<bool>& read) const {
    if (computed[s] || steps_[s].call.out[0].count() == 1) return;  // one element is there before all phases
    computed[s] = true;
    for (std::size_t o = 0; o < steps_[s].in.size(); ++o) {
      if (const auto array = array_read(steps_[s], o)) {
        read[*array] = true;
      } else if (const auto made = maker(steps_[s].in[o])) {
        add_step(*made, computed, read);
      }
    }
  }

  // An array is written in the phase behind all that it is made of; results that are in none, in the last.
  void find_phases() {
    int last = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s) {  // what is made of others comes behind them
      const auto array = number_of(steps_[s].out[0]);
      if (!array) continue;
      std::vector<bool> computed(steps_.size(), false), read(made_.arrays.size(), false);
      add_step(s, computed, read);
      int phase = 0;
      for (std::size_t a = 0; a < read.size(); ++a) {
        if (read[a]) phase = std::max(phase, made_.arrays[a].phase + 1);
      }
      made_.arrays[*array].phase = phase;
      last = std::max(last, phase);
    }
    const bool others = std::ranges::any_of(steps_, [&](const GroupStep& step) { return is_other(step); });
    const int rank = made_.shape.rank();
    made_.phases.assign(static_cast<std::size_t>(last + 1 + others),
                        {.box = {.low = Dims::filled(rank, 0), .high = Dims::filled(rank, 0)},
                         .arrays = {},
                         .steps = std::vector<bool>(steps_.size(), false)});
    for (std::size_t a = 0; a < made_.arrays.size(); ++a)
      made_.phases[static_cast<std::size_t>(made_.arrays[a].phase)].arrays.push_back(static_cast<int>(a));
    if (others) made_.phases.back().results = true;
  }

  // What the phase computes, and how far beyond the tile earlier ones have to go for it.
  void widen_before(std::size_t p) {
    TileLayout::Phase& phase = made_.phases[p];
    std::vector<bool> read(made_.arrays.size(), false);  // looked up again below, with their shifts
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const TileLayout::Array* const array = made_.find(steps_[s].out[0]);
      const bool here =
          array ? static_cast<std::size_t>(array->phase) == p : phase.results && is_other(steps_[s]);
      if (here) add_step(s, phase.steps, read);
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      for (std::size_t o = 0; phase.steps[s] && o < steps_[s].in.size(); ++o) {
        const auto array = array_read(steps_[s], o);
        if (!array) continue;
        const bool shifted = o == 0 && is_group_window(steps_[s].call);
        widen(made_.arrays[*array], phase.box,
              shifted ? *window_shift(steps_[s].call) : Dims::filled(made_.shape.rank(), 0));
      }
    }
  }
  void widen(const TileLayout::Array& array, const TileLayout::Box& reader, const Dims& shift) {
    TileLayout::Box& writer = made_.phases[static_cast<std::size_t>(array.phase)].box;
    for (int d = 0; d < shift.rank(); ++d) {
      writer.low[d] = std::max(writer.low[d], reader.low[d] - shift[d]);
      writer.high[d] = std::max(writer.high[d], reader.high[d] + shift[d]);
    }
  }

  // The last phase in which each array is read. Threads that stay know their own elements.
  std::vector<std::size_t> last_reads(bool stays) const {
    std::vector<std::size_t> last;
    for (const TileLayout::Array& array : made_.arrays) last.push_back(static_cast<std::size_t>(array.phase));
    for (std::size_t p = 0; p < made_.phases.size(); ++p) {
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        for (std::size_t o = 0; made_.phases[p].steps[s] && o < steps_[s].in.size(); ++o) {
          if (stays && !(o == 0 && is_group_window(steps_[s].call))) continue;
          if (const auto array = array_read(steps_[s], o)) last[*array] = std::max(last[*array], p);
        }
      }
    }
    return last;
  }

  // Neighbouring threads read neighbours, and where a row of the phase ends go on in the next run of rows:
  // the elements there lie in the banks of shared memory that follow, so that a warp finds no two in one.
  std::int64_t row_of(const TileLayout::Array& array, const TileLayout& layout) const {
    const int last = layout.shape.rank() - 1;
    const auto phase = static_cast<std::size_t>(array.phase);
    std::int64_t width = layout.phases[phase].box.width(layout.tile, last);
    if (last == 0 || size_of(array.dtype) != bank_bytes || phase + 1 == layout.phases.size()) return width;
    const TileLayout::Box reader = layout.stays ? layout.around() : layout.phases[phase + 1].box;
    const std::int64_t read = reader.width(layout.tile, last);
    if (layout.stays) width = read;  // rows of all arrays alike: a place in one is a place in all
    for (std::int64_t row = width; row < width + banks; ++row) {
      if ((row * layout.run - read) % banks == 0) return row;
    }
    return width;
  }

  // Each array at the first place that none has that is alive beside it. `by_banks`: with rows as row_of has
  // them, if there is room.
  std::int64_t place(TileLayout& layout, bool by_banks) const {
    std::vector<TileLayout::Array>& arrays = layout.arrays;
    const std::vector<std::size_t>& last_read = last_[layout.stays ? 1 : 0];
    std::int64_t top = 0;
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      TileLayout::Array& array = arrays[a];
      const auto first = static_cast<std::size_t>(array.phase), last = last_read[a];
      const TileLayout::Box& box = layout.phases[first].box;
      const std::int64_t width = box.width(layout.tile, layout.shape.rank() - 1);
      const std::int64_t rows = box.points(layout.tile) / width;
      array.row = by_banks ? row_of(array, layout) : width;
      array.bytes = align_up(rows * array.row * size_of(array.dtype), std::int64_t{16});
      array.offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t b = 0; b < a; ++b) {
          const TileLayout::Array& other = arrays[b];
          const bool alive = static_cast<std::size_t>(other.phase) <= last && first <= last_read[b];
          if (!alive || array.offset >= other.offset + other.bytes ||
              other.offset >= array.offset + array.bytes)
            continue;
          array.offset = other.offset + other.bytes;
          moved = true;
        }
      }
      top = std::max(top, array.offset + array.bytes);
    }
    return top;
  }

  // Of the phase; where threads stay, those of which a part is in its box, beside whom others of their warps
  // are idle.
  static std::int64_t runs_of(const TileLayout::Box& box, const TileLayout& layout) {
    if (!layout.stays) return box.points(layout.tile) / layout.run;
    const TileLayout::Box around = layout.around();
    std::int64_t runs = 1;
    for (int d = 0; d < layout.tile.rank(); ++d) {
      const std::int64_t before = around.low[d] - box.low[d], width = box.width(layout.tile, d);
      runs *= d > layout.along    ? around.width(layout.tile, d)
              : d == layout.along ? (before + width - 1) / layout.run - before / layout.run + 1
                                  : width;
    }
    return runs;
  }

  // Clocks of the multiprocessor that has most to do.
  std::int64_t clocks(const TileLayout& layout) const {
    const std::int64_t blocks = (layout.tiles() + multiprocessors - 1) / multiprocessors;
    const std::int64_t at_once =
        std::max<std::int64_t>(1, std::min(threads_of_one / layout.threads,
                                           shared_of_one / std::max<std::int64_t>(layout.shared_bytes, 1)));
    const std::int64_t rounds = (blocks + at_once - 1) / at_once;
    std::int64_t clocks = 0;
    for (const TileLayout::Phase& phase : layout.phases) {
      const std::int64_t runs = runs_of(phase.box, layout);
      const auto steps = static_cast<std::int64_t>(std::ranges::count(phase.steps, true));
      const std::int64_t instructions =
          layout.stays ? per_run_that_stays + layout.run * (per_element_that_stays + steps)
                       : per_run + layout.run * (per_element + steps);
      const std::int64_t warps = (runs + warp - 1) / warp,
                         turns = (runs + layout.threads - 1) / layout.threads;
      clocks += std::max(blocks * warps * instructions / instructions_of_clock,
                         rounds * turns * instructions * clocks_of_instruction) +
                rounds * per_phase;
    }
    return clocks;
  }

  // That all phases are made of; where threads stay, all phases together.
  int longest_run(const TileLayout& layout) const {
    for (const int run : {4, 2}) {
      const auto fits = [&](const TileLayout::Box& box) {
        return box.width(layout.tile, layout.along) % run == 0;
      };
      const bool all_fit = layout.stays ? fits(layout.around())
                                        : std::ranges::all_of(layout.phases, fits, &TileLayout::Phase::box);
      if (all_fit) return run;
    }
    return 1;
  }

  // False: none is small enough.
  bool choose_tile() {
    last_ = {last_reads(false), last_reads(true)};
    const int rank = made_.shape.rank();
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    TileLayout chosen;
    made_.along = std::max(0, rank - 2);
    const auto consider = [&](const Dims& tile, bool stays) {
      TileLayout layout = made_;
      layout.tile = tile;
      layout.stays = stays;
      layout.run = rank > 1 ? longest_run(layout) : 1;
      layout.shared_bytes = place(layout, true);
      if (layout.shared_bytes > most_shared) layout.shared_bytes = place(layout, false);
      if (layout.shared_bytes > most_shared) return;
      const std::int64_t runs = layout.around().points(tile) / layout.run;
      for (std::int64_t threads = fewest_threads; threads <= most_threads; threads *= 2) {
        if (stays && runs > threads) continue;
        layout.threads = static_cast<int>(threads);
        const std::int64_t taken = clocks(layout);
        if (taken >= best) continue;
        best = taken;
        chosen = layout;
      }
    };
    // Rows of whole warps, but where all tiles of that kind are too large.
    for (const std::int64_t least : {32, 1}) {
      for (std::int64_t inner = least; inner <= 4096; inner *= 2) {
        for (std::int64_t middle = 1; middle <= (rank > 1 ? 64 : 1); middle *= 2) {
          for (std::int64_t outer = 1; outer <= (rank > 2 ? 16 : 1); outer *= 2) {
            if (const std::int64_t all = inner * middle * outer; all < 128 || all > 4096) continue;
            Dims tile = Dims::filled(rank, inner);
            if (rank > 1) tile[rank - 2] = middle;
            if (rank > 2) tile[0] = outer;
            for (const bool stays : {false, true}) {
              if (stays == wanted_.value_or(stays)) consider(tile, stays);
            }
          }
        }
      }
      if (chosen.threads > 0) break;
    }
    if (chosen.threads == 0) return false;
    made_ = std::move(chosen);
    return true;
  }

  std::span<const GroupStep> steps_;
  std::optional<bool> wanted_;
  TileLayout made_;
  std::array<std::vector<std::size_t>, 2> last_;  // as last_reads has them
};

}  // namespace

std::optional<Dims> window_shift(const Call& call) {
  if (!is_group_window(call) || call.in[0].shape != call.out[0].shape) return {};
  const auto pad = call.attrs_as<PadAttrs>();
  Dims shift;
  for (int d = 0; d < pad.low.rank(); ++d) {
    if (pad.interior[d] != 0) return {};
    shift.push_back(-pad.low[d]);
  }
  return shift;
}

bool works_in_tiles(std::span<const GroupStep> steps) {
  return std::ranges::any_of(steps, [](const GroupStep& step) {
    return is_group_window(step.call) && step.in[0].kind != GroupRef::operand;
  });
}

std::int64_t TileLayout::Box::points(const Dims& tile) const {
  std::int64_t count = 1;
  for (int d = 0; d < tile.rank(); ++d) count *= width(tile, d);
  return count;
}

TileLayout::Box TileLayout::around() const {
  Box all = phases[0].box;
  for (const Phase& phase : phases) {
    for (int d = 0; d < tile.rank(); ++d) {
      all.low[d] = std::max(all.low[d], phase.box.low[d]);
      all.high[d] = std::max(all.high[d], phase.box.high[d]);
    }
  }
  return all;
}

bool TileLayout::reads_tile(const GroupStep& step) const {
  if (!is_group_window(step.call)) return false;
  return find(step.in[0]) && (step.in[0].kind != GroupRef::operand || is_near(step.call));
}

const TileLayout::Array* TileLayout::find(const GroupRef& ref) const {
  const auto found = std::ranges::find(arrays, ref, &Array::of);
  return found == arrays.end() ? nullptr : &*found;
}

std::int64_t TileLayout::tiles() const {
  std::int64_t count = 1;
  for (int d = 0; d < shape.rank(); ++d) count *= (shape[d] + tile[d] - 1) / tile[d];
  return count;
}

TileLayout tile_layout(std::span<const GroupStep> steps, std::optional<bool> stays) {
  return Layouter(steps, stays).run();
}

}  // namespace tidemark::cuda
