#include "tidemark/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace tidemark::schedule {
namespace {

struct Slot {
  enum Holds : std::uint8_t { nothing, state, record } holds = nothing;
  Step step = 0;
};

struct LevelState {
  std::vector<Slot> slots;                           // as far as they were used, and
  std::unordered_map<std::int32_t, Slot> far_slots;  // those of high numbers, which may be a mistake
  std::int64_t used = 0, bytes = 0;
};

constexpr std::size_t dense_slots = 1 << 16;  // of a level in one array: a list of one line may name any slot

class Machine {
 public:
  explicit Machine(const Question& question)
      : question_(question), levels_(question.levels.size()), reversed_from_(question.steps) {
    seen_.kind = question.kind;
    seen_.steps = question.steps;
    for (auto* list : {&seen_.slots, &seen_.peak_slots, &seen_.peak_bytes, &seen_.writes, &seen_.reads})
      list->assign(levels_.size(), 0);
  }

  // What is wrong with the action; empty: nothing.
  std::string apply(const Action& action) {
    if (action.step < 0 || action.step >= question_.steps)
      return fmt::format("there is no step {}: the steps are 0 to {}", action.step, question_.steps - 1);
    const bool needs_slot = action.kind == ActionKind::store || action.kind == ActionKind::load ||
                            action.kind == ActionKind::drop;
    if (action.level == working) {
      if (needs_slot) return "it names no slot";
    } else if (action.kind == ActionKind::advance) {
      return "an advance names no slot";
    } else if (action.level < 0 || static_cast<std::size_t>(action.level) >= levels_.size()) {
      return fmt::format("there is no level {}", action.level);
    } else if (action.slot < 0) {
      return fmt::format("there is no slot {}", action.slot);
    } else if (const std::int64_t limit = level_of(action).slots; limit >= 0 && action.slot >= limit) {
      over_budget_ = true;
      return fmt::format("level {} has {} slots, and none is number {}", action.level, limit, action.slot);
    }
    switch (action.kind) {
      case ActionKind::advance:
        return advance(action);
      case ActionKind::record:
        return record(action);
      case ActionKind::reverse:
        return reverse(action);
      case ActionKind::store:
        return store(action);
      case ActionKind::load:
        return load(action);
      case ActionKind::drop:
        return drop(action);
    }
    return "it is no action";
  }

  bool over_budget() const { return over_budget_; }

  std::string at_end() const {
    return reversed_from_ == 0
               ? ""
               : fmt::format("the list ends, and step {} is not reversed", reversed_from_ - 1);
  }

  Promise seen() const {
    Promise seen = seen_;
    seen.cost = question_.forward_cost * static_cast<double>(seen.advances) +
                question_.reverse_cost * static_cast<double>(question_.steps - reversed_from_);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (question_.kind == Kind::background && i + 1 == levels_.size()) break;  // nobody waits for it
      seen.cost += question_.levels[i].write_cost * static_cast<double>(seen.writes[i]);
      seen.cost += question_.levels[i].read_cost * static_cast<double>(seen.reads[i]);
    }
    return seen;
  }

 private:
  const Level& level_of(const Action& action) const {
    return question_.levels[static_cast<std::size_t>(action.level)];
  }

  Slot& slot_of(const Action& action) {
    LevelState& level = levels_[static_cast<std::size_t>(action.level)];
    const auto index = static_cast<std::size_t>(action.slot);
    if (index >= dense_slots) return level.far_slots[action.slot];
    if (index >= level.slots.size()) level.slots.resize(index + 1);
    return level.slots[index];
  }

  std::string wrong_state(Step step) const {
    return fmt::format("the working state is state {}, not {}", working_state_, step);
  }

  std::string advance(const Action& action) {
    if (action.step != working_state_) return wrong_state(action.step);
    if (action.to <= action.step || action.to > question_.steps)
      return fmt::format("it goes to {}: it must go beyond {} and not beyond {}", action.to, action.step,
                         question_.steps);
    working_state_ = action.to;
    if (__builtin_add_overflow(seen_.advances, action.to - action.step, &seen_.advances))
      return "there are more steps than can be counted";
    return "";
  }

  std::string record(const Action& action) {
    if (action.step != working_state_) return wrong_state(action.step);
    ++seen_.recorded;
    ++working_state_;
    if (action.level == working) {
      working_record_ = action.step;
      return "";
    }
    return occupy(action, Slot::record, question_.record_bytes);
  }

  std::string reverse(const Action& action) {
    if (action.step != reversed_from_ - 1)
      return reversed_from_ == 0 ? "every step is reversed already"
                                 : fmt::format("the next to be reversed is step {}", reversed_from_ - 1);
    if (action.level == working) {
      if (working_record_ != action.step)
        return working_record_ < 0 ? "there is no working record"
                                   : fmt::format("the working record is of step {}", working_record_);
    } else {
      if (std::string fault = holds(action, Slot::record); !fault.empty()) return fault;
      ++seen_.reads[static_cast<std::size_t>(action.level)];
    }
    --reversed_from_;
    return "";
  }

  std::string store(const Action& action) {
    if (action.step != working_state_) return wrong_state(action.step);
    return occupy(action, Slot::state, question_.state_bytes);
  }

  std::string load(const Action& action) {
    if (std::string fault = holds(action, Slot::state); !fault.empty()) return fault;
    working_state_ = action.step;
    ++seen_.reads[static_cast<std::size_t>(action.level)];
    return "";
  }

  std::string drop(const Action& action) {
    Slot& slot = slot_of(action);
    if (slot.holds == Slot::nothing) return "the slot is empty";
    if (slot.step != action.step) return fmt::format("the slot is of step {}", slot.step);
    LevelState& level = levels_[static_cast<std::size_t>(action.level)];
    level.used -= 1;
    level.bytes -= slot.holds == Slot::state ? question_.state_bytes : question_.record_bytes;
    slot = {};
    return "";
  }

  std::string holds(const Action& action, Slot::Holds what) {
    const Slot& slot = slot_of(action);
    const char* const name = what == Slot::state ? "state" : "record";
    if (slot.holds == Slot::nothing) return "the slot is empty";
    if (slot.holds != what) return fmt::format("the slot holds no {}", name);
    if (slot.step != action.step) return fmt::format("the slot holds the {} of step {}", name, slot.step);
    return "";
  }

  std::string occupy(const Action& action, Slot::Holds what, std::int64_t bytes) {
    Slot& slot = slot_of(action);
    if (slot.holds != Slot::nothing) return fmt::format("the slot is taken by step {}", slot.step);
    slot = {what, action.step};
    const auto index = static_cast<std::size_t>(action.level);
    LevelState& level = levels_[index];
    level.used += 1;
    if (__builtin_add_overflow(level.bytes, bytes, &level.bytes))
      return fmt::format("level {} then holds more bytes than can be counted", action.level);
    seen_.writes[index] += 1;
    seen_.slots[index] = std::max<std::int64_t>(seen_.slots[index], action.slot + std::int64_t{1});
    seen_.peak_slots[index] = std::max(seen_.peak_slots[index], level.used);
    seen_.peak_bytes[index] = std::max(seen_.peak_bytes[index], level.bytes);
    const Level& limits = level_of(action);
    over_budget_ =
        (limits.slots >= 0 && level.used > limits.slots) || (limits.bytes >= 0 && level.bytes > limits.bytes);
    if (limits.slots >= 0 && level.used > limits.slots)
      return fmt::format("level {} then holds {} of its {} slots", action.level, level.used, limits.slots);
    if (limits.bytes >= 0 && level.bytes > limits.bytes)
      return fmt::format("level {} then holds {} of its {} bytes", action.level, level.bytes, limits.bytes);
    return "";
  }

  const Question& question_;
  std::vector<LevelState> levels_;
  Step working_state_ = 0, working_record_ = -1;
  Step reversed_from_;  // steps from here on are reversed
  bool over_budget_ = false;
  Promise seen_;
};

template <class T>
std::optional<std::string> difference(const char* what, const T& promised, const T& seen) {
  if (promised == seen) return {};
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    return fmt::format("promised {} [{}], seen [{}]", what, fmt::join(promised, ", "), fmt::join(seen, ", "));
  } else {
    return fmt::format("promised {} {}, seen {}", what, promised, seen);
  }
}

}  // namespace

Verdict verify(const Question& question, ActionStream& actions) {
  Machine machine(question);
  Verdict verdict;
  std::array<Action, 256> batch;
  std::size_t count = 0;
  while (!verdict.fault && (count = actions.fill(batch)) > 0) {
    for (std::size_t i = 0; i < count; ++i) {
      if (std::string what = machine.apply(batch[i]); !what.empty()) {
        verdict.fault = Fault{verdict.actions, batch[i], std::move(what), machine.over_budget()};
        break;
      }
      ++verdict.actions;
    }
  }
  if (!verdict.fault) {
    if (std::string what = machine.at_end(); !what.empty())
      verdict.fault = Fault{verdict.actions, std::nullopt, std::move(what), false};
  }
  verdict.seen = machine.seen();
  return verdict;
}

std::optional<std::string> verify(const Question& question, const Schedule& schedule) {
  const Promise& promised = schedule.promise();
  Question asked = question;
  asked.kind = promised.kind;
  if (asked.levels.empty()) asked.levels.resize(promised.slots.size());
  const std::unique_ptr<ActionStream> actions = schedule.actions();
  const Verdict verdict = verify(asked, *actions);
  if (verdict.fault) {
    return fmt::format("action {}{}: {}", verdict.fault->index,
                       verdict.fault->action ? fmt::format(" ({} {})", name_of(verdict.fault->action->kind),
                                                           verdict.fault->action->step)
                                             : "",
                       verdict.fault->what);
  }
  const Promise& seen = verdict.seen;
  if (auto d = difference("steps", promised.steps, seen.steps)) return d;
  if (auto d = difference("advances", promised.advances, seen.advances)) return d;
  if (auto d = difference("recorded", promised.recorded, seen.recorded)) return d;
  if (auto d = difference("peak slots", promised.peak_slots, seen.peak_slots)) return d;
  if (auto d = difference("peak bytes", promised.peak_bytes, seen.peak_bytes)) return d;
  if (auto d = difference("writes", promised.writes, seen.writes)) return d;
  if (auto d = difference("reads", promised.reads, seen.reads)) return d;
  for (std::size_t i = 0; i < seen.slots.size(); ++i) {
    if (seen.slots[i] > promised.slots[i])
      return fmt::format("level {}: promised {} slots, and number {} is used", i, promised.slots[i],
                         seen.slots[i] - 1);
  }
  if (std::abs(promised.cost - seen.cost) > 1e-9 * std::max(1.0, std::abs(seen.cost)))
    return fmt::format("promised a cost of {}, seen {}", promised.cost, seen.cost);
  return {};
}

}  // namespace tidemark::schedule
