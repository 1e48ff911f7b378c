#include "tidemark/plan/spill/spill.h"

#include <algorithm>
#include <optional>

#include "tidemark/ir/target.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/spill/offloads.h"
#include "tidemark/plan/spill/rewrite.h"
#include "tidemark/solve/joint/solve.h"
#include "tidemark/solve/pack/pack.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {
namespace {

// Addresses in one memory, and what follows from them.
void place(Plan& plan, std::size_t m, std::int64_t capacity, SearchControl* control) {
  constexpr std::int64_t least_work = 20'000'000, work_per_buffer = 30'000;
  const std::int64_t alignment = memory_of(plan, m).alignment;
  std::vector<PackItem> items;
  std::vector<Buffer*> owners;
  for (Buffer& buffer : plan.buffers) {
    if (buffer.binding != Binding::arena || static_cast<std::size_t>(buffer.memory) != m || buffer.bytes == 0)
      continue;
    items.push_back({buffer.begin, buffer.end, align_up(buffer.bytes, alignment), alignment});
    owners.push_back(&buffer);
  }
  const std::int64_t work = std::max(least_work, work_per_buffer * static_cast<std::int64_t>(items.size()));
  const PackResult packed = pack(items, {.capacity = capacity, .work = work, .control = control});
  std::int64_t height = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    owners[i]->offset = packed.offsets[i];
    height = std::max(height, packed.offsets[i] + items[i].size);
  }
  const std::int64_t load = max_load(items);
  if (m == 0) {
    plan.arena_bytes = height;
    plan.lower_bound = plan.input_bytes + load;
    plan.order_free_bound = std::min(plan.order_free_bound, plan.lower_bound);
  } else {
    plan.further[m - 1].arena_bytes = height;
    plan.further[m - 1].lower_bound = load;
  }
}

class Spilling {
 public:
  Spilling(const Graph& graph, const Plan& plain, const Target& target, const SpillOptions& options)
      : graph_(graph),
        plain_(plain),
        target_(target),
        options_(options),
        allowed_(std::max<std::int64_t>(0, options.memory - plain.input_bytes)),
        problem_(problem_within(allowed_)) {}

  // Where packing needs more than the load, aims lower.
  Plan run() {
    constexpr std::int64_t most_aims = 5;
    if (problem_.moves.empty()) {
      Plan plan = plain_;
      plan.hints = problem_.hints;
      return plan;
    }
    // With what is asked to wait on the disk, any plan that fits is better than none of it.
    best_ = without_offloads(plain_);
    only_fallback_ = !problem_.joint.start.empty();
    std::int64_t aim = allowed_;
    for (std::int64_t k = 1; k <= most_aims; ++k) {
      problem_.joint.budgets[0] = aim;
      const JointResult found =
          solve_joint(problem_.joint, {.units = options_.units, .control = options_.control});
      Plan plan = finished(found.schedule);
      const std::int64_t over = plan.arena_bytes - allowed_;
      offer(std::move(plan));
      const bool late = options_.control && options_.control->time_is_up();
      if (over <= 0 || !found.feasible || late) break;
      aim = std::max<std::int64_t>(0, aim - k * over);
      if (!problem_.joint.start.empty()) problem_ = problem_within(aim);  // its start keeps to it too
    }
    return std::move(*best_);
  }

 private:
  SpillProblem problem_within(std::int64_t allowed) const {
    return spill_problem_of(graph_, plain_, target_, *options_.machine, options_.tiers, allowed);
  }

  Plan finished(const JointSchedule& schedule) const {
    Plan plan = rewritten(graph_, plain_, problem_, schedule, options_.tiers);
    plan.hints = problem_.hints;
    place(plan, 0, allowed_, options_.control);
    for (std::size_t k = 0; k < options_.tiers.size(); ++k)
      place(plan, k + 1, options_.tiers[k].budget, options_.control);
    plan.seconds = timetable(plan, step_seconds(graph_, plan, target_, *options_.machine)).makespan;
    // That nothing is faster than all nodes once is all that is known of plans that may move values too.
    plan.seconds_bound = plan.least_seconds = std::min(plan.least_seconds, plan.seconds);
    return plan;
  }

  bool fits(const Plan& plan) const { return plan.arena_bytes <= allowed_; }
  void offer(Plan plan) {
    const bool within_tiers = std::ranges::all_of(
        plan.further, [](const PlanMemory& memory) { return memory.arena_bytes <= memory.budget; });
    const bool better = (fits(plan) && (!fits(*best_) || only_fallback_ || plan.seconds < best_->seconds)) ||
                        (!fits(plan) && !fits(*best_) && plan.arena_bytes < best_->arena_bytes);
    if (!within_tiers || !better) return;
    best_ = std::move(plan);
    only_fallback_ = false;
  }

  const Graph& graph_;
  const Plan& plain_;
  const Target& target_;
  const SpillOptions& options_;
  const std::int64_t allowed_;
  SpillProblem problem_;
  std::optional<Plan> best_;
  bool only_fallback_ = false;  // the best so far is without what hints ask for
};

}  // namespace

Plan spill(const Graph& graph, const Plan& plain, const Target& target, const SpillOptions& options) {
  return Spilling(graph, plain, target, options).run();
}

}  // namespace tidemark
