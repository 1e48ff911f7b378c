// For loops that end when they end. Told of each state as it is reached, the policy says what to keep; at any
// moment `finish` gives the reversal of what was kept, each gap at the least number of advances. (To load a
// kept state, drop it and advance to a better place may take fewer; kinds/remainder.h does that.)
//
// The policy is greedy: while slots are free, every state is kept; then a state takes the place of that one
// which makes the reversal cheapest if the next step is the last one, and none if keeping all is as cheap.
// Over all lengths up to 1000 it takes at most 1.11 times the forward steps of the best schedule that knows
// the length with 2 slots, 1.07 with 3, 1.06 with more.
#pragma once
#include <array>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "tidemark/schedule/kinds/burst.h"
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

class Online {
 public:
  explicit Online(std::int64_t slots, std::int16_t level = 0,
                  std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  // Takes all that it may ever need of its memory now, at most room_for(slots) bytes: visit() then allocates
  // nothing.
  void reserve();
  static std::int64_t room_for(std::int64_t slots);

  // State `step` is the working state, and step `step` is not the last: to be called for 0, 1, 2 and so on,
  // before the step is taken. Returns what to do with it: nothing, a store, or a drop and a store.
  std::span<const Action> visit(Step step);

  // There are `steps` steps. Either the working state is state steps−1, the last step is not taken, and visit
  // was called for all states before; or all are taken, the working state is state `steps`, and visit was
  // called for all before that one. The stream begins with the working state as it is.
  std::unique_ptr<ActionStream> finish(Step steps) const;
  // How many advances are in it; -1 beyond 63 bits.
  Step advances_to_finish(Step steps) const;

  struct Kept {
    Step state = 0;
    std::int32_t slot = 0;
  };
  std::span<const Kept> kept() const { return kept_; }  // by state
  std::int64_t slots() const { return slots_; }
  Step visited() const { return visited_; }

 private:
  void keep(Step step, std::int32_t slot);
  void weigh();

  std::int64_t slots_;
  std::int16_t level_;
  Step visited_ = 0;
  std::pmr::vector<Kept> kept_;
  std::pmr::vector<double> before_;  // for weigh()
  std::array<Action, 2> actions_ = {};
  std::size_t action_count_ = 0;
  // Of the reversal up to the last kept state, and without any one of the states between: see weigh().
  double all_ = 0, all_but_last_ = 0, without_ = 0;
  std::size_t dispensable_ = 0;
};

std::unique_ptr<Schedule> online_schedule(const Question& question);

}  // namespace tidemark::schedule
