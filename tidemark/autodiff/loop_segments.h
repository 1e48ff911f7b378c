// A loop and its reverse in segments: consecutive steps as loops of their own, one after the other, and their
// reverses in the opposite order.
//
//   steps      ├── 0 … 7 ──┤── 8 … 15 ──┤── 16 … 23 ──┤
//   records        stack 0      stack 1       stack 2        values of the graph like any other
//   reverse    ├── 7 … 0 ──┤── 15 … 8 ──┤── 23 … 16 ──┤◀─
//
// What a whole loop keeps is one stack, and lies in memory from its first step to the last of its reverse.
// That of a segment may wait on a disk, or be computed again, by itself and while the others run: the planner
// sees straight-line code. Steps, sums and what is carried keep their order, and so their bits.
#pragma once
#include "tidemark/autodiff/loop_records.h"

namespace tidemark {

// A loop written in segments, its reverse still to come.
struct LoopSegments {
  std::vector<Var> results;            // of the loop: what is carried, the ys of all steps
  std::vector<std::int64_t> ends;      // of the segments, in steps
  std::vector<std::vector<Var>> kept;  // per segment: what its loop gave (write_forward)
};

// `count` segments, as equal as can be; at most as many as there are steps. Ys that `outlive` the reverse are
// read from the stack of all steps there.
LoopSegments write_forward_segments(Builder& builder, const LoopRecords& records, const LoopAttrs& attrs,
                                    std::span<const Var> operands, std::int64_t count,
                                    const std::vector<bool>& outlive);

// As write_backward.
std::vector<Var> write_backward_segments(Builder& builder, const LoopRecords& records,
                                         const LoopReverseAttrs& attrs, std::span<const Var> operands,
                                         const LoopSegments& segments);

}  // namespace tidemark
