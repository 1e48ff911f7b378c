// A counted loop: `repeat` and `scan` of the trace API. Its region is the body, traced once:
//
//   operands  carry…  xs…  captured…              region 0   (carry…, x…, captured…) → (carry'…, y…)
//   results   carry…  ys…  [snapshots…]
//
// `carries` values are handed from iteration to iteration; each of the `scanned` xs has a slice per iteration
// (its first dimension is `trips`); what is captured is the same in all of them. The ys are stacked in the
// same order as the xs are read: first to last, or last to first with `reverse`. With `keep`, so many states
// of the carry are results too, those that reversing the loop starts from (loop_reverse.h).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/ir/builder.h"

namespace tidemark {

struct LoopAttrs {
  std::int64_t trips = 0;
  std::int64_t carries = 0;
  std::int64_t scanned = 0;
  bool reverse = false;
  std::int64_t keep =
      0;  // snapshots; as many as trips: the state before every iteration, by the iteration's slice
  std::int64_t memory =
      -1;  // bytes that snapshots may take if a gradient is asked for; -1: as the plan sees fit
  std::int64_t disk = 0;    // bytes of a disk that it may have beside that
  std::string folder = "";  // there; empty: the system's for temporary files
  TM_FIELDS(LoopAttrs, trips, carries, scanned, reverse, keep, memory, disk, folder)

  bool keeps_all() const { return keep == trips && keep > 0; }
};

Type stacked(std::int64_t count, const Type& type);  // with a dimension more, in front
Type slice_of(const Type& type);                     // without the first dimension

// The iterations before which snapshots are taken, ascending from 0: where the reversal in so many slots
// starts from.
std::vector<std::int64_t> snapshot_places(std::int64_t trips, std::int64_t slots);

// How far to go from a kept state before the next is kept, of so many steps to be reversed: slots, its own
// included.
std::int64_t first_advance(std::int64_t steps, std::int64_t slots);

// A region that takes `inputs` and hands inputs[order[i]] to input i of `source`; its outputs are source's
// outputs as chosen. Regions are put together with it wherever rules regroup what they got from autodiff.
Graph regrouped(const Graph& source, std::span<const Type> inputs, std::span<const std::size_t> order,
                std::span<const std::size_t> outputs);

// The region as it runs again for its values (ir/effects.h: for_replay). Throws for what may run only once
// and would have to run again; `whose` begins the sentence that says so ("the gradient of cond runs its
// branch again").
Graph replayed(const Graph& region, std::size_t fresh, SourceLine where, std::string_view whose,
               std::string help);

std::vector<Type> input_types(const Graph& graph);
std::vector<Type> output_types(const Graph& graph);

// Which inputs of a region its op hands on from one run to the next, so that the region may overwrite them.
std::vector<bool> handed_inputs(const Call& call, std::size_t region);
// Marks these as donated, in the graph and in its regions.
void donate_handed_inputs(Graph& graph);

// Throws unless the region's inputs have these types, in the words of `what` ("the body of a loop").
void require_region(const Call& call, std::size_t region, std::span<const Type> inputs,
                    std::string_view what);

}  // namespace tidemark
