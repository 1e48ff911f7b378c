// Programs that run forward through a chain of stages and back again, as training steps do: the stages, what
// each needs and saves, found from loads alone; and the sequence a dynamic program over them gives.
//
//   forward   F0 │ F1 │ F2 │ F3 ┐        a cut is where little is handed from what has run to what still runs forward
//   backward  B0 │ B1 │ B2 │ B3 ┘        Bi is what must run while values that end in Fi, and in none before, are read
//
// A stage either saves what its Bi reads, or runs again from the state at its cut, or the cut itself is
// computed again from an earlier one: the persistent schedules of Beaumont et al. (Rotor, 2019), optimal
// among those for these stages. Stages with the same figures are the same stage to the program, so repeated
// layers are solved once.
#pragma once
#include <vector>

#include "tidemark/solve/order/search.h"
#include "tidemark/solve/remat/problem.h"

namespace tidemark {

struct ChainStage {
  int first = 0, last = 0;            // positions of F in the order
  int back_first = 0, back_last = 0;  // of B
  double cost = 0;                    // of F
  std::int64_t handed = 0;            // bytes that the stages before hand to it or to later ones
  std::int64_t fresh = 0;             // of them, what the stage just before made and some backward reads
  std::int64_t saved = 0;             // bytes made by F, handed to no other stage, and read by B
  std::int64_t forward = 0;           // load while F runs and saves, earlier stages saving nothing
  std::int64_t backward = 0;          // load while B runs, earlier stages saving nothing
};

// The stages of a valid order without repeats; fewer than two when it is no chain.
std::vector<ChainStage> chain_of(const RematProblem& problem, std::span<const int> order);

// The cheapest persistent schedule within `limit`, as a sequence; empty when there is none, or finding it
// would take more than an eighth of the work. Loads between stages are
// estimates: the sequence's own figures tell whether it fits.
Sequence chain_sequence(const RematProblem& problem, std::span<const int> order,
                        const std::vector<ChainStage>& stages, std::int64_t limit, Work& work);

}  // namespace tidemark
