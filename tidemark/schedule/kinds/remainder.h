// What is left of a reversal in the middle of it, when the number of slots changes: which of the states that
// are held to keep, so that the steps that are left take the least advances.
//
// Places m_0 = 0 < … < m_q cut what is left into segments, reversed last to first, each with the slots that
// are free by then: segment i has all but the i taken by the places before it, and takes least_advances. A
// held state is a place as it lies; or, if another place is better by the time its segment comes, it is
// loaded, dropped, and advanced from to that place, which costs the steps between. So the least is a path
// over steps and ranks: Σ (m_i − source_i) + Σ least_advances(m_{i+1} − m_i, slots − i). Costs are convex in
// the length, so that finding it takes steps × ranks × log(steps) of them. To drop later than now is never
// better: a slot helps more the earlier it is free.
#pragma once
#include <vector>

#include "tidemark/schedule/kinds/binomial_reversal.h"

namespace tidemark::schedule {

// Steps from `end` on are reversed. States are held in ascending order: the first is 0, the last is before
// `end`. None are held only if the working state is 0, or if nothing is left.
struct Remainder {
  Step end = 0;
  std::vector<Step> held = {};
  Step working = -1;     // no earlier than those held, and before `end`; below zero: none of any use
  bool may_load = true;  // now, before any is dropped; else there is no working state of any use

  bool needs_a_slot() const { return end > 1 || (end == 1 && working != 0); }
};

struct RemainderPlan {
  enum class Choice {
    among_all,   // the least there is
    among_many,  // places lie at held states, and 1, 2, 4, 8, … steps behind them
    among_held,  // places lie at held states
    one_by_one,  // the same, and states were dropped one after the other by what each costs alone
  };
  struct Place {
    Step source = 0, state = 0;  // held, or of the last place the working state; and where its segment begins
  };
  std::vector<Place> places = {};  // ascending
  Step advances = 0;               // that are left; below zero: beyond 63 bits
  Choice choice = Choice::among_all;

  // The state that must become the working state before any is dropped, if it may.
  Step first() const { return places.back().source; }
  // Those to hold from then on, ascending.
  std::vector<Step> kept(const Remainder& remainder) const;
};

// So many pairs of steps and ranks are looked at, for some ten milliseconds; where there are more, fewer
// places are.
inline constexpr std::int64_t most_pairs = std::int64_t{1} << 20;

// `slots` is at least one where the remainder needs a slot. Of equal choices, one that keeps many states.
RemainderPlan plan_remainder(const Remainder& remainder, std::int64_t slots, std::int64_t pairs = most_pairs);

// Carries it out, with plan.first() the working state, if it may be, and plan.kept() held. Slots in its
// actions are depths: whoever carries them out knows where states lie, as the last one held is the one to be
// loaded or dropped.
class RemainderReversal {
 public:
  RemainderReversal(const Remainder& remainder, const RemainderPlan& plan, std::int64_t slots)
      : end_(remainder.end),
        slots_(slots),
        places_(plan.places),
        kept_(plan.kept(remainder)),
        is_at_work_(remainder.may_load) {}

  std::size_t burst(Action* out);

 private:
  Step end_;
  std::int64_t slots_;
  std::vector<RemainderPlan::Place> places_;  // those whose segments have not begun
  std::vector<Step> kept_;                    // what they need
  bool is_at_work_;                           // the source of the last place is the working state
  BinomialReversal segment_;
};

}  // namespace tidemark::schedule
