#include "tidemark/solve/pack/pack.h"

#include <algorithm>
#include <memory>

#include "tidemark/base/check.h"
#include "tidemark/solve/pack/greedy.h"
#include "tidemark/solve/pack/problem.h"
#include "tidemark/solve/pack/search.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark {
namespace {

using packing::Layout;
using packing::Problem;
using packing::Search;
using packing::SearchOutcome;
using packing::WorkMeter;

constexpr double searchable =
    1e9;  // work units for one dive of the search; beyond, it would see too few layouts
constexpr std::int64_t first_share =
    20'000'000;  // work units of the first round of searching, doubled every round
constexpr int first_tries = 6;

// Brings one problem, connected in time, to `target` or as low as the work allows.
class Solver {
 public:
  // `only_target`: a layout above the target is worth nothing, so no work goes into a lower one.
  Solver(const Problem& problem, std::int64_t target, bool only_target, WorkMeter& meter)
      : problem_(problem),
        target_(std::max(target, problem.bound)),
        only_target_(only_target),
        bound_(problem.bound),
        meter_(meter) {}

  void run() {
    best_ = packing::pack_whole(problem_, target_, meter_);
    const bool with_search = packing::dive_cost(problem_) <= searchable;
    packing::Noise noise(7);
    int tries = first_tries;
    std::int64_t share = first_share;
    while (!done()) {
      packing::pack_in_levels(problem_, tries, noise, meter_, best_);
      if (with_search && !done()) search_round(share);
      share *= 2;
      tries += tries / 2;
    }
  }

  const Layout& best() const { return best_; }
  std::int64_t bound() const { return bound_; }  // proved

 private:
  bool done() const {
    return best_.height <= std::max(target_, bound_) || (only_target_ && bound_ > target_) ||
           meter_.exhausted();
  }

  // Once at the goal; then halfway between it and the best, and ever nearer to the best where that fails.
  void search_round(std::int64_t share) {
    const std::int64_t goal = std::max(target_, bound_);
    if (!at_goal_ || at_goal_->capacity() != goal) at_goal_ = std::make_unique<Search>(problem_, goal);
    if (!take(*at_goal_, share) || only_target_) return;
    std::int64_t step = (best_.height - std::max(target_, bound_)) / 2;
    while (step > 0 && !done()) {
      Search between(problem_, best_.height - step);
      const std::int64_t before = best_.height;
      take(between, share / 4);
      const std::int64_t gap = best_.height - std::max(target_, bound_);
      step = best_.height < before ? std::min(step, gap / 2) : step / 2;
    }
  }

  // Runs a search and keeps what it tells. False: nothing more to do in this round.
  bool take(Search& search, std::int64_t share) {
    switch (search.run(meter_, share)) {
      case SearchOutcome::found:
        if (search.layout().height < best_.height) best_ = search.layout();
        break;
      case SearchOutcome::infeasible:
        bound_ = std::max(bound_, search.capacity() + 1);
        break;
      case SearchOutcome::gave_up:
        break;
    }
    return !done();
  }

  const Problem& problem_;
  std::int64_t target_;
  bool only_target_;
  std::int64_t bound_;
  WorkMeter& meter_;
  Layout best_;
  std::unique_ptr<Search> at_goal_;
};

}  // namespace

PackResult pack(std::span<const PackItem> items, const PackOptions& options) {
  const packing::Reduction reduction = packing::reduce(items);
  const std::int64_t capacity = options.capacity ? *options.capacity / reduction.unit : 0;
  const bool hopeless =
      options.capacity && !reduction.problems.empty() && reduction.problems[0].bound > capacity;
  WorkMeter meter(hopeless ? 0 : options.work, options.seconds, options.control);
  PackResult result;
  result.offsets.assign(items.size(), 0);
  // Problems meet only in the height of the arena: what one needs, the next may use freely.
  std::int64_t height = 0, bound = 0;
  for (const Problem& problem : reduction.problems) {
    Solver solver(problem, std::max(capacity, height), options.capacity.has_value(), meter);
    solver.run();
    height = std::max(height, solver.best().height);
    bound = std::max(bound, solver.bound());
    for (std::size_t i = 0; i < problem.blocks.size(); ++i)
      result.offsets[problem.origin[i]] = solver.best().offsets[i] * reduction.unit;
  }
  result.work = (hopeless ? 0 : options.work) - meter.left();
  result.height = height * reduction.unit;
  result.lower_bound = bound * reduction.unit;
  result.proved_optimal = result.height == result.lower_bound;
  if (options.capacity && result.height > *options.capacity)
    result.status =
        result.lower_bound > *options.capacity ? PackStatus::proved_infeasible : PackStatus::gave_up;
  return result;
}

}  // namespace tidemark
