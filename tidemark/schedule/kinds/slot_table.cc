#include "tidemark/schedule/kinds/slot_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark::schedule {

void refuse(const Action& action, std::string_view why) {
  fail(ErrorCode::bad_schedule,
       {.what = fmt::format("the schedule's action {} of step {} at level {}, slot {} cannot be: {}",
                            name_of(action.kind), action.step, action.level, action.slot, why)});
}

void SlotTable::require_level(const Action& action) const {
  if (action.level < 0 || static_cast<std::size_t>(action.level) >= slots_.size())
    refuse(action, fmt::format("there are {} levels", slots_.size()));
  if (action.slot < 0) refuse(action, "slots are counted from 0");
}

void SlotTable::fill(const Action& action, const Held& held) {
  require_level(action);
  auto& slots = slots_[static_cast<std::size_t>(action.level)];
  const auto s = static_cast<std::size_t>(action.slot);
  if (s >= slots.size()) slots.resize(s + 1);
  if (slots[s].step >= 0) refuse(action, fmt::format("the slot holds step {}", slots[s].step));
  slots[s] = held;
  LevelTotals& totals = totals_[static_cast<std::size_t>(action.level)];
  totals.slots += 1;
  totals.bytes += held.bytes;
  if (held.is_record) totals.record_bytes += held.bytes;
  totals.peak_slots = std::max(totals.peak_slots, totals.slots);
  totals.peak_bytes = std::max(totals.peak_bytes, totals.bytes);
}

const Held& SlotTable::held(const Action& action) const {
  require_level(action);
  const auto& slots = slots_[static_cast<std::size_t>(action.level)];
  const auto s = static_cast<std::size_t>(action.slot);
  if (s >= slots.size() || slots[s].step != action.step)
    refuse(action, s >= slots.size() || slots[s].step < 0
                       ? std::string("the slot is empty")
                       : fmt::format("the slot holds step {}", slots[s].step));
  if (action.kind != ActionKind::drop && slots[s].is_record != (action.kind == ActionKind::reverse))
    refuse(action, slots[s].is_record ? "the slot holds a record" : "the slot holds a state");
  return slots[s];
}

void SlotTable::empty(const Action& action) {
  const Held held = this->held(action);
  slots_[static_cast<std::size_t>(action.level)][static_cast<std::size_t>(action.slot)] = {};
  LevelTotals& totals = totals_[static_cast<std::size_t>(action.level)];
  totals.slots -= 1;
  totals.bytes -= held.bytes;
  if (held.is_record) totals.record_bytes -= held.bytes;
}

std::int64_t SlotTable::held_bytes() const {
  std::int64_t sum = 0;
  for (const LevelTotals& totals : totals_) sum += totals.bytes;
  return sum;
}

SlotTable::StateSlot SlotTable::latest_state(Step step) const {
  StateSlot best;
  for (std::size_t level = 0; level < slots_.size(); ++level)
    for (std::size_t slot = 0; slot < slots_[level].size(); ++slot) {
      const Held& held = slots_[level][slot];
      if (held.step > best.step && held.step <= step && !held.is_record)
        best = {static_cast<int>(level), static_cast<std::int32_t>(slot), held.step};
    }
  return best;
}

}  // namespace tidemark::schedule
