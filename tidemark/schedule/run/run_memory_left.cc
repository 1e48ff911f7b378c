// A run whose budget changes while it goes: before each move it asks how many states it may hold. When that
// is another number than before, the states that cost least to lose go, and what is left is planned anew from
// where the run is (kinds/remainder.h).
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/remainder.h"
#include "tidemark/schedule/question.h"
#include "tidemark/schedule/run/run_session.h"

namespace tidemark::schedule::detail {
namespace {

[[noreturn]] void cannot_follow(std::string what, std::string expected) {
  fail(ErrorCode::bad_run_option, {.what = std::move(what) + " cannot follow RunOptions::memory_left",
                                   .expected = std::move(expected),
                                   .help = "leave memory_left out, or change the other option"});
}

void require_followable(const RunOptions& options) {
  if (options.kind != Kind::automatic && options.kind != Kind::binomial)
    cannot_follow(fmt::format("a schedule of kind {}", name_of(options.kind)), "kind automatic or binomial");
  if (options.resume)
    cannot_follow("a run with resume = true", "no journal: other budgets are other schedules");
  if (options.levels.size() > 1)
    cannot_follow(fmt::format("a run with {} levels", options.levels.size()), "at most one level, in memory");
  if (options.levels.empty()) return;
  if (!options.levels[0].directory.empty())
    cannot_follow(fmt::format("a level in the directory {}", options.levels[0].directory),
                  "at most one level, in memory");
}

// The level as it is without the callback. Costs of memory are none.
Question question_of_level(const Simulation& simulation, Step steps, const RunOptions& options) {
  Question question{.steps = steps, .kind = Kind::binomial, .levels = {{}}};
  const auto measured = static_cast<std::int64_t>(simulation.state_bytes());
  question.state_bytes = std::max<std::int64_t>(options.state_bytes >= 0 ? options.state_bytes : measured, 1);
  if (!options.levels.empty())
    question.levels[0] = {.slots = options.levels[0].slots, .bytes = options.levels[0].bytes.count};
  return question;
}

class RunWithinMemoryLeft {
 public:
  RunWithinMemoryLeft(Simulation& simulation, const Question& level, const RunOptions& options)
      : simulation_(simulation),
        options_(options),
        steps_(level.steps),
        state_bytes_(level.state_bytes),
        most_(std::min(state_slots(level, 0), std::max<Step>(steps_ - 1, 1))),
        folders_(options) {
    slots_ = ask();
    if (steps_ > 1) require_slot(steps_);
    Question first = level;
    first.levels[0] = {.slots = slots_};
    session_ = std::make_unique<Session>(simulation, make_schedule(first)->promise(), options, folders_);
    report().budget.least_slots = slots_;
  }

  Report run() {
    try {
      plan();
      for (Action action; next(action);) perform(action);
    } catch (...) {
      session_->abandon();
      throw;
    }
    return session_->close();
  }

 private:
  struct Kept {
    Step state = 0;
    std::int32_t slot = 0;
  };

  RunActions& actions() { return session_->actions(); }
  Report& report() { return session_->report(); }

  // In states. More than could ever be used is as good as that.
  std::int64_t ask() {
    left_ = options_.memory_left().count;
    return std::min(std::max<std::int64_t>(left_, 0) / state_bytes_, most_);
  }

  void require_slot(Step steps) const {
    if (slots_ >= 1) return;
    fail(ErrorCode::infeasible_budget,
         {.what = fmt::format("RunOptions::memory_left allows {}, and {} steps are left to reverse",
                              left_ < 0 ? fmt::format("{} B", left_) : to_string(Bytes(left_)), steps),
          .expected = fmt::format("at least one state, {}", to_string(Bytes(state_bytes_))),
          .help = "state 0 must stay until the last step: without it the run cannot go on"});
  }

  // The next move within what is allowed now; false at the end.
  bool next(Action& action) {
    if (!has_pending_ && !(has_pending_ = stream_->next(pending_))) return false;
    if (const std::int64_t slots = ask(); slots != slots_) {
      slots_ = slots;
      ++report().budget.changes;
      report().budget.least_slots = std::min(report().budget.least_slots, slots);
      plan();
      if (!has_pending_ && !(has_pending_ = stream_->next(pending_))) return false;
    }
    action = pending_;
    has_pending_ = false;
    if (action.kind == ActionKind::advance && action.to - action.step > 1) {  // step by step
      action.to = action.step + 1;
      pending_.step = action.to;
      has_pending_ = true;
    }
    return true;
  }

  // The reversal is a stack of states: the last one stored is the one to be loaded or dropped.
  void perform(Action action) {
    if (action.kind == ActionKind::store) {
      require_size();
      if (free_.empty()) free_.push_back(static_cast<std::int32_t>(kept_.size()));
      kept_.push_back({action.step, free_.back()});
      free_.pop_back();
    }
    if (action.kind == ActionKind::store || action.kind == ActionKind::load ||
        action.kind == ActionKind::drop) {
      TM_CHECK(!kept_.empty() && kept_.back().state == action.step);
      action.level = 0;
      action.slot = kept_.back().slot;
    }
    session_->perform(action);
    if (action.kind == ActionKind::drop) {
      free_.push_back(action.slot);
      kept_.pop_back();
    }
    actions().check_budget(0);
  }

  void require_size() const {
    const auto bytes = static_cast<std::int64_t>(simulation_.state_bytes());
    if (bytes <= state_bytes_) return;
    fail(ErrorCode::infeasible_budget,
         {.what = fmt::format("a state of {}, where memory_left is counted in states of {}",
                              to_string(Bytes(bytes)), to_string(Bytes(state_bytes_))),
          .help = "where states grow during the run, give the largest as state_bytes"});
  }

  // From where the run is, with the slots that it has now.
  void plan() {
    const Step end = steps_ - actions().reversed();
    const bool is_recorded = end > 0 && actions().working_record() == end - 1;
    // The seed of the adjoint reads the working state: it stays until what is recorded is reversed.
    Remainder remainder{.end = is_recorded ? end - 1 : end, .may_load = !is_recorded};
    if (!is_recorded && actions().at() < end) remainder.working = actions().at();
    for (const Kept& kept : kept_)
      if (kept.state < remainder.end) remainder.held.push_back(kept.state);
    if (remainder.needs_a_slot()) require_slot(remainder.end);
    const RemainderPlan plan = plan_remainder(remainder, slots_);
    if (plan.advances < 0)
      fail(ErrorCode::infeasible_budget,
           {.what = fmt::format("{} steps with {} slots take more than 2^63 forward steps", remainder.end,
                                slots_),
            .help = "let memory_left allow more"});
    if (remainder.end > 0 && remainder.may_load && plan.first() != remainder.working) load(plan.first());
    keep_only(plan.kept(remainder));
    actions().set_budget(0, slots_ * state_bytes_);
    report().levels[0].slots = std::max(report().levels[0].slots, slots_);
    report().budget.extra_forward =
        report().actual_forward() + plan.advances + remainder.end - report().predicted_forward();
    stream_ = std::make_unique<BurstStream<RemainderReversal>>(remainder, plan, slots_);
    has_pending_ = is_recorded;
    if (is_recorded) pending_ = {ActionKind::reverse, working, 0, end - 1, end - 1};
  }

  void load(Step state) {
    for (const Kept& kept : kept_)
      if (kept.state == state) return session_->perform({ActionKind::load, 0, kept.slot, state, state});
    TM_CHECK(false, "state {} is not held", state);
  }

  void keep_only(const std::vector<Step>& states) {
    std::vector<Kept> left;
    for (const Kept& kept : kept_) {
      if (std::binary_search(states.begin(), states.end(), kept.state)) {
        left.push_back(kept);
        continue;
      }
      session_->perform({ActionKind::drop, 0, kept.slot, kept.state, kept.state});
      free_.push_back(kept.slot);
      ++report().budget.dropped;
    }
    kept_ = std::move(left);
  }

  Simulation& simulation_;
  const RunOptions& options_;
  Step steps_;
  std::int64_t state_bytes_, most_;
  std::int64_t slots_ = 0, left_ = 0;  // allowed now; as it was said, in bytes
  RunFolders folders_;
  std::unique_ptr<Session> session_;
  std::vector<Kept> kept_;          // ascending
  std::vector<std::int32_t> free_;  // slots that are numbered and empty
  std::unique_ptr<ActionStream> stream_;
  Action pending_;
  bool has_pending_ = false;
};

}  // namespace

void refuse_memory_left(const RunOptions& options, const char* of) {
  if (options.memory_left) cannot_follow(of, "a run of a number of steps, on its own schedule");
}

Report run_within_memory_left(Simulation& simulation, Step steps, const RunOptions& options) {
  require_followable(options);
  const Question level = question_of_level(simulation, steps, options);
  make_schedule(level);  // says what is wrong with the level itself
  return RunWithinMemoryLeft(simulation, level, options).run();
}

}  // namespace tidemark::schedule::detail
