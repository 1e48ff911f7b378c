// A loop of unknown length: `while_loop` of the trace API.
//
//   operands  carry…  captured…        region 0 (carry…, captured…) → (go on?)    region 1 (carry…, captured…) → (carry'…)
//   results   carry…  trips (i64)
//
// More than `max_steps` iterations are an error when it runs; -1: any number.
#pragma once
#include "tidemark/ops/loop.h"

namespace tidemark {

struct WhileAttrs {
  std::int64_t carries = 0;
  std::int64_t max_steps = -1;
  TM_FIELDS(WhileAttrs, carries, max_steps)
};

}  // namespace tidemark
