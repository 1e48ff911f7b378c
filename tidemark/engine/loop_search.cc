#include "tidemark/engine/loop_search.h"

#include <algorithm>
#include <functional>

#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/plan/report/frontier.h"

namespace tidemark {
namespace {

constexpr double some_time = 0.01;  // a share of it for which loops that could keep everything do not
constexpr std::size_t most_misses = 2, most_levels = 10, most_judged = 40;

}  // namespace

std::vector<LoopSearch::Dial> LoopSearch::dials_of(const std::vector<LoopModes>& loops) {
  std::vector<Dial> dials;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    if (loops[k].own.size() > 1) dials.push_back({k, false, loops[k].own});
    if (loops[k].inside.size() > 1) dials.push_back({k, true, loops[k].inside});
  }
  return dials;
}

LoopSearch::LoopSearch(const Graph& traced, const std::vector<std::string>& skip, const PlanOptions& options)
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

Graph LoopSearch::within_budget() {
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

Graph LoopSearch::smallest() {
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

LoopSearch::Limits LoopSearch::tightest() const {
  Limits limits;
  for (const Dial& dial : dials_) limits.push_back(dial.limits.back());
  return limits;
}

LoopMemory LoopSearch::memory_with(const Limits& limits) const {
  LoopMemory memory;
  memory.limits.resize(modes_.size());
  for (std::size_t d = 0; d < dials_.size(); ++d) {
    LoopLimit& limit = memory.limits[dials_[d].loop];
    (dials_[d].inside ? limit.inside : limit.own) = limits[d];
  }
  return memory;
}

Graph LoopSearch::graph(const Limits& limits) const {
  return prepare_lowered(unlowered_, skip_, nullptr, memory_with(limits), target_of(quick_));
}

// As it will be planned: state that a failing call would lose gets memory of its own.
Plan LoopSearch::plain_plan(Graph& g) const {
  return make_safe(g, [&](const Graph& safe) { return make_plan(safe, target_of(quick_), quick_); });
}

std::int64_t LoopSearch::floor(const Limits& limits) const {
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
bool LoopSearch::is_better(const Limits& limits, double seconds) const {
  const double best = judged_.at(*best_).seconds;
  if (seconds != best) return seconds < best;
  return std::ranges::equal(limits, *best_, std::greater_equal()) && limits != *best_;
}

// By a plan of it. True: the best so far.
bool LoopSearch::consider(const Limits& limits) {
  const auto [place, is_new] = judged_.try_emplace(limits);
  if (!is_new || late()) return false;
  PlanOptions options = quick_;
  options.memory = memory_;
  Graph g = graph(limits);
  Result<Plan, Infeasible> planned = plan_safely(g, options);
  if (!planned) return false;
  return take(limits, std::move(g), std::move(planned).value());
}

bool LoopSearch::take(const Limits& limits, Graph g, Plan plan) {
  const bool better = !best_ || is_better(limits, plan.seconds);
  judged_[limits] = {.fits = true, .seconds = plan.seconds, .peak = plan.peak()};
  if (!better) return false;
  best_ = limits;
  found_ = std::pair(std::move(g), std::move(plan));
  return true;
}

// What fits by itself is not slower with a budget, which may find another plan, or none where every byte
// is needed.
void LoopSearch::consider_plain(const Level& level) {
  consider(level.limits);
  const Judged& judged = judged_.at(level.limits);
  if (late() || (judged.fits && judged.seconds <= level.seconds)) return;
  Graph g = graph(level.limits);
  Plan plan = plain_plan(g);
  plan.budget = memory_;
  take(level.limits, std::move(g), std::move(plan));
}

// Levels of one limit for all; of several loops, each at most three quarters of the one before.
std::vector<LoopSearch::Limits> LoopSearch::levels() const {
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
const std::vector<LoopSearch::Level>& LoopSearch::plain_levels() {
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
void LoopSearch::keep_less_where_faster() {
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

void LoopSearch::same_for_all() {
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
void LoopSearch::same_for_all_with_tiers() {
  judged_.clear();
  quick_.tiers = tiers_;
  same_for_all();
  quick_.tiers.clear();
}

std::optional<std::int64_t> LoopSearch::next(std::size_t d, std::int64_t limit, bool freer) const {
  const std::vector<std::int64_t>& limits = dials_[d].limits;
  if (freer) {
    const auto above =
        std::find_if(limits.rbegin(), limits.rend(), [&](std::int64_t l) { return l > limit; });
    return above == limits.rend() ? std::nullopt : std::optional(*above);
  }
  const auto below = std::ranges::find_if(limits, [&](std::int64_t l) { return l < limit; });
  return below == limits.end() ? std::nullopt : std::optional(*below);
}

bool LoopSearch::move(std::initializer_list<std::pair<std::size_t, bool>> changes) {
  Limits limits = *best_;
  for (const auto& [d, freer] : changes) {
    const std::optional<std::int64_t> limit = next(d, limits[d], freer);
    if (!limit) return false;
    limits[d] = *limit;
  }
  return consider(limits);
}

// One loop goes its own way, as far as it pays; then one gives way to another.
void LoopSearch::one_or_two() {
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
void LoopSearch::use_what_is_left() {
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
void LoopSearch::try_harder() {
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
    const double quick = std::exchange(quick_.effort.factor, std::max(quick_.effort.factor, part * effort_));
    const bool better = consider(level->limits);
    quick_.effort = quick;
    if (better) break;
    --left;
  }
}

}  // namespace tidemark
