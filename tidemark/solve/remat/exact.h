// Recomputation solved to the end, for small problems: the cheapest sequence within the budget, and the
// smallest budget that any sequence meets.
//
// The search runs from the last step to the first, because backwards nothing but the next step is chosen:
// what is alive before a step follows from what is alive after it, so no drops need be guessed. A state is
// the set of tasks whose first run is placed and the set of items alive before them:
//
//            first runs placed: ▲          placed: ▲ ■        a run of ■ that is not its first takes it out
//                                                             of the
//   … ? ? ?  ▲                  … ? ? ■'  ▲                   alive items, brings its operands in, and costs
//                                                             ■ once
//     alive ─┘                    alive ─┘                    more: ■ stays to be placed
#pragma once
#include <cstdint>

#include "tidemark/solve/remat/problem.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {

struct ExactLimits {
  std::int64_t states = 200'000;      // states kept, some 100 bytes each
  std::int64_t work = 4'000'000'000;  // steps of the search, about a nanosecond each
  std::int64_t price_work =
      20'000'000;  // steps spent first on prices that guide it, some 10 ns each; fixed order only
  SearchControl* control = nullptr;  // may end it early
};

constexpr int most_exact_tasks = 256;  // and items

struct ExactSequence {
  Sequence sequence;       // empty: none was found
  double cost = 0;         // of the sequence
  double bound = 0;        // no sequence within the budget costs less
  bool complete = false;   // the sequence is a cheapest one; if empty, none is within the budget
  std::int64_t spent = 0;  // work, that on prices included
};
ExactSequence exact_sequence(const RematProblem& problem, const ExactLimits& limits = {});

struct SmallestPeak {
  std::int64_t bytes = 0;  // no sequence has a lower peak
  Sequence sequence;       // has that peak, if complete
  bool complete = false;
};
// The problem's budget and costs play no part.
SmallestPeak smallest_peak(const RematProblem& problem, const ExactLimits& limits = {});

}  // namespace tidemark
