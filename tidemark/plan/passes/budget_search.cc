#include "tidemark/plan/passes/budget_search.h"

#include <algorithm>

#include "tidemark/plan/passes/passes.h"

namespace tidemark {
namespace {

// Of the work: for an aim near another one; where much runs again; for one that begins anew.
constexpr double small_share = 1.0 / 12, hard_share = 3 * small_share, anew_share = 6 * small_share;

constexpr int most_aims = 10;
constexpr int most_when_late = 3;  // aims for a first draft that fits when time is up

// Targets tried for one budget, and the best draft so far: what fits in the least time, or else the lowest.
// The higher the target, the less runs again; but what fits is known only when a draft is finished, and a
// target that failed once may succeed with what was learned since. So the border is bracketed, and asked for
// again when the bracket is closed.
class Bracket {
 public:
  Bracket(std::int64_t allowed, Draft first) : allowed_(allowed), seconds_bound_(first.seconds_bound) {
    add(allowed, std::move(first));
  }

  void add(std::int64_t target, Draft draft) {
    const bool fits = draft.arena_bytes <= allowed_;
    const double seconds = finish(draft).seconds;
    (fits ? low_ : high_) = target;
    // What was found for want of anything within the target is as dear as can be: no start for another.
    start_ = draft.fits;
    if (fits ? !fits_ || seconds < seconds_ : !fits_ && (!best_ || draft.arena_bytes < best_->arena_bytes)) {
      best_ = std::move(draft);
      seconds_ = seconds;
      fits_ = fits;
    }
    ++tried_;
  }

  // None: nothing more is to be expected.
  std::optional<std::int64_t> next_target() {
    const std::int64_t close = std::max<std::int64_t>(1, allowed_ / close_part);
    if (turns_ > 0) return above_and_at();
    if (!low_) {
      // Packing gets worse as more runs again: each time further down than by what was missing.
      if (tried_ > most_down || !best_->fits) return {};
      return std::max<std::int64_t>(0, *high_ - tried_ * (best_->arena_bytes - allowed_));
    }
    if (!high_) {
      const std::int64_t room = allowed_ - best_->arena_bytes;
      return room < 2 * close ? above_and_at() : std::optional(*low_ + room);
    }
    if (*high_ - *low_ > close) return *low_ + (*high_ - *low_) / 2;
    if (again_++ >= most_again) return above_and_at();
    low_ = high_ = std::nullopt;
    (best_->arena_bytes <= allowed_ ? low_ : high_) = allowed_;
    return allowed_;
  }

  bool is_above() const { return turns_ % 2 == 1; }  // the target given last
  const Draft& best() const { return *best_; }
  // Much must run again: there is more to win.
  bool is_hard() const { return best_->search_seconds > much_time * best_->base_seconds; }
  const Draft* nearby() const { return start_ || best_->fits ? &*best_ : nullptr; }
  Draft take() {
    best_->seconds_bound = seconds_bound_;  // of the budget that was asked for, not of another aim
    return std::move(*best_);
  }

 private:
  static constexpr int most_down = 5, most_again = 2, most_turns = 4;
  static constexpr std::int64_t close_part =
      200;                                        // of what is allowed: targets nearer than this are the same
  static constexpr std::int64_t above_part = 16;  // of what is allowed: a little above it
  static constexpr double much_time = 1.15;       // of the time with nothing run again

  // Where much runs again, aims a little above the budget, beginning anew, and at it, in turn: what is cheap
  // for a little more memory is often cheap to bring down, and searches at the budget alone do not come by
  // it.
  std::optional<std::int64_t> above_and_at() {
    if (!fits_ || !is_hard() || turns_ == most_turns) return {};
    return turns_++ % 2 == 0 ? allowed_ + allowed_ / above_part : allowed_;
  }

  std::int64_t allowed_;
  double seconds_bound_, seconds_ = 0;
  std::optional<Draft> best_;
  std::optional<std::int64_t> low_, high_;  // targets: the last that fitted, the last that did not
  bool fits_ = false, start_ = false;
  int tried_ = 0, again_ = 0, turns_ = 0;
};

}  // namespace

// Proportional to the tasks, as each gap is a choice; large graphs get less for each, or plans would take
// minutes.
std::int64_t BudgetSearch::units_for(std::size_t tasks, double work_factor) {
  constexpr double least = 90'000, per_task = 700, large = 1.5e6, per_task_if_large = 100;
  const auto n = static_cast<double>(tasks);
  const double units = std::min(least + per_task * n, large + per_task_if_large * n);
  return static_cast<std::int64_t>(std::clamp(units * work_factor, 1e4, 1e12));
}

BudgetSearch::BudgetSearch(const Draft& ordered, Passes finish)
    : ordered_(ordered),
      finish_(std::move(finish)),
      units_(units_for(ordered.executions.size(), ordered.work_factor)),
      warm_start_(ordered.warm_start) {}

bool BudgetSearch::out_of_time() const { return ordered_.control && ordered_.control->time_is_up(); }

Draft BudgetSearch::aim(const Aim& aim) {
  Draft aimed = ordered_;
  aimed.arena_budget = aim.target;
  aimed.group_limit = aim.limit.value_or(aim.target);
  aimed.remat_share = {.units = static_cast<std::int64_t>(static_cast<double>(units_) * aim.share) + 1,
                       .floor_units = std::min(floor_share * units_, most_floor_units),
                       .memory = &memory_};
  aimed.rough_layout = true;
  aimed.warm_start = warm_start_;
  if (aim.nearby) {
    aimed.warm_start.clear();
    for (const Execution& run : aim.nearby->executions) aimed.warm_start.push_back(run.node);
  }
  return finish_(std::move(aimed));
}

// With more work if it is too high, unless its load is too high as well.
Draft BudgetSearch::packed_well(Draft done, std::int64_t allowed) const {
  const std::int64_t load = maximum_load(done.buffers, done.executions.size(), done.target->alignment);
  if (load > allowed || done.arena_bytes <= load) return done;
  if (done.arena_bytes <= allowed) return done;
  done.rough_layout = false;
  done.layout_height = allowed;
  Draft packed = layout(done);
  return packed.arena_bytes <= done.arena_bytes ? packed : done;
}

// Where packing needs more than the load, aims lower. The arena of the result is above `allowed` where that
// leads to nothing.
Draft BudgetSearch::lower_until_it_fits(std::int64_t allowed, int attempts, double first_share) {
  std::int64_t target = allowed;
  Draft done = aim({.target = target, .share = first_share});
  const double seconds_bound = done.seconds_bound;
  for (int attempt = 1; attempt < attempts && done.fits && done.arena_bytes > allowed; ++attempt) {
    done = packed_well(std::move(done), allowed);
    if (done.arena_bytes <= allowed) break;
    // Packing gets worse as more runs again: each time further down than by what was missing.
    target = std::max<std::int64_t>(0, target - attempt * (done.arena_bytes - allowed));
    Draft lower = aim({.target = target, .share = small_share, .nearby = &done});
    // What remat gives when it fails with little effort is no floor to report: stay with what fitted.
    if (!lower.fits && lower.arena_bytes > allowed) break;
    done = std::move(lower);
  }
  done.seconds_bound = seconds_bound;  // of the budget that was asked for, not of a lower aim
  return done;
}

// Where nothing may run again, groups and addresses are all that is left to decide. The lowest where none
// fits.
Draft BudgetSearch::once_within(std::int64_t allowed) {
  std::optional<Draft> lowest;
  for (const std::optional<std::int64_t> limit :
       {std::optional(allowed), std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    Draft plain = packed_well(aim({.limit = limit}), allowed);
    if (!lowest || plain.arena_bytes < lowest->arena_bytes) lowest = std::move(plain);
    if (lowest->arena_bytes <= allowed) break;
  }
  return *std::move(lowest);
}

// As whoever asks for a byte less would.
Draft BudgetSearch::once_floor() {
  constexpr int probes = 8;
  Draft least = once_within(0);
  for (int probe = 0; probe < probes && !out_of_time(); ++probe) {
    Draft lower = once_within(least.arena_bytes - 1);
    if (lower.arena_bytes >= least.arena_bytes) break;
    least = std::move(lower);
  }
  return least;
}

Draft BudgetSearch::within(std::int64_t allowed, Wanted wanted) {
  // In groups a plan that computes nothing again may fit although the load of its runs by themselves does
  // not.
  Draft once = once_within(allowed);
  const bool once_fits = once.arena_bytes <= allowed;
  if (!ordered_.may_repeat || (once_fits && once.group_limit != 0)) return once;
  Bracket bracket(allowed, packed_well(aim({.target = allowed, .limit = allowed}), allowed));
  for (int k = 0; k < most_aims; ++k) {
    if (wanted == Wanted::any_that_fits && (bracket.best().arena_bytes <= allowed || is_large())) break;
    const std::optional<std::int64_t> target = bracket.next_target();
    if (!target || bracket.best().executions.size() <= ordered_.executions.size()) break;
    if (out_of_time() && (bracket.best().arena_bytes <= allowed || k >= most_when_late)) break;
    Aim next{.target = *target,
             .limit = std::min(*target, allowed),
             .share = bracket.is_hard() ? hard_share : small_share,
             .nearby = bracket.nearby()};
    if (bracket.is_above()) next.share = anew_share, next.nearby = nullptr;
    bracket.add(*target, packed_well(aim(next), allowed));
  }
  Draft best = bracket.take();
  // In smaller groups it may take more time than with something run again.
  const bool better = once_fits && (best.arena_bytes > allowed ||
                                    tidemark::finish(once).seconds <= tidemark::finish(best).seconds);
  return better ? once : best;
}

// So long as less turns out to be enough, less is tried.
Draft BudgetSearch::floor() {
  if (!ordered_.may_repeat) return once_floor();
  constexpr int attempts = 3, most_tries = 8, probes = 8;
  constexpr std::int64_t near_part = 1024;  // of the lowest: steps below it are for the probes
  memory_.forget();
  warm_start_.clear();
  Draft least = aim({.target = 0});
  const std::int64_t bound = least.load_bound;
  if (Draft plain = aim({}); plain.arena_bytes < least.arena_bytes) least = std::move(plain);
  const auto try_for = [&](std::int64_t target, double share) {
    Draft lower = lower_until_it_fits(target, attempts, share);
    if (lower.arena_bytes > target) return false;
    least = packed_well(std::move(lower), target);
    return true;
  };
  // Half of the way to the bound at once, and less after each time that leads to nothing.
  std::int64_t step = (least.arena_bytes - bound) / 2;
  for (int tries = 0; tries < most_tries && step > least.arena_bytes / near_part && !out_of_time(); ++tries) {
    const bool is_lower = try_for(least.arena_bytes - step, small_share);
    step = is_lower ? (least.arena_bytes - bound) / 2 : step / 4;
  }
  // As whoever asks for a byte less would: what that finds is not to be above what is reported.
  for (int probe = 0; probe < probes && least.arena_bytes > bound && !out_of_time(); ++probe) {
    memory_.forget();
    Draft lower = within(least.arena_bytes - 1, Wanted::any_that_fits);
    if (lower.arena_bytes >= least.arena_bytes) break;
    least = std::move(lower);
  }
  if (out_of_time()) return least;
  // It was made at any cost: the same height for less time will do as well. Of large graphs the first such.
  Draft cheaper = within(least.arena_bytes, is_large() ? Wanted::any_that_fits : Wanted::least_time);
  const bool lower = cheaper.arena_bytes <= least.arena_bytes;
  return lower && tidemark::finish(cheaper).seconds <= tidemark::finish(least).seconds ? cheaper : least;
}

}  // namespace tidemark
