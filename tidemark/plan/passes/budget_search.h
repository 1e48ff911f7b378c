// How a budget is met. What remat counts is the load of runs by themselves; what must fit is the height of
// the arena, in which groups take less and packing may take more. So remat is aimed, again and again, at more
// or less than the budget, and what counts is the finished draft: does it fit, how long does it take.
//
//   height of the arena │          ╭─ too high: aim lower
//   budget ─────────────┼──────────┼──────────────
//                       │          ╰─ room left: aim higher
//                       └──────────────▶ load that remat aims at
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "tidemark/plan/passes/draft.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {

class BudgetSearch {
 public:
  using Passes = std::function<Draft(Draft)>;
  // `ordered`: all but remat and what follows is decided. `finish`: remat and all that follows.
  BudgetSearch(const Draft& ordered, Passes finish);

  // A draft whose arena is no higher than allowed, in the least time found; higher where none was found.
  Draft within(std::int64_t allowed) { return within(allowed, Wanted::least_time); }
  // The draft with the lowest arena that was found: the same whatever was asked for before, so that it can be
  // reported as the smallest budget and planned for.
  Draft floor();

  // What `within` may take, and `floor` again, in units of about a microsecond.
  std::int64_t most_units() const { return (1 + floor_share) * units_; }
  static std::int64_t units_for(std::size_t tasks, double work_factor);

 private:
  // The lowest load is searched for once, whatever budgets are asked for, with so many times the work of an
  // aim: a low start saves more of the way down than it takes. Up to a limit, as it is waited for.
  static constexpr std::int64_t floor_share = 3, most_floor_units = 3'000'000;
  static constexpr std::int64_t large_units = 1'000'000;

  struct Aim {
    std::int64_t target = -1;                // load; negative: nothing runs again
    std::optional<std::int64_t> limit = {};  // load up to which groups may lift it; none: the target
    double share = 1;                        // of the work
    const Draft* nearby = nullptr;           // for another target, to go on from
  };
  enum class Wanted { least_time, any_that_fits };
  Draft within(std::int64_t allowed, Wanted wanted);
  Draft once_within(std::int64_t allowed);
  Draft once_floor();
  bool out_of_time() const;
  // Each aim takes seconds: where one will do, there are no others.
  bool is_large() const { return units_ > large_units; }
  Draft aim(const Aim& aim);
  Draft lower_until_it_fits(std::int64_t allowed, int attempts, double first_share);
  Draft packed_well(Draft done, std::int64_t allowed) const;

  const Draft& ordered_;
  Passes finish_;
  std::int64_t units_;  // of the first aim
  RematMemory memory_;
  std::vector<NodeId> warm_start_;
};

}  // namespace tidemark
