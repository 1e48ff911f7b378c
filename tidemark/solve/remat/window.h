// Exact repair of a piece of a sequence: what comes before and after stays, first runs keep their order, and
// what runs again within the piece is chosen anew. Unlike a move of a local search this changes many runs at
// once; unlike an exact search of the whole it is quick however long the sequence is.
#pragma once
#include <span>

#include "tidemark/solve/remat/exact.h"

namespace tidemark {

struct WindowRepair {
  Sequence
      sequence;  // cheaper than the one given, or within the budget where that was not; empty: none was found
  bool complete = false;   // nothing in the piece was left untried, but for tasks far from it
  std::int64_t spent = 0;  // work, that on prices included, as ExactSequence's
};
// Chooses positions [first, last) of the sequence anew.
WindowRepair repair_window(const RematProblem& problem, std::span<const int> sequence, int first, int last,
                           const ExactLimits& limits = {});

}  // namespace tidemark
