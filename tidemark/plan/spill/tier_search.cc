#include "tidemark/plan/spill/tier_search.h"

#include <algorithm>
#include <optional>

#include "tidemark/plan/spill/offloads.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {
namespace {

class TierSearch {
 public:
  TierSearch(const Graph& graph, const Target& target, const PlainPlans& once, const PlainPlans* repeating,
             const SpillOptions& options)
      : graph_(graph), target_(target), once_(once), repeating_(repeating), options_(options) {}

  Plan run() {
    const Plan free = once_.within(no_limit);
    const std::int64_t allowed = std::max<std::int64_t>(0, options_.memory - free.input_bytes);
    if (free.peak() <= options_.memory) {
      // With a limit groups are chosen with more care.
      Plan careful = once_.within(allowed);
      const Plan& best = careful.peak() <= options_.memory && careful.seconds < free.seconds ? careful : free;
      return has_offloads(best) ? spill(graph_, best, target_, options_) : best;
    }
    consider(free);
    if (!(best_ && late())) consider(once_.within(allowed));
    for (std::int64_t part = 1; repeating_ && part <= parts && !(best_ && late()); ++part) {
      const Plan repeated =
          repeating_->within(free.arena_bytes - (free.arena_bytes - allowed) * part / parts);
      consider(repeated);
      // At the smallest budget that recomputation alone can keep only its lowest plan is within it.
      const bool lowest_may_fit = part == parts && repeated.peak() > options_.memory && repeating_->floor;
      if (lowest_may_fit && !(best_ && late())) consider(repeating_->floor());
    }
    return best_ ? std::move(*best_) : lowest(free);
  }

 private:
  static constexpr std::int64_t no_limit = INT64_MAX / 2;
  static constexpr std::int64_t parts = 4;  // loads between what is free and the budget

  bool late() const { return options_.control && options_.control->time_is_up(); }

  void consider(const Plan& recomputed) {
    // It only gets slower.
    if (best_ && recomputed.seconds >= best_->seconds) return;
    const bool stays = recomputed.peak() <= options_.memory && !has_offloads(recomputed);
    Plan plan = stays ? recomputed : spill(graph_, recomputed, target_, options_);
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
    offer(spill(graph_, free, target_, least));
    for (const PlainPlans* plans : {&once_, repeating_}) {
      if (!plans || !plans->floor) continue;
      const Plan floor = plans->floor();
      offer(without_offloads(floor));
      offer(spill(graph_, floor, target_, least));
    }
    return std::move(*found);
  }

  const Graph& graph_;
  const Target& target_;
  const PlainPlans& once_;
  const PlainPlans* repeating_;
  const SpillOptions& options_;
  std::optional<Plan> best_;
};

}  // namespace

Plan plan_with_tiers(const Graph& graph, const Target& target, const PlainPlans& once,
                     const PlainPlans* repeating, const SpillOptions& options) {
  return TierSearch(graph, target, once, repeating, options).run();
}

}  // namespace tidemark
