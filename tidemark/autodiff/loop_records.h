// A loop and its reverse as two plain loops: the reverse of one step is cut where the gradients begin, and
// what the later part reads of the earlier one (the step's record) is stacked by the first loop and scanned
// by the second.
#pragma once
#include "tidemark/ir/builder.h"
#include "tidemark/ops/control/loop_reverse.h"

namespace tidemark {

// What the reverse of a step reads, and from where it gets it.
enum class RecordSource : std::uint8_t {
  stacked,    // computed in the step, kept for each
  output,     // the same, being a y of the loop anyway
  scanned,    // an x of the loop
  captured,   // from outside, the same at every step
  invariant,  // computed from such alone: once, outside
};
struct Record {
  ValueId value;  // of the joint graph
  RecordSource source;
  std::size_t place;  // among the stacked, ys, xs, captured or invariant ones
};

struct LoopRecords {
  Graph joint;  // region 1 of the reversal, its loops lowered
  ReversalLayout at;
  std::vector<bool> late;  // per value: depends on a gradient
  std::vector<bool>
      again;  // per node: computed a second time with the gradients, since it costs next to nothing
  std::vector<Record> records;
  std::vector<ValueId> stacked, invariant;

  std::int64_t bytes(std::int64_t trips) const;
  // Does it run with the gradients? An effect without results does if it reads one.
  bool is_late(const Node& node) const;
};
LoopRecords records_of(const LoopReverseAttrs& attrs, Graph joint);

// Ways to keep less: further nodes are computed a second time with the gradients, from what is kept of their
// operands. Bytes of a step fall from one to the next, and what is computed again grows; each takes what
// costs least for the bytes it saves. Empty: nothing can be saved. They end where only what is carried is
// kept, or what may run once.
struct LeanerRecords {
  std::int64_t step_bytes = 0;
  std::vector<bool> again;  // per node of the joint graph
};
std::vector<LeanerRecords> leaner_records(const LoopReverseAttrs& attrs, const Graph& joint);
LoopRecords records_of(const LoopReverseAttrs& attrs, Graph joint, const std::vector<bool>& again);

// The step itself: (carry…, x…, captured…) → (carry'…, y…), out of its reverse.
Graph forward_step(const LoopReverseAttrs& attrs, const Graph& joint);

// The first loop, for the operands of the loop it replaces: its results, then what is stacked. `replays`: it
// has run before, and its effects have happened.
std::vector<Var> write_forward(Builder& builder, const LoopRecords& records, LoopAttrs attrs,
                               std::span<const Var> operands, bool replays = false);

// What comes to the second from outside its steps. `operands`: of the reversal.
struct BackwardStart {
  std::vector<Var> invariants = {};
  std::vector<Var> sums = {};  // of gradients of captured values; none: they begin with zero
};
std::vector<Var> write_invariants(Builder& builder, const LoopRecords& records,
                                  std::span<const Var> operands);

// The second, for the operands of the reversal it replaces (snapshots unread): the gradients. `kept`: what
// the first gave.
std::vector<Var> write_backward(Builder& builder, const LoopRecords& records, const LoopReverseAttrs& attrs,
                                std::span<const Var> operands, std::span<const Var> kept,
                                const BackwardStart& start);

}  // namespace tidemark
