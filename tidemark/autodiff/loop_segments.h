// A loop and its reverse in segments: consecutive steps as loops of their own, one after the other, and their
// reverses in the opposite order.
//
//   steps      ├── 0 … 7 ──┤── 8 … 15 ──┤── 16 … 23 ──┤
//   kept           stack 0      stack 1       stack 2        values of the graph like any other
//   reverse    ├── 7 … 0 ──┤── 15 … 8 ──┤── 23 … 16 ──┤◀─
//
// What a whole loop keeps is one stack, and lies in memory from its first step to the last of its reverse.
// That of a segment may wait on a disk, or be computed again, by itself and while the others run: the planner
// sees straight-line code. Or the first segments keep only the state that they begin with, and make their
// stacks again from it before they are reversed. Steps, sums and what is carried keep their order, and so
// their bits.
#pragma once
#include <memory>

#include "tidemark/autodiff/loop_records.h"

namespace tidemark {

// What a segment keeps of its steps for its reverse, and how it is reversed from it: records, or states.
class SegmentKeeping {
 public:
  virtual ~SegmentKeeping() = default;
  // The steps: what is carried, the ys, and what is kept.
  virtual std::vector<Var> forward(Builder& builder, const LoopAttrs& attrs,
                                   std::span<const Var> operands) const = 0;
  // The same from the same operands, for what is kept alone: effects have happened.
  virtual std::vector<Var> again(Builder& builder, const LoopAttrs& attrs,
                                 std::span<const Var> operands) const = 0;
  // What comes to all segments from outside their steps. `operands`: of the reversal of the whole loop.
  virtual std::vector<Var> invariants(Builder& builder, std::span<const Var> operands) const = 0;
  // The gradients. `operands`: of the reversal, for this segment, snapshots unread; `kept`: what forward
  // gave.
  virtual std::vector<Var> backward(Builder& builder, const LoopReverseAttrs& attrs,
                                    std::span<const Var> operands, std::span<const Var> kept,
                                    const BackwardStart& start) const = 0;
};

// The records that are given, which outlive this.
std::unique_ptr<SegmentKeeping> keeping_records(const LoopRecords& records);

// States in so many slots; fewer in shorter segments. `step` is the body of the loop, `regions` those of its
// reversal as they run, effects that have happened left out.
struct ReversedRegions {
  Graph step, back;
};
std::unique_ptr<SegmentKeeping> keeping_states(Graph step, ReversedRegions regions, std::int64_t slots);

struct SegmentCut {
  std::int64_t count = 1;       // of segments, as equal as can be; at most as many as there are steps
  std::int64_t again = 0;       // so many of the first ones make their stacks again
  bool on_disk = false;         // what is kept of all but the last is asked to wait on the disk
  const Graph* step = nullptr;  // with `again`: the body of the loop, for segments that keep nothing
  std::vector<bool> outlive;    // per y: it is read behind the reverse too, from the stack of all steps
};

std::int64_t segment_length(std::int64_t trips, std::int64_t count);

// A loop written in segments, its reverse still to come.
struct LoopSegments {
  std::vector<Var> results;             // of the loop: what is carried, the ys of all steps
  std::vector<std::int64_t> ends;       // of the segments, in steps
  std::vector<std::vector<Var>> kept;   // per segment: what its loop gave; empty: to be made again
  std::vector<std::vector<Var>> begin;  // per segment: the operands of its loop
  LoopAttrs attrs;                      // of the whole
};
LoopSegments write_forward_segments(Builder& builder, const SegmentKeeping& keeping, const LoopAttrs& attrs,
                                    std::span<const Var> operands, const SegmentCut& cut);

// The gradients, as write_backward.
std::vector<Var> write_backward_segments(Builder& builder, const SegmentKeeping& keeping,
                                         const LoopReverseAttrs& attrs, const ReversalLayout& at,
                                         std::span<const Var> operands, const LoopSegments& segments);

}  // namespace tidemark
