#include "tidemark/schedule/run/run_actions.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"

namespace tidemark::schedule {

using Clock = std::chrono::steady_clock;

RunActions::RunActions(Simulation& simulation, std::vector<OpenLevel> levels, const RunOptions& options,
                       Report& report)
    : simulation_(simulation),
      levels_(std::move(levels)),
      options_(options),
      report_(report),
      table_(levels_.size()),
      hashes_(options.verify == Verify::replay, simulation, options.tolerance),
      state_bytes_(static_cast<std::int64_t>(simulation.state_bytes())),
      record_bytes_(std::max<std::int64_t>(options.record_bytes, 0)) {
  hashes_.reserve(report.promise.steps);
}

void RunActions::perform(const Action& action) {
  switch (action.kind) {
    case ActionKind::advance:
      if (action.step != at_ || action.to <= action.step)
        refuse(action, fmt::format("the working state is state {}", at_));
      forward({action.step, action.to});
      report_.advances += action.to - action.step;
      break;
    case ActionKind::record:
      record(action);
      break;
    case ActionKind::reverse:
      reverse(action);
      break;
    case ActionKind::store:
      store_state(action);
      break;
    case ActionKind::load:
      table_.held(action);
      if (observer_ && in_files(action.level)) observer_->before_file_load(action);
      load(action.level, action.slot, action.step);
      break;
    case ActionKind::drop:
      drop(action);
      break;
  }
  ++position_;
  if (options_.progress) report_progress(false);
}

void RunActions::forward(Steps range) {
  while (range.begin < range.end) {
    if (hashes_.on()) {
      simulation_.advance({range.begin, range.begin + 1});
      hashes_.visit(simulation_, ++range.begin);
    } else {
      const Step end = std::min(range.end, range.begin + chunk_);
      const auto before = Clock::now();
      simulation_.advance({range.begin, end});
      if (end - range.begin == chunk_ && Clock::now() - before < std::chrono::milliseconds(2)) chunk_ *= 2;
      range.begin = end;
    }
    at_ = range.begin;
    if (observer_) observer_->poll();
    if (options_.progress && range.begin < range.end) report_progress(false);
  }
}

void RunActions::record(const Action& action) {
  if (action.step != at_) refuse(action, fmt::format("the working state is state {}", at_));
  if (action.level == working) {
    simulation_.record(action.step);
    working_record_ = action.step;
    at_ = action.step + 1;
    hashes_.visit(simulation_, at_);
  } else {
    // The slot is taken first: what does not fit is refused before the step is done.
    hold(action, {action.step, true, record_bytes_});
    if (observer_ && in_files(action.level)) observer_->before_file_store(action);
    const std::int64_t bytes = record_to(action.level, action.slot, action.step);
    if (bytes > record_bytes_ && levels_[static_cast<std::size_t>(action.level)].budget >= 0)
      fail(ErrorCode::infeasible_budget,
           {.what = fmt::format("the record of step {} has {} bytes; the schedule was made for {}",
                                action.step, bytes, record_bytes_),
            .help = "give the largest as record_bytes"});
  }
  ++report_.recorded;
}

// Returns how many bytes the record has.
std::int64_t RunActions::record_to(int level, std::int32_t slot, Step step) {
  std::int64_t bytes = 0;
  if (!in_files(level)) {
    bytes = static_cast<std::int64_t>(simulation_.record_into(level, slot, step));
  } else {
    if (!simulation_.records_have_bytes())
      fail(
          ErrorCode::bad_run_option,
          {.what = "the schedule keeps records in a directory, but the stepper's record is not a Snapshotter",
           .expected = "a record that is trivially copyable, a vector of such, or has a Snapshot",
           .help = "choose a kind that keeps states only: binomial, multilevel, disk"});
    simulation_.record(step);
    working_record_ = step;
    bytes = static_cast<std::int64_t>(simulation_.record_bytes());
    simulation_.save_record(store(level).open(slot, simulation_.record_bytes()));
    store(level).close(slot, {step, true, position_});
  }
  at_ = step + 1;
  hashes_.visit(simulation_, at_);
  return bytes;
}

void RunActions::reverse(const Action& action) {
  if (!seeded_) {
    if (at_ != action.step + 1) refuse(action, "the first reverse must follow the last step");
    simulation_.seed();
    seeded_ = true;
  }
  if (action.level == working) {
    if (working_record_ != action.step) refuse(action, "the working record is of another step");
    simulation_.reverse(action.step);
  } else {
    table_.held(action);
    if (in_files(action.level)) {
      load_record(action);
      simulation_.reverse(action.step);
    } else {
      simulation_.reverse_from(action.level, action.slot, action.step);
    }
  }
  working_record_ = -1;
  ++report_.reversed;
}

// Into the working record; recomputed when the file is damaged, with the working state left as it was.
void RunActions::load_record(const Action& action) {
  if (const auto bytes = store(action.level).read(action.slot)) return simulation_.load_record(*bytes);
  std::vector<std::byte> state(simulation_.state_bytes());
  simulation_.save_state(state);
  const Step was_at = at_;
  const SlotTable::StateSlot from = table_.latest_state(action.step);
  if (from.step < 0)
    fail(ErrorCode::snapshot_lost,
         {.what = fmt::format(
              "the record of step {} at level {}, slot {} is damaged, and no state before it is held",
              action.step, action.level, action.slot),
          .help = "run again; with resume, what was reversed is kept"});
  load(from.level, from.slot, from.step);
  repeat_to(action.step);
  store(action.level).forget(action.slot);
  record_to(action.level, action.slot, action.step);
  ++report_.repeated;
  report_.healed.push_back({action.level, action.slot, action.step, from.step});
  simulation_.load_state(state);
  at_ = was_at;
}

void RunActions::store_state(const Action& action) {
  if (action.step != at_) refuse(action, fmt::format("the working state is state {}", at_));
  if (action.step == 0) hashes_.visit(simulation_, 0);
  hold(action, {action.step, false, static_cast<std::int64_t>(simulation_.state_bytes())});
  if (observer_ && in_files(action.level)) observer_->before_file_store(action);
  fill_state(action.level, action.slot, position_);
  ++report_.levels[static_cast<std::size_t>(action.level)].writes;
}

void RunActions::fill_state(int level, std::int32_t slot, std::uint64_t action) {
  const std::size_t bytes = simulation_.state_bytes();
  simulation_.save_state(store(level).open(slot, bytes));
  store(level).close(slot, {at_, false, action});
}

bool RunActions::try_load(int level, std::int32_t slot, Step step) {
  ++report_.levels[static_cast<std::size_t>(level)].reads;
  const auto bytes = store(level).read(slot);
  if (!bytes || !hashes_.agree(*bytes, step)) return false;
  simulation_.load_state(*bytes);
  at_ = step;
  return true;
}

void RunActions::load(int level, std::int32_t slot, Step step) {
  if (try_load(level, slot, step)) return;
  const SlotTable::StateSlot from = table_.latest_state(step - 1);
  if (from.step < 0)
    fail(ErrorCode::snapshot_lost,
         {.what = fmt::format(
              "the snapshot of state {} at level {}, slot {} is damaged, and no earlier one is held", step,
              level, slot),
          .help = "run again from the initial state; with resume, what was reversed is kept"});
  load(from.level, from.slot, from.step);
  repeat_to(step);
  replace(level, slot, from.step);
}

void RunActions::replace(int level, std::int32_t slot, Step from) {
  store(level).forget(slot);
  fill_state(level, slot, Content::not_scheduled);
  report_.healed.push_back({level, slot, at_, from});
}

void RunActions::repeat_to(Step step) {
  report_.repeated += step - at_;
  forward({at_, step});
}

void RunActions::repeat_record(int level, std::int32_t slot) {
  ++report_.repeated;
  if (level == working) {
    simulation_.record(at_);
    hashes_.visit(simulation_, ++at_);
  } else {
    record_to(level, slot, at_);
  }
}

void RunActions::drop(const Action& action) {
  const bool is_record = table_.held(action).is_record;
  table_.empty(action);
  if (is_record && !in_files(action.level))
    simulation_.drop_record(action.level, action.slot);
  else
    store(action.level).drop(action.slot);
  const OpenLevel& level = levels_[static_cast<std::size_t>(action.level)];
  if (is_record && level.memory) level.memory->make_room(table_.totals(action.level).record_bytes);
}

// Takes the slot, and refuses what would leave the budget.
void RunActions::hold(const Action& action, const Held& held) {
  table_.fill(action, held);
  const OpenLevel& level = levels_[static_cast<std::size_t>(action.level)];
  const SlotTable::LevelTotals& totals = table_.totals(action.level);
  if (level.budget >= 0 && totals.bytes > level.budget)
    fail(ErrorCode::infeasible_budget,
         {.what = fmt::format("step {} would bring level {} to {}, its budget is {}", action.step,
                              action.level, to_string(Bytes(totals.bytes)), to_string(Bytes(level.budget))),
          .expected = fmt::format("states of at most {}, as at the start", to_string(Bytes(state_bytes_))),
          .help = "where sizes grow during the run, give the largest as state_bytes or record_bytes"});
  if (level.memory) level.memory->make_room(totals.record_bytes);
}

void RunActions::set_budget(int level, std::int64_t bytes) {
  OpenLevel& open = levels_[static_cast<std::size_t>(level)];
  open.budget = bytes;
  open.memory->set_budget(bytes);
  check_budget(level);
}

void RunActions::check_budget(int level) const {
  const OpenLevel& open = levels_[static_cast<std::size_t>(level)];
  TM_CHECK(open.memory->allocated() <= open.budget, "{} bytes allocated, the budget is {}",
           open.memory->allocated(), open.budget);
}

void RunActions::skip(const Action& action) {
  switch (action.kind) {
    case ActionKind::advance:
      at_ = action.to;
      forward_before_ += action.to - action.step;
      break;
    case ActionKind::record:
      at_ = action.step + 1;
      if (action.level == working) working_record_ = action.step;
      if (action.level != working) table_.fill(action, {action.step, true, record_bytes_});
      ++forward_before_;
      break;
    case ActionKind::reverse:
      working_record_ = -1;
      seeded_ = true;
      ++reversed_before_;
      break;
    case ActionKind::store:
      table_.fill(action, {action.step, false, state_bytes_});
      break;
    case ActionKind::load:
      at_ = action.step;
      break;
    case ActionKind::drop:
      table_.empty(action);
      break;
  }
  ++position_;
}

void RunActions::report_progress(bool at_end) {
  if (!options_.progress) return;
  const auto now = Clock::now();
  if (!at_end && now < next_progress_) return;
  next_progress_ = now + std::chrono::milliseconds(100);
  options_.progress({.steps = report_.promise.steps,
                     .reversed = reversed(),
                     .forward = forward_before_ + report_.actual_forward(),
                     .predicted_forward = report_.predicted_forward() + report_.budget.extra_forward,
                     .held = Bytes(table_.held_bytes())});
}

}  // namespace tidemark::schedule
