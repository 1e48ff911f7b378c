// The reverse of a loop: from its snapshots and the gradients arriving at its results to the gradients of
// what went in. It walks the iterations backwards, advancing from the snapshots where a state is not kept,
// and adds up the gradients of captured values on the way.
//
//   operands  snapshots…  xs…  seeds of carries…  seeds of ys…  [sums so far…]  captured…
//   region 0  (carry…, x…, captured…) → (carry'…)
//   region 1  (carry…, x…, captured…, seeds of carry'…, seeds of y…, sums so far…) → (gradients of carry…, of
//             x…, sums…,
//             and, until the plan decides how the loop is reversed, carry'…, y…)
//   results   gradients of carries…  of xs…  of captured…  [used-up snapshots…]
//
// Only floating-point values have seeds and gradients; of xs and captured values, those named in `wanted`. Of
// a loop of unknown length (trips is -1; while_loop.h) there are no xs and ys, and two more operands come
// last: the iteration whose state each slot holds, -1 for none, and the number of trips. With `begins`, until
// the plan decides, what the loop began with comes before them: its derivatives pass there and not through
// the snapshots (while_reverse.cc).
#pragma once
#include "tidemark/ops/control/loop.h"

namespace tidemark {

struct LoopReverseAttrs {
  std::int64_t trips = 0;  // -1: known when it runs
  std::int64_t carries = 0;
  std::int64_t scanned = 0;
  std::int64_t seeded = 0;          // ys with a seed
  std::int64_t wanted_scanned = 0;  // xs with a gradient
  std::int64_t wanted_captured = 0;
  std::int64_t slots = 0;  // as many as trips: every state is kept; fewer: they are used again and again
  bool reverse = false;    // of the loop that is reversed
  std::int64_t memory = -1;
  std::int64_t disk = 0;  // bytes on a disk, as LoopAttrs has it
  std::string folder = "";
  // Of a segment, once it is decided: the trips of the whole loop; sums begin with what later segments gave;
  // its steps ran again for the snapshots.
  std::int64_t whole = 0;
  bool sums_given = false, again = false;
  bool begins = false;  // of unknown length
  IntList summed = {};  // with `begins`: the captured values that get a gradient, by number
  TM_FIELDS(LoopReverseAttrs, trips, carries, scanned, seeded, wanted_scanned, wanted_captured, slots,
            reverse, memory, disk, folder, whole, sums_given, again, begins, summed)

  bool unknown_length() const { return trips < 0; }
  bool keeps_all() const { return slots == trips; }
};

// What a rule knows when it writes a reversal.
struct LoopReversal {
  LoopReverseAttrs attrs;  // the counts of what follows are filled in
  const Graph& body;
  std::vector<std::size_t> seeded = {};  // outputs of the body: those ys that have a seed
  std::vector<std::size_t> wanted =
      {};  // inputs of the body: those xs and captured values that get a gradient
};
std::vector<Graph> reversal_regions(LoopReversal& reversal, const Calculus& calculus);

// The rules of one of unknown length (while_reverse.cc).
std::vector<Var> while_reverse_vjp(const RuleCall& rule);
std::vector<Var> while_reverse_jvp(const RuleCall& rule);

// Where things are among the inputs and outputs of region 1.
struct ReversalLayout {
  explicit ReversalLayout(const LoopReverseAttrs& attrs, const Graph& region);
  std::size_t carries, scanned, captured, float_carries;
  std::size_t carry_seeds, y_seeds, sums, inputs;  // where they begin; inputs: the end
  std::size_t results;                             // outputs that are gradients
  std::size_t stacked_end;                         // of those, after the ones of xs

  // A gradient of an x, for which each iteration has a place of its own; others are handed on from iteration
  // to iteration: what result r was so far comes in as input_of(r).
  bool is_stacked(std::size_t r) const { return r >= float_carries && r < stacked_end; }
  std::size_t input_of(std::size_t r) const {
    return r < float_carries ? carry_seeds + r : sums + r - stacked_end;
  }
};

// Region 1 without the outputs that come after the gradients.
Graph gradients_alone(const Graph& region, const LoopReverseAttrs& attrs);

}  // namespace tidemark
