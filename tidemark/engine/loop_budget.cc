#include "tidemark/engine/loop_budget.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tidemark/autodiff/several_steps.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/disk_loop_search.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/segment_search.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/plan/passes/regions.h"
#include "tidemark/plan/report/frontier.h"

namespace tidemark {
namespace {

constexpr double no_time = 1e-5;    // a share of it that is not worth looking further
constexpr double some_time = 0.01;  // a share of it for which loops that could keep everything do not

// One number to choose: the limit of a loop, or of the loops inside one.
struct Dial {
  std::size_t loop;
  bool inside;
  std::vector<std::int64_t> limits;  // falling
};
using Limits = std::vector<std::int64_t>;  // per dial

std::vector<Dial> dials_of(const std::vector<LoopModes>& loops) {
  std::vector<Dial> dials;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    if (loops[k].own.size() > 1) dials.push_back({k, false, loops[k].own});
    if (loops[k].inside.size() > 1) dials.push_back({k, true, loops[k].inside});
  }
  return dials;
}

class LoopSearch {
 public:
  LoopSearch(const Graph& traced, const std::vector<std::string>& skip, const PlanOptions& options)
      : unlowered_(prepare_unlowered(traced, skip, target_of(options))),
        skip_(skip),
        memory_(options.memory.value_or(unlimited_memory)),
        control_(options.control),
        effort_(options.effort.factor),
        may_repeat_(options.allow.has(Choice::recompute)),
        tiers_(options.tiers),
        quick_(options),
        modes_(loop_modes(unlowered_)),
        dials_(dials_of(modes_)) {
    quick_.memory.reset();
    quick_.tiers.clear();
    quick_.warm_start.clear();
    quick_.after = {};
    quick_.effort = quick_.effort.at_most(Effort::quick);
    quick_.one_round = true;
    quick_.floor = false;
    quick_.regions = &regions_;
  }

  Graph within_budget() {
    Graph everything = graph(free());
    if (dials_.empty() || !may_repeat_) return everything;
    const Plan plain = plain_plan(everything);
    free_seconds_ = plain.seconds;
    if (plain.peak() <= memory_) {
      keep_less_where_faster();
      if (!best_) return everything;
      chosen_ = *best_;
      return graph(*best_);
    }
    keeps_all_ = false;
    same_for_all();
    if (best_) one_or_two();
    if (best_) use_what_is_left();
    if (effort_ > quick_.effort.factor) try_harder();
    if (!best_ && !tiers_.empty()) same_for_all_with_tiers();
    if (!best_) return smallest();
    chosen_ = *best_;
    return graph(*best_);
  }
  // Loops keep all that their reverse reads. Where that is not so, the time that they would take then.
  bool keeps_all() const { return keeps_all_; }
  double free_seconds() const { return free_seconds_; }
  Graph keeping_all() const { return graph(free()); }
  const Graph& unlowered() const { return unlowered_; }
  // What the loops of the graph that was given last were lowered with.
  LoopMemory chosen() const { return chosen_.empty() ? LoopMemory() : memory_with(chosen_); }
  // That the choice gives each loop.
  LoopMemory loop_memory() const { return memory_with(keeps_all_ ? free() : best_ ? *best_ : tightest()); }
  // Of the choice that was taken; none: it is not known to fit.
  const std::optional<std::pair<Graph, Plan>>& found() const { return found_; }

  // States in one slot; records, where they need less beside them than states do; or what needs least by
  // itself. The same whatever the budget, so that what is reported as the smallest can be asked for.
  Graph smallest() {
    Limits least = tightest();
    if (!may_repeat_) return graph(free());
    if (dials_.empty()) return graph(least);
    chosen_ = least;
    std::int64_t peak = floor(least);
    for (const Limits& limits : {free(), plain_levels().front().limits}) {
      if (late() || limits == least) continue;
      const std::int64_t found = floor(limits);
      if (found < peak) peak = found, least = limits;
    }
    chosen_ = least;
    return graph(least);
  }

 private:
  struct Judged {
    bool fits = false;
    double seconds = 0;
    std::int64_t peak = 0;
  };
  struct Level {
    Limits limits;
    std::int64_t peak = 0;
    double seconds = 0;
  };

  Limits free() const { return Limits(dials_.size(), unlimited_memory); }
  Limits tightest() const {
    Limits limits;
    for (const Dial& dial : dials_) limits.push_back(dial.limits.back());
    return limits;
  }
  bool late() const { return control_ && control_->time_is_up(); }

  LoopMemory memory_with(const Limits& limits) const {
    LoopMemory memory;
    memory.limits.resize(modes_.size());
    for (std::size_t d = 0; d < dials_.size(); ++d) {
      LoopLimit& limit = memory.limits[dials_[d].loop];
      (dials_[d].inside ? limit.inside : limit.own) = limits[d];
    }
    return memory;
  }
  Graph graph(const Limits& limits) const {
    return prepare_lowered(unlowered_, skip_, nullptr, memory_with(limits), target_of(quick_));
  }

  // As it will be planned: state that a failing call would lose gets memory of its own.
  Plan plain_plan(Graph& g) const {
    return make_safe(g, [&](const Graph& safe) { return make_plan(safe, target_of(quick_), quick_); });
  }
  std::int64_t floor(const Limits& limits) const {
    Graph g = graph(limits);
    return make_safe(g,
                     [&](const Graph& safe) {
                       PlanOptions options = quick_;
                       options.floor = true;
                       return smallest_plan(safe, target_of(options), options);
                     })
        .peak();
  }

  // Of loops whose length is not known, more slots are better though no time is predicted to be saved.
  bool is_better(const Limits& limits, double seconds) const {
    const double best = judged_.at(*best_).seconds;
    if (seconds != best) return seconds < best;
    return std::ranges::equal(limits, *best_, std::greater_equal()) && limits != *best_;
  }

  // By a plan of it. True: the best so far.
  bool consider(const Limits& limits) {
    const auto [place, is_new] = judged_.try_emplace(limits);
    if (!is_new || late()) return false;
    PlanOptions options = quick_;
    options.memory = memory_;
    Graph g = graph(limits);
    Result<Plan, Infeasible> planned = plan_safely(g, options);
    if (!planned) return false;
    return take(limits, std::move(g), std::move(planned).value());
  }
  bool take(const Limits& limits, Graph g, Plan plan) {
    const bool better = !best_ || is_better(limits, plan.seconds);
    judged_[limits] = {.fits = true, .seconds = plan.seconds, .peak = plan.peak()};
    if (!better) return false;
    best_ = limits;
    found_ = std::pair(std::move(g), std::move(plan));
    return true;
  }
  // What fits by itself is not slower with a budget, which may find another plan, or none where every byte
  // is needed.
  void consider_plain(const Level& level) {
    consider(level.limits);
    const Judged& judged = judged_.at(level.limits);
    if (late() || (judged.fits && judged.seconds <= level.seconds)) return;
    Graph g = graph(level.limits);
    Plan plan = plain_plan(g);
    plan.budget = memory_;
    take(level.limits, std::move(g), std::move(plan));
  }

  // Levels of one limit for all; of several loops, each at most three quarters of the one before.
  std::vector<Limits> levels() const {
    std::vector<std::int64_t> all;
    for (const Dial& dial : dials_) all.insert(all.end(), dial.limits.begin(), dial.limits.end());
    std::ranges::sort(all, std::greater());
    std::vector<Limits> list;
    std::int64_t last = 0;
    for (std::int64_t bytes : all) {
      const bool far = dials_.size() == 1 || list.empty() || bytes <= last - last / 4 || bytes == 0;
      Limits limits;
      for (const Dial& dial : dials_) {
        const auto within = std::ranges::find_if(dial.limits, [&](std::int64_t l) { return l <= bytes; });
        limits.push_back(within == dial.limits.end() ? dial.limits.back() : *within);
      }
      if (!far || (!list.empty() && limits == list.back())) continue;
      list.push_back(std::move(limits));
      last = bytes;
    }
    if (list.back() != tightest()) list.push_back(tightest());
    return list;
  }

  // The levels with what a plan takes in which nothing else runs again, by its memory.
  const std::vector<Level>& plain_levels() {
    if (!plain_.empty()) return plain_;
    for (Limits& limits : levels()) {
      if (late() && !plain_.empty()) break;
      Graph g = graph(limits);
      const Plan plan = plain_plan(g);
      plain_.push_back({std::move(limits), plan.peak(), plan.seconds});
    }
    std::ranges::stable_sort(plain_, {}, &Level::peak);
    return plain_;
  }

  // What is kept is written and read, so that loops may be faster when they keep less than there is room for:
  // the freest levels tell, until they are slower than that which keeps all.
  void keep_less_where_faster() {
    double least = (1 - some_time) * free_seconds_;
    std::size_t slower = 0;
    for (const Limits& limits : levels()) {
      if (late() || slower == most_misses) break;
      Graph g = graph(limits);
      Plan plan = plain_plan(g);
      if (plan.seconds > free_seconds_) ++slower;
      if (plan.seconds >= least || plan.peak() > memory_) continue;
      least = plan.seconds;
      judged_[limits] = {.fits = true, .seconds = plan.seconds, .peak = plan.peak()};
      if (memory_ != unlimited_memory) plan.budget = memory_;
      best_ = limits;
      found_ = std::pair(std::move(g), std::move(plan));
      keeps_all_ = false;
    }
  }

  void same_for_all() {
    const std::vector<Level>& list = plain_levels();
    const Level* fastest = nullptr;  // of those that fit by themselves
    for (const Level& level : list) {
      if (level.peak <= memory_ && (!fastest || level.seconds <= fastest->seconds)) fastest = &level;
    }
    if (fastest) consider_plain(*fastest);
    // Those that would be faster, with something else running again or bodies in less memory: until it does
    // not pay.
    std::size_t misses = 0, left = most_levels;
    for (const Level& level : list) {
      if (fastest && (level.peak <= memory_ || level.seconds >= fastest->seconds)) continue;
      if (misses == most_misses || left-- == 0) break;
      misses = consider(level.limits) ? 0 : misses + (best_ ? 1 : 0);
    }
  }

  // Nothing fits by itself: other values may wait elsewhere while the loops run, which then have more than
  // the least that there can be.
  void same_for_all_with_tiers() {
    judged_.clear();
    quick_.tiers = tiers_;
    same_for_all();
    quick_.tiers.clear();
  }

  std::optional<std::int64_t> next(std::size_t d, std::int64_t limit, bool freer) const {
    const std::vector<std::int64_t>& limits = dials_[d].limits;
    if (freer) {
      const auto above =
          std::find_if(limits.rbegin(), limits.rend(), [&](std::int64_t l) { return l > limit; });
      return above == limits.rend() ? std::nullopt : std::optional(*above);
    }
    const auto below = std::ranges::find_if(limits, [&](std::int64_t l) { return l < limit; });
    return below == limits.end() ? std::nullopt : std::optional(*below);
  }
  bool move(std::initializer_list<std::pair<std::size_t, bool>> changes) {
    Limits limits = *best_;
    for (const auto& [d, freer] : changes) {
      const std::optional<std::int64_t> limit = next(d, limits[d], freer);
      if (!limit) return false;
      limits[d] = *limit;
    }
    return consider(limits);
  }

  // One loop goes its own way, as far as it pays; then one gives way to another.
  void one_or_two() {
    if (dials_.size() < 2) return;
    bool better = true;
    const auto room = [&] { return judged_.size() < most_judged; };
    while (better && room()) {
      better = false;
      for (std::size_t d = 0; d < dials_.size() && room(); ++d) {
        Limits top = *best_;
        top[d] = unlimited_memory;
        better |= consider(top);
        while (room() && move({{d, true}})) better = true;
        while (room() && move({{d, false}})) better = true;
      }
      for (std::size_t a = 0; a < dials_.size() && !better && room(); ++a) {
        for (std::size_t b = 0; b < dials_.size() && room(); ++b) {
          while (a != b && room() && move({{a, true}, {b, false}})) better = true;
        }
      }
    }
  }

  // Between two modes of a loop lie further numbers of slots.
  void use_what_is_left() {
    for (std::size_t d = 0; d < dials_.size(); ++d) {
      for (const std::int64_t part : {1, 2}) {
        const std::int64_t left = (memory_ - judged_.at(*best_).peak) / part;
        const std::optional<std::int64_t> above = next(d, (*best_)[d], true);
        if (dials_[d].inside || !above || left <= 0) break;
        Limits limits = *best_;
        limits[d] = std::min(limits[d] + left, *above - 1);
        if (consider(limits)) break;
      }
    }
  }

  // Levels that would be much faster and did not fit: the fastest of them that can be brought within the
  // budget at all gets a plan with more effort.
  void try_harder() {
    constexpr double much = 0.9, most_over = 1.25;  // of the time of the best, of the budget
    constexpr double part = 0.3;                    // of the effort
    constexpr int tries = 2;
    std::vector<const Level*> list;
    for (const Level& level : plain_levels()) {
      const auto judged = judged_.find(level.limits);
      if (judged != judged_.end() && judged->second.fits) continue;
      if (static_cast<double>(level.peak) > most_over * static_cast<double>(memory_)) continue;
      if (!best_ || level.seconds < much * judged_.at(*best_).seconds) list.push_back(&level);
    }
    std::ranges::stable_sort(list, {}, &Level::seconds);
    int left = tries;
    for (const Level* level : list) {
      if (left == 0 || late()) break;
      if (floor(level->limits) > memory_) continue;
      judged_.erase(level->limits);
      const double quick =
          std::exchange(quick_.effort.factor, std::max(quick_.effort.factor, part * effort_));
      const bool better = consider(level->limits);
      quick_.effort = quick;
      if (better) break;
      --left;
    }
  }

  static constexpr std::size_t most_misses = 2, most_levels = 10, most_judged = 40;

  const Graph unlowered_;
  const std::vector<std::string>& skip_;
  const std::int64_t memory_;
  SearchControl* const control_;
  const double effort_;
  const bool may_repeat_;  // else loops keep all that their reverse reads
  const std::vector<TierBudget> tiers_;
  bool keeps_all_ = true;
  double free_seconds_ = 0;
  PlanOptions quick_;
  RegionCache regions_;
  const std::vector<LoopModes> modes_;
  const std::vector<Dial> dials_;
  std::map<Limits, Judged> judged_;
  std::optional<Limits> best_;
  Limits chosen_;                                // empty: no limits
  std::optional<std::pair<Graph, Plan>> found_;  // of the best
  std::vector<Level> plain_;
};

PlanWithLoops plan_of_search(const LoopSearch& search, Graph graph, const PlanOptions& options) {
  if (!search.found()) {
    Result<Plan, Infeasible> plan = plan_safely(graph, options);
    return {std::move(graph), std::move(plan), search.chosen()};
  }
  // Something fits: no need to look for the smallest.
  PlanOptions enough = options;
  enough.floor = false;
  Result<Plan, Infeasible> plan = make_safe(
      graph, [&](const Graph& g) { return try_plan(g, target_of(enough), enough); },
      [](const Result<Plan, Infeasible>& made) { return made ? &made.value() : nullptr; });
  const auto& [other, found] = *search.found();
  if (!plan || found.seconds < plan.value().seconds) return {other, found, search.chosen()};
  return {std::move(graph), std::move(plan), search.chosen()};
}

// What loops compute again, or what segments of them copy, is extra time too; and loops in other modes may be
// faster.
PlanWithLoops with_least_seconds(PlanWithLoops found, double least) {
  const auto corrected = [&](Plan plan) {
    plan.least_seconds = std::min({plan.least_seconds, plan.seconds, least});
    plan.seconds_bound = std::min(plan.seconds_bound, plan.least_seconds);
    return plan;
  };
  if (found.plan) return {std::move(found.graph), corrected(found.plan.value()), std::move(found.loops)};
  const Infeasible& none = found.plan.error();
  return {std::move(found.graph), Infeasible{none.budget, corrected(none.smallest)}, std::move(found.loops)};
}

PlanWithLoops whole_loops(LoopSearch& search, const PlanOptions& options) {
  Graph graph = search.within_budget();
  if (search.keeps_all()) {
    Result<Plan, Infeasible> plan = plan_safely(graph, options);
    return {std::move(graph), std::move(plan)};
  }
  PlanWithLoops found = plan_of_search(search, std::move(graph), options);
  // Nothing computed again is one of the choices: what does not fit may wait elsewhere.
  PlanOptions once = options;
  once.allow = options.allow.without(Choice::recompute);
  once.floor = false;
  Graph all = search.keeping_all();
  Result<Plan, Infeasible> kept = plan_safely(all, once);
  if (kept && (!found.plan || kept.value().seconds < found.plan.value().seconds))
    return {std::move(all), std::move(kept)};
  return with_least_seconds(std::move(found), search.free_seconds());
}

// The same with stencils that take several steps at once, where that fits and is faster: with what loops keep
// now, and with all of it, for which there may be room since kernels hold what lies between their steps.
PlanWithLoops with_several_steps(PlanWithLoops found, const Graph& unlowered,
                                 const std::vector<std::string>& skip_optimisations,
                                 const PlanOptions& options) {
  const Target& target = target_of(options);
  if (!found.plan || target.most_halo == 0) return found;
  const auto lowered = [&](const LoopMemory& loops) {
    return prepare_lowered(unlowered, skip_optimisations, nullptr, loops, target);
  };
  PlanOptions once = options;
  once.floor = false;
  // A search within a budget may find something slower than what fits by itself.
  const auto planned = [&](Graph& graph) {
    if (!options.memory) return plan_safely(graph, once);
    PlanOptions plain = once;
    plain.memory.reset();
    plain.tiers.clear();
    Graph g = graph;
    Plan plan = make_safe(g, [&](const Graph& safe) { return make_plan(safe, target, plain); });
    if (plan.peak() > *options.memory) return plan_safely(graph, once);
    plan.budget = *options.memory;
    graph = std::move(g);
    return Result<Plan, Infeasible>(std::move(plan));
  };
  const auto consider = [&](LoopMemory loops, bool has_steps) {
    if (!has_steps || (options.control && options.control->time_is_up())) return;
    loops.several_steps = true;
    Graph graph = lowered(loops);
    Result<Plan, Infeasible> plan = planned(graph);
    const double least_seconds = found.plan.value().least_seconds;
    if (!plan || plan.value().seconds >= found.plan.value().seconds) return;
    found = with_least_seconds({std::move(graph), std::move(plan), std::move(loops)}, least_seconds);
  };
  const bool keeps_less = !found.loops.limits.empty();
  consider(found.loops, has_steps_to_join(found.graph, target));
  if (keeps_less) consider({}, has_steps_to_join(lowered({}), target));
  return found;
}

}  // namespace

PreparedLoops prepare_within(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                             const PlanOptions& options) {
  LoopSearch search(traced, skip_optimisations, options);
  Graph graph = search.within_budget();
  return {std::move(graph), search.chosen()};
}

namespace {

// Loops whole or in segments, as the options' tiers have room; the disks of loops are left alone.
PlanWithLoops within_budget(LoopSearch& search, const std::vector<std::string>& skip_optimisations,
                            const PlanOptions& options) {
  SegmentSearch segments(search.unlowered(), skip_optimisations, options);
  if (segments.empty()) return whole_loops(search, options);
  PlanWithLoops whole = [&] {
    constexpr double part = 0.4;
    const TimeShare share(options.control, part);
    return whole_loops(search, options);
  }();
  if (whole.plan && whole.plan.value().extra_time() < no_time) return whole;
  std::optional<PlanWithLoops> cut = segments.within_budget();
  const Plan& other = whole.plan ? whole.plan.value() : whole.plan.error().smallest;
  const double least_seconds = other.least_seconds;
  if (cut && (!whole.plan || cut->plan.value().seconds < other.seconds))
    return with_least_seconds(*std::move(cut), least_seconds);
  // Where nothing fits, the smaller one is the smallest there is.
  if (whole.plan || !options.floor || !segments.smallest()) return whole;
  const auto& [graph, smallest, loops] = *segments.smallest();
  if (smallest.value().peak() >= other.peak()) return whole;
  return with_least_seconds({graph, Infeasible{*options.memory, smallest.value()}, loops}, least_seconds);
}

}  // namespace

PlanWithLoops plan_with_loops(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                              const PlanOptions& options) {
  LoopSearch search(traced, skip_optimisations, options);
  PlanWithLoops found = options.memory ? within_budget(search, skip_optimisations, options)
                                       : plan_of_search(search, search.within_budget(), options);
  DiskLoopSearch disks(search.unlowered(), skip_optimisations, options);
  if (!disks.empty()) found = disks.best_with(std::move(found), search.loop_memory());
  return with_several_steps(std::move(found), search.unlowered(), skip_optimisations, options);
}

Graph prepare_smallest(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                       const PlanOptions& options) {
  return LoopSearch(traced, skip_optimisations, options).smallest();
}

}  // namespace tidemark
