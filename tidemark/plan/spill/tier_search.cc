#include "tidemark/plan/spill/tier_search.h"

#include <algorithm>
#include <optional>

#include "tidemark/ir/target.h"
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
    const Plan free = once_.within(no_limit, with_care);
    const std::int64_t allowed = std::max<std::int64_t>(0, options_.memory - free.input_bytes);
    if (free.peak() <= options_.memory) {
      // With a limit groups are chosen with more care.
      Plan careful = once_.within(allowed, with_care);
      const Plan& best = careful.peak() <= options_.memory && careful.seconds < free.seconds ? careful : free;
      return has_offloads(best) ? spill(graph_, best, target_, options_) : best;
    }
    consider(free, with_care);
    if (!done()) consider(once_.within(allowed, with_care), with_care);
    if (repeating_) repeat(free.arena_bytes, allowed);
    return best_ ? std::move(*best_) : lowest(free);
  }

 private:
  static constexpr std::int64_t no_limit = INT64_MAX / 2;
  static constexpr std::int64_t parts = 4;                // loads between what is free and the budget
  static constexpr double with_care = 1, roughly = 0.15;  // of the effort

  bool done() const { return best_ && options_.control && options_.control->time_is_up(); }

  // Loads in between are looked at roughly, the best of them again with care. So is the budget itself, where
  // recomputation needs no other memory: having one is then never slower.
  void repeat(std::int64_t free, std::int64_t allowed) {
    std::optional<std::int64_t> promising;
    for (std::int64_t part = 1; part < parts && !done(); ++part) {
      const std::int64_t load = free - (free - allowed) * part / parts;
      if (consider(repeating_->within(load, roughly), roughly)) promising = load;
    }
    if (promising && !done()) consider(repeating_->within(*promising, with_care), with_care);
    if (done()) return;
    const Plan repeated = repeating_->within(allowed, with_care);
    consider(repeated, with_care);
    // At the smallest budget that recomputation alone can keep, only its lowest plan is within it.
    const bool lowest_may_fit = repeated.peak() > options_.memory && repeating_->floor;
    if (lowest_may_fit && !done()) consider(repeating_->floor(), with_care);
  }

  // True: it is the best so far.
  bool consider(const Plan& recomputed, double share) {
    // It only gets slower.
    if (best_ && recomputed.seconds >= best_->seconds) return false;
    const bool stays = recomputed.peak() <= options_.memory && !has_offloads(recomputed);
    SpillOptions options = options_;
    options.units = static_cast<std::int64_t>(static_cast<double>(options_.units) * share);
    Plan plan = stays ? recomputed : spill(graph_, recomputed, target_, options);
    if (plan.peak() > options_.memory || (best_ && plan.seconds >= best_->seconds)) return false;
    best_ = std::move(plan);
    return true;
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
