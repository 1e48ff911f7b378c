#include "tidemark/engine/segment_search.h"

#include <algorithm>
#include <utility>

#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/plan/passes/regions.h"

namespace tidemark {
namespace {

constexpr std::int64_t segment_counts[] = {4, 8, 16, 32};
constexpr std::int64_t most_levels = 8;
constexpr int most_misses = 2;
constexpr double little = 0.01;     // of the time: not worth looking at less that moves
constexpr std::int64_t worth = 16;  // loops that keep so much less than the largest stay as they are

double seconds_of(const PlanWithLoops& planned) { return planned.plan.value().seconds; }

}  // namespace

SegmentSearch::SegmentSearch(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                             const PlanOptions& options)
    : unlowered_(unlowered), skip_(skip_optimisations), options_(options), modes_(loop_modes(unlowered)) {
  if (options.tiers.empty()) return;
  std::int64_t longest = 0;
  for (const LoopModes& modes : modes_) {
    if (modes.trips < 2) continue;
    longest = std::max(longest, modes.trips);
    least_records_ = std::max(least_records_, modes.records[0] / worth);
    if (options.allow.has(Choice::recompute) && modes.records.size() > 1) levels_ = most_levels;
  }
  for (const std::int64_t count : segment_counts) {
    if (longest < 2 || (!counts_.empty() && counts_.back() == longest)) break;
    counts_.push_back(std::min(count, longest));
  }
}

bool SegmentSearch::is_cut(const LoopModes& modes) const {
  return modes.trips > 1 && modes.records[0] >= least_records_;
}

LoopMemory SegmentSearch::memory_with(const Cut& cut) const {
  LoopMemory memory;
  for (const LoopModes& modes : modes_) {
    LoopLimit& limit = memory.limits.emplace_back();
    if (!is_cut(modes)) continue;
    const auto last = static_cast<std::int64_t>(modes.records.size()) - 1;
    limit.segments = cut.count;
    if (cut.level > 0 && last > 0)
      limit.own = modes.records[static_cast<std::size_t>((last * cut.level + most_levels - 1) / most_levels)];
  }
  return memory;
}

Graph SegmentSearch::graph(const LoopMemory& memory) const {
  return prepare_lowered(unlowered_, skip_, nullptr, memory, target_of(options_));
}

PlanWithLoops SegmentSearch::quick_plan(const Cut& cut, std::optional<std::int64_t> memory,
                                        const Choices& allow) {
  PlanOptions quick = options_;
  quick.memory = memory;
  if (!memory) quick.tiers.clear();
  quick.allow = allow;
  quick.warm_start.clear();
  quick.after = {};
  quick.effort = quick.effort.at_most(Effort::quick);
  quick.one_round = true;
  quick.floor = false;
  quick.regions = &regions_;
  LoopMemory loops = memory_with(cut);
  Graph made = graph(loops);
  Result<Plan, Infeasible> plan = plan_safely(made, quick);
  return {std::move(made), std::move(plan), std::move(loops)};
}

// Becomes the best if it is faster: true.
bool SegmentSearch::judge(const Cut& cut, const Choices& allow, std::optional<Judged>& best) {
  if (best && options_.control && options_.control->time_is_up()) return false;
  PlanWithLoops planned = quick_plan(cut, options_.memory, allow);
  if (!planned.plan || (best && seconds_of(planned) >= seconds_of(best->planned))) return false;
  best = Judged{cut, std::move(planned)};
  return true;
}

PlanWithLoops SegmentSearch::careful_plan(const Cut& cut, const Choices& allow, double effort) const {
  PlanOptions options = options_;
  options.allow = allow;
  options.effort *= effort;
  options.floor = false;
  LoopMemory loops = memory_with(cut);
  Graph made = graph(loops);
  Result<Plan, Infeasible> plan = plan_safely(made, options);
  return {std::move(made), std::move(plan), std::move(loops)};
}

// Whoever only judges something else by it gets the first number that fits.
std::optional<PlanWithLoops> SegmentSearch::roughly() {
  std::optional<Judged> found;
  for (std::size_t c = 0; c < counts_.size() && !found; ++c)
    judge({.count = counts_[c]}, options_.allow.without(Choice::recompute), found);
  if (!found) return {};
  return std::move(found->planned);
}

std::optional<PlanWithLoops> SegmentSearch::within_budget() {
  if (options_.one_round) return roughly();
  const Choices once = options_.allow.without(Choice::recompute);
  std::optional<Judged> whole, less;  // all records, fewer of them
  for (const std::int64_t count : counts_) judge({.count = count}, once, whole);
  const bool fits_once = whole.has_value();
  if (!fits_once && options_.allow.has(Choice::recompute))
    judge({.count = counts_.back()}, options_.allow, whole);
  const Choices& needed = fits_once ? once : options_.allow;
  const bool is_slow = !whole || whole->planned.plan.value().extra_time() > little;
  // The less is kept the less moves and the more runs again: once that does not pay, it does not any more.
  const std::int64_t count = whole ? whole->cut.count : counts_.back();
  int misses = 0;
  for (std::int64_t level = 1; is_slow && level <= levels_ && misses < most_misses; ++level) {
    if (!judge({.count = count, .level = level}, once, less)) misses += less.has_value();
  }

  std::optional<PlanWithLoops> best;
  const auto offer = [&](PlanWithLoops other) {
    if (other.plan && (!best || seconds_of(other) < seconds_of(*best))) best = std::move(other);
  };
  constexpr double part = 0.3;  // of the effort: plans that compute again and move values take long
  const auto try_harder = [&](Judged& judged, double share_of_time) {
    const TimeShare share(options_.control, share_of_time);
    offer(careful_plan(judged.cut, needed, fits_once ? 1 : part));
    // What runs again beside segments saves little more: not worth as much planning.
    if (fits_once && is_slow && options_.allow.has(Choice::recompute))
      offer(quick_plan(judged.cut, options_.memory, options_.allow));
    offer(std::move(judged.planned));
  };
  if (whole) try_harder(*whole, less ? 0.5 : 1);
  if (less && (!best || seconds_of(less->planned) < seconds_of(*best))) try_harder(*less, 1);
  // What was reported as the smallest fits.
  if (!fits_once && options_.floor && smallest() && smallest()->plan.value().peak() <= *options_.memory)
    offer(*smallest());
  return best;
}

const std::optional<PlanWithLoops>& SegmentSearch::smallest() {
  if (std::exchange(has_smallest_, true)) return smallest_;
  constexpr int halvings = 6;
  const Choices once = options_.allow.without(Choice::recompute);
  const PlanWithLoops free = quick_plan({.count = counts_.back()}, {}, once);
  std::int64_t low = free.plan.value().input_bytes, high = free.plan.value().peak();
  for (int k = 0; k < halvings && low < high; ++k) {
    const std::int64_t memory = low + (high - low) / 2;
    // Fewer segments are easier to plan for.
    const bool fits = std::any_of(counts_.rbegin(), counts_.rend(), [&](std::int64_t count) {
      PlanWithLoops planned = quick_plan({.count = count}, memory, once);
      if (!planned.plan) return false;
      smallest_ = std::move(planned);
      return true;
    });
    (fits ? high : low) = fits ? memory : memory + 1;
  }
  return smallest_;
}

}  // namespace tidemark
