// The searches behind recomputation. All are deterministic: effort is counted in work units, never in
// seconds.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tidemark/solve/order/search.h"
#include "tidemark/solve/remat/problem.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark {

// Lets go, step by step, what costs least to compute again until every load is within `limit` or nothing
// helps. Never above the start's peak.
Sequence shave(const RematProblem& problem, std::span<const int> start, std::int64_t limit, Work& work);

// Cuts at steps that are too high (cut.cc), the last such step first, until every load is within the budget
// or there is no end to it.
struct CutOptions {
  bool highest_first = false;  // the first cut is at the highest step; in a free order it puts off first runs
  // What a byte counts for: by how much more if the last task made it, not the first; and at random, up to.
  double tilt = 0.05, noise = 0;
  std::uint64_t seed = 1;
};
Sequence cut_down(const RematProblem& problem, std::span<const int> start, const CutOptions& options,
                  Work& work);

// Simulated annealing over where what runs again: repeats come, go, move, or change places; with a free order
// first runs move too. Returns the cheapest sequence within the budget that it met, the start if that is;
// empty when there was none.
struct AnnealOptions {
  std::uint64_t seed = 1;
  double hot = 1, cold = 0.01;  // temperatures, as multiples of the mean cost of a task
  bool first_within = false;    // stop at the first sequence within the budget, whatever it costs
};
Sequence anneal(const RematProblem& problem, std::span<const int> start, const AnnealOptions& options,
                Work& work);

// Beam search from the last step to the first (beam.cc), with first runs in the order of `start`. Finds its
// way at tight budgets, where other searches do not; annealing makes the result cheaper. Empty: none was
// found.
struct BeamOptions {
  double price =
      0.1;          // of a step that is too high by a typical item, as a multiple of the mean cost of a task
  int width = 100;  // states kept
};
Sequence beam(const RematProblem& problem, std::span<const int> start, const BeamOptions& options,
              Work& work);

// The sequence with the lowest peak that was found, and what no sequence is below. Peaks up to `goal` are as
// good.
struct Floor {
  Sequence sequence;
  std::int64_t peak = 0, bound = 0;
};
Floor lowest_peak(const RematProblem& problem, std::span<const int> start, std::int64_t goal, Work& work);

// What searches of one problem for several budgets tell each other.
struct RematMemory {
  std::vector<Sequence> known;  // found within some budget, the latest last
  std::optional<Floor> floor;   // whatever the budget is, it is the same
  // Solving it to the end took more work than there was: not tried for every budget.
  bool beyond_exact = false;
  std::uint64_t searches = 0;  // so far: each draws other random numbers, or it would repeat the one before

  // All that depends on which budgets were asked for.
  void forget() { known.clear(), beyond_exact = false, searches = 0; }
};

struct RematLimits {
  std::int64_t units = 8'000'000;  // about a microsecond each
  bool search_order = false;       // look for a better order first, where it is free
  std::int64_t floor_units =
      0;                      // for the lowest peak where nothing is within the budget; 0: half of the units
  SolverChoice solvers = {};  // those that are asked
  RematMemory* memory = nullptr;     // of searches of the same problem; may be null
  SearchControl* control = nullptr;  // may end it early
};
// What a graph of costs and bytes gets; level 1 is normal, and more is proportional.
RematLimits remat_limits(int tasks, double level);

struct RematResult {
  bool feasible = false;
  Sequence sequence;              // feasible: within the budget; else the lowest that was found
  SequenceFigures figures;        // of the sequence
  double time_bound = 0;          // no sequence within the budget costs less
  std::int64_t memory_bound = 0;  // no sequence has a lower peak
  bool optimal = false;           // its cost is the time bound
  std::int64_t work_units = 0;    // of all solvers together
  SolverLog solvers;              // what each of them did
};
// Walks the portfolio (portfolio.cc). `start`: a valid sequence, such as the base order. `warm`: another,
// good for a budget nearby; may be empty.
RematResult solve_remat(const RematProblem& problem, std::span<const int> start,
                        const RematLimits& limits = {}, std::span<const int> warm = {});

}  // namespace tidemark
