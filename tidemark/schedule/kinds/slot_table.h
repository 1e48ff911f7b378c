// Which slot holds what, while actions pass by: the executor's and the resumer's idea of the levels.
#pragma once
#include <vector>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

struct Held {
  Step step = -1;  // below zero: empty
  bool is_record = false;
  std::int64_t bytes = 0;
};

class SlotTable {
 public:
  struct LevelTotals {
    std::int64_t slots = 0, bytes = 0, record_bytes = 0;
    std::int64_t peak_slots = 0, peak_bytes = 0;
  };
  struct StateSlot {
    int level = working;
    std::int32_t slot = 0;
    Step step = -1;
  };

  explicit SlotTable(std::size_t levels) : slots_(levels), totals_(levels) {}

  // Each throws Error `bad_schedule` for an action that cannot be: of a level there is none of, a store into
  // a slot that is full, a load of what the slot does not hold.
  void fill(const Action& action, const Held& held);
  const Held& held(const Action& action) const;
  void empty(const Action& action);

  const LevelTotals& totals(int level) const { return totals_[static_cast<std::size_t>(level)]; }
  std::size_t levels() const { return slots_.size(); }
  const std::vector<Held>& slots(int level) const { return slots_[static_cast<std::size_t>(level)]; }
  std::int64_t held_bytes() const;

  // The slot with the latest state at or before `step`, on the fastest level that has it.
  StateSlot latest_state(Step step) const;

 private:
  void require_level(const Action& action) const;
  std::vector<std::vector<Held>> slots_;  // by level
  std::vector<LevelTotals> totals_;
};

[[noreturn]] void refuse(const Action& action, std::string_view why);

}  // namespace tidemark::schedule
