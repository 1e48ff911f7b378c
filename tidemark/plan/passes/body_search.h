// A budget with loops and branches: which modes their nodes take (regions.h), together with what runs again
// outside.
//
// In a sequence of runs a node's scratch is there only while the node runs. So, once the sequence is found,
// each node takes its fastest mode that leaves the load within the budget at its own runs: no other node is
// in the way. The sequence depends on the modes in turn. It is searched for with all bodies free, and where
// that runs anything again, with the modes that a search of both at once chooses (body_modes.h), then with
// those that turned out to have room; where nothing fits, with all bodies as small as they get. The fastest
// finished draft is taken: never one slower than with free bodies.
#pragma once
#include <list>

#include "tidemark/plan/passes/budget_search.h"
#include "tidemark/plan/passes/regions.h"

namespace tidemark {

class BodySearch {
 public:
  // What is known before remat, for plans of the regions and a share of the effort.
  using Ordered = std::function<Draft(const RegionPlans&, double share)>;
  BodySearch(Bodies& bodies, Ordered ordered, BudgetSearch::Passes finish);

  // The fastest draft found whose arena is no higher than allowed; where none is, the lowest: with `floor`,
  // after a search for it. Valid as long as this object.
  Draft best(std::int64_t allowed, bool floor, SearchControl* control);

 private:
  struct Attempt {
    Attempt(const Bodies& bodies, Bodies::Choice modes, const Ordered& ordered,
            const BudgetSearch::Passes& finish, double share);
    Bodies::Choice choice;
    RegionPlans regions;
    Draft ordered;
    BudgetSearch search;
    std::optional<Draft> done = {};
    double seconds = 0;

    void take(Draft draft);
    bool fits(std::int64_t allowed) const { return done->arena_bytes <= allowed; }
    bool repeats() const {
      const auto more =
          static_cast<int>(done->executions.size()) - static_cast<int>(ordered.executions.size());
      return more > done->duplicates.steps;
    }
  };
  Attempt& attempt(const Bodies::Choice& choice, double share, const Draft* start = nullptr);
  bool tried(const Bodies::Choice& choice) const;
  Attempt* with_modes(std::int64_t allowed, Attempt* best, SearchControl* control);
  Bodies::Choice with_room(const Attempt& found, std::int64_t allowed) const;

  Bodies& bodies_;
  Ordered ordered_;
  BudgetSearch::Passes finish_;
  std::list<Attempt> attempts_;  // a draft points to the plans of its regions
};

}  // namespace tidemark
