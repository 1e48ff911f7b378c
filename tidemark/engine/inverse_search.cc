#include "tidemark/engine/inverse_search.h"

#include <algorithm>
#include <limits>

namespace tidemark {
namespace {

// Times of quick plans within the budget, and of plans without one, by how many couplings are undone.
class InverseSearch {
 public:
  InverseSearch(const Graph& traced, std::size_t all, double drift, const std::vector<std::string>& skip,
                const PlanOptions& options)
      : traced_(traced), all_(all), drift_(drift), skip_(skip), memory_(*options.memory), quick_(options) {
    quick_.effort = quick_.effort.at_most(Effort::quick);
    quick_.one_round = true;
    quick_.floor = false;
    quick_.allow = options.allow.without(Choice::compress);  // forms are chosen for the best of them
  }

  // Numbers that are worth a plan with all of the effort, the best first; none: nothing is known to fit.
  std::vector<std::size_t> best() {
    judge(0);
    constexpr double nothing = 0.01;  // of the time
    if (fits(0) && judged_.at(0) <= (1 + nothing) * plain(0).seconds) return {0};
    // More are never needed. Fewer leave more to be computed again, of which some costs less.
    const std::size_t enough = enough_alone();
    for (const std::size_t part : {4, 3, 2}) {
      const std::size_t count = enough * part / 4;
      if (count == 0 || !judge(count)) break;
    }
    std::vector<std::size_t> list;
    for (const auto& [count, seconds] : judged_) {
      if (fits(count)) list.push_back(count);
    }
    std::ranges::stable_sort(list, {}, [&](std::size_t count) { return judged_.at(count); });
    constexpr double close = 1.1;
    std::erase_if(list, [&](std::size_t count) {
      return count != list[0] && (count != 0 || judged_.at(0) > close * judged_.at(list[0]));
    });
    return list;
  }

  double seconds_without_a_budget() { return plain(0).seconds; }

  // The fewest that fit with nothing else, or nearly so: memory falls about evenly with their number.
  std::size_t enough_alone() {
    std::size_t low = 0, high = all_;
    if (plain(low).peak <= memory_) return low;
    if (plain(high).peak > memory_) return high;
    while (high - low > std::max<std::size_t>(1, all_ / 32)) {
      const auto above = static_cast<double>(plain(low).peak - memory_);
      const auto range = static_cast<double>(plain(low).peak - plain(high).peak);
      const auto step = static_cast<std::size_t>(static_cast<double>(high - low) * above / range);
      const std::size_t middle = std::clamp(low + step + 1, low + 1, high - 1);
      (plain(middle).peak <= memory_ ? high : low) = middle;
    }
    return high;
  }

 private:
  struct Plain {
    std::int64_t peak = 0;
    double seconds = 0;
  };

  Plain plain(std::size_t count) {
    const auto [place, is_new] = plain_.try_emplace(count);
    if (is_new) {
      PlanOptions free = quick_;
      free.memory.reset();
      free.tiers.clear();
      const PlanWithForms found = plan_with_forms(lower_inverses(traced_, count, drift_), {}, skip_, free);
      const Plan& plan = found.plan.value();
      place->second = {plan.peak(), plan.seconds};
    }
    return place->second;
  }

  bool fits(std::size_t count) const { return judged_.at(count) < std::numeric_limits<double>::infinity(); }

  bool judge(std::size_t count) {
    const auto [place, is_new] = judged_.try_emplace(count, std::numeric_limits<double>::infinity());
    if (is_new && !(quick_.control && quick_.control->time_is_up())) {
      const PlanWithForms found = plan_with_forms(lower_inverses(traced_, count, drift_), {}, skip_, quick_);
      if (found.plan) place->second = found.plan.value().seconds;
    }
    return fits(count);
  }

  const Graph& traced_;
  const std::size_t all_;
  const double drift_;
  const std::vector<std::string>& skip_;
  const std::int64_t memory_;
  PlanOptions quick_;
  std::map<std::size_t, double> judged_;  // seconds; infinite: does not fit
  std::map<std::size_t, Plain> plain_;
};

}  // namespace

PlanWithValues plan_with_values(const Graph& traced, const std::optional<Lossy>& lossy,
                                const std::vector<std::string>& skip, const PlanOptions& options) {
  const double drift = lossy ? lossy->error : 0;
  const auto planned = [&](std::size_t undone, const PlanOptions& with) {
    PlanWithForms found = plan_with_forms(lower_inverses(traced, undone, drift), lossy, skip, with);
    return PlanWithValues{std::move(found.graph),
                          std::move(found.plan),
                          {undone, std::move(found.forms), drift},
                          std::move(found.loops)};
  };
  const bool may = options.memory && options.allow.has(Choice::invert);
  const std::size_t all = may ? invertible_calls(traced, drift) : 0;
  if (all == 0) return planned(0, options);

  InverseSearch search(traced, all, drift, skip, options);
  std::vector<std::size_t> counts = search.best();
  // The search does not know what smaller forms do: with them nothing may have to be undone, or as many as
  // where nothing is computed again.
  if (lossy || all_forms(traced, {}, options.allow) != asked_for(residuals_of(traced))) {
    for (const std::size_t count : {std::size_t{0}, search.enough_alone()}) {
      if (std::ranges::count(counts, count) == 0) counts.push_back(count);
    }
  }
  std::optional<PlanWithValues> best;
  for (const std::size_t count : counts) {
    PlanOptions enough = options;  // where one does not fit, that is not the end of it
    enough.floor = false;
    PlanWithValues found = planned(count, enough);
    if (found.plan && (!best || found.plan.value().seconds < best->plan.value().seconds))
      best = std::move(found);
  }
  if (!best) {
    // The smallest of both ways is what the error tells.
    best = planned(all, options);
    if (!best->plan) {
      PlanWithValues kept = planned(0, options);
      const bool smaller = !kept.plan && options.floor &&
                           kept.plan.error().smallest.peak() < best->plan.error().smallest.peak();
      if (kept.plan || smaller) best = std::move(kept);
    }
  }
  if (best->plan && best->values.undone > 0) {
    // What undoing takes is extra time, and the bound of the graph that undoes is none of the others.
    Plan& plan = best->plan.value();
    plan.least_seconds = std::min(search.seconds_without_a_budget(), plan.seconds);
    plan.seconds_bound = std::min(plan.seconds_bound, plan.least_seconds);
  }
  return *std::move(best);
}

std::vector<BackwardValues> extreme_values(const Graph& traced, const std::optional<Lossy>& lossy,
                                           const Choices& allow) {
  std::vector<BackwardValues> list;
  const double drift = lossy ? lossy->error : 0;
  for (const std::size_t undone :
       {std::size_t{0}, allow.has(Choice::invert) ? invertible_calls(traced, drift) : 0}) {
    if (undone == 0 && !list.empty()) break;
    const Graph graph = lower_inverses(traced, undone, drift);
    ResidualChoice asked = asked_for(residuals_of(graph)), all = all_forms(graph, lossy, allow);
    const bool coded = all != asked;
    list.push_back({undone, std::move(asked), drift});
    if (coded) list.push_back({undone, std::move(all), drift});
  }
  return list;
}

}  // namespace tidemark
