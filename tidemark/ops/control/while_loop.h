// A loop of unknown length: `while_loop` of the trace API.
//
//   operands  carry…  captured…        region 0 (carry…, captured…) → (go on?)    region 1 (carry…,
//                                      captured…) → (carry'…)
//   results   carry…  trips (i64)  [snapshots…  and the iteration whose state each of them holds (i64), -1:
//                                               none]
//
// More than `max_steps` iterations are an error when it runs; -1: any number. With `keep`, states are kept
// for reversing it, chosen while it runs (schedule/kinds/online.h): wherever it ends, reversing it costs
// little more than with the best choice for that length.
#pragma once
#include "tidemark/ops/control/loop.h"

namespace tidemark {

struct WhileAttrs {
  std::int64_t carries = 0;
  std::int64_t max_steps = -1;
  std::int64_t keep = 0;
  std::int64_t memory =
      -1;  // bytes that snapshots may take if a gradient is asked for; -1: as the plan sees fit
  TM_FIELDS(WhileAttrs, carries, max_steps, keep, memory)
};

inline constexpr std::int64_t usual_slots = 64;  // where nothing bounds the length

}  // namespace tidemark
