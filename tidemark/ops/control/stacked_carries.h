// Carried values that a loop stacks anyway, each state in a slice of one of its results: these slices are
// where they are carried, so that nothing is copied. The body must not overwrite what it is given then.
//
//   body(c, …) → (f(c), …, f(c))   `after`: the next run reads the slice that this one wrote
//   body(c, …) → (f(c), …, c)      else: this run writes the slice that the next one hands back
#pragma once
#include "tidemark/ops/control/loop.h"

namespace tidemark {

struct StackedCarry {
  std::size_t carry, output;  // of the body; the output's slices are stacked
  bool after = false;
};

// At most one for each carry, in their order. A carry whose input is donated goes another way (handed_on.h).
std::vector<StackedCarry> stacked_carries(const Call& call);

}  // namespace tidemark
