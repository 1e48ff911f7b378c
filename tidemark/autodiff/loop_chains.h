// Values that the steps of a loop hand on beside what it carries, and that its reverse hands back: chains.
// Forwards, one is carried like any other value. Backwards it goes from step to step as gradients do, and
// begins with what the last step made:
//
//   steps      start ──▶ 0 ──▶ 1 ──▶ 2 ──▶ end
//                                           │
//   reverse          ◀── 0 ◀── 1 ◀── 2 ◀────┘
//
// The reverse of a step finds a chain among its seeds, and says what the step before finds there. So a chain
// goes along however the loop is reversed, by records, in segments or from states, and what a step reads of
// it has the same bits.
#pragma once
#include "tidemark/ir/builder.h"
#include "tidemark/ops/control/loop_reverse.h"

namespace tidemark {

struct LoopChain {
  Type type;  // of floats
  double start = 0;
};

// The reverse of a step (region 1 of a reversal) that chains pass through: behind what is carried, and behind
// the gradients of that, coming in and going out.
struct ChainedStep {
  Graph region;
  std::vector<LoopChain> chains;
};

// The loop, for its operands without chains; its results without them.
struct ChainedLoop {
  std::vector<Var> results;
  std::vector<Var> ends, snapshots;  // of the chains
};
ChainedLoop write_chained_loop(Builder& builder, LoopAttrs attrs, std::span<const Var> operands,
                               LoopReverseAttrs reversal, const ChainedStep& step);

// Its reversal, likewise.
struct ChainedReversal {
  std::vector<Var> results;
  std::vector<Var> ends;  // of the chains: what the first step handed back
};
ChainedReversal write_chained_reversal(Builder& builder, LoopReverseAttrs attrs,
                                       std::span<const Var> operands, const ChainedLoop& loop,
                                       const ChainedStep& step);

}  // namespace tidemark
