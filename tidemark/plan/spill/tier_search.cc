#include "tidemark/plan/spill/tier_search.h"

#include <algorithm>
#include <optional>

#include "tidemark/solve/search_control.h"

namespace tidemark {
namespace {

class TierSearch {
 public:
  TierSearch(const Graph& graph, const Target& target, const RecomputedPlans& recomputed,
             const SpillOptions& options)
      : graph_(graph), target_(target), recomputed_(recomputed), options_(options) {}

  Plan run() {
    const Plan free = recomputed_.within(no_limit);
    if (free.peak() <= options_.memory) return free;
    const std::int64_t allowed = std::max<std::int64_t>(0, options_.memory - free.input_bytes);
    consider(free);
    for (std::int64_t part = 1; part <= parts && !(best_ && late()); ++part)
      consider(recomputed_.within(free.arena_bytes - (free.arena_bytes - allowed) * part / parts));
    return best_ ? std::move(*best_) : lowest(free);
  }

 private:
  static constexpr std::int64_t no_limit = INT64_MAX / 2;
  static constexpr std::int64_t parts = 4;  // loads between what is free and the budget

  bool late() const { return options_.control && options_.control->time_is_up(); }

  void consider(const Plan& recomputed) {
    // It only gets slower.
    if (best_ && recomputed.seconds >= best_->seconds) return;
    Plan plan =
        recomputed.peak() <= options_.memory ? recomputed : spill(graph_, recomputed, target_, options_);
    if (plan.peak() <= options_.memory && (!best_ || plan.seconds < best_->seconds)) best_ = std::move(plan);
  }

  Plan lowest(const Plan& free) const {
    SpillOptions least = options_;
    least.memory = 0;
    least.control = nullptr;
    std::optional<Plan> found;
    const auto offer = [&](Plan plan) {
      if (!found || plan.peak() < found->peak()) found = std::move(plan);
    };
    const Plan floor = recomputed_.floor();
    offer(floor);
    offer(spill(graph_, floor, target_, least));
    offer(spill(graph_, free, target_, least));
    return std::move(*found);
  }

  const Graph& graph_;
  const Target& target_;
  const RecomputedPlans& recomputed_;
  const SpillOptions& options_;
  std::optional<Plan> best_;
};

}  // namespace

Plan plan_with_tiers(const Graph& graph, const Target& target, const RecomputedPlans& recomputed,
                     const SpillOptions& options) {
  return TierSearch(graph, target, recomputed, options).run();
}

}  // namespace tidemark
