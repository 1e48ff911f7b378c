// Dropout, a function on simpler ops.
//
// dropout keeps each element with probability 1 - rate and scales what stays by 1 / (1 - rate). The mask is
// random_bernoulli of the key: one byte per element if the planner keeps it, none if it draws the mask again.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

Var dropout(const Var& x, double rate, const Var& key);  // 0 ≤ rate < 1; rate 0 is x itself

}  // namespace tidemark
