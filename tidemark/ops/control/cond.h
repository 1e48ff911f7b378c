// One of two branches, as a scalar says: `cond` of the trace API.
//
//   operands  predicate (bool)  values…        regions 0 (true) and 1 (false): (values…) → (results…), of
//                                              equal types
//
// Its derivative is a cond on the same predicate, of the branches' derivatives.
#pragma once
#include "tidemark/ops/control/loop.h"

namespace tidemark {

std::vector<Var> cond(const Var& predicate, std::span<const Var> values, Graph when_true, Graph when_false);

}  // namespace tidemark
