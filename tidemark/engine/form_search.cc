#include "tidemark/engine/form_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/engine/plan_target.h"

namespace tidemark {
namespace {

// Less is not worth the steps that code it.
constexpr std::int64_t small_residual = 16384;  // bytes

// The smallest format of the type that is within the error, of several the closest; none: nothing is smaller
// than the value.
std::optional<QuantFormat> best_format(const Type& type, double error) {
  std::optional<QuantFormat> best;
  std::int64_t bytes = type.bytes();
  for (int i = 0; i < quant_format_count; ++i) {
    const auto format = static_cast<QuantFormat>(i);
    const double own = error_of(format, type.dtype);
    const std::int64_t taken = quantized_bytes(format, type);
    const bool closer = best && taken == bytes && own < error_of(*best, type.dtype);
    if (own <= error && (taken < bytes || closer)) best = format, bytes = taken;
  }
  return best;
}

class FormSearch {
 public:
  FormSearch(const Graph& traced, const std::optional<Lossy>& lossy, const std::vector<std::string>& skip,
             const PlanOptions& options)
      : traced_(traced),
        skip_(skip),
        quick_(options),
        residuals_(residuals_of(traced)),
        asked_(asked_for(residuals_)),
        all_(all_forms(traced, lossy, options.allow)) {
    quick_.effort = quick_.effort.at_most(Effort::quick);
    quick_.one_round = true;
    quick_.floor = false;
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      if (all_[i] != asked_[i]) order_.push_back(i);
    }
    std::vector<double> price;
    for (const Residual& residual : residuals_) price.push_back(price_of(residual));
    std::ranges::stable_sort(order_, std::greater(), [&](std::size_t i) { return price[i]; });
  }

  // What makes the fastest quick plan; where none is known to fit, all forms.
  ResidualChoice best() { return choice(best_count().value_or(order_.size())); }
  double best_seconds() const { return best_ ? judged_.at(*best_) : std::numeric_limits<double>::infinity(); }

 private:
  // Those that are dearest, `count` of them.
  ResidualChoice choice(std::size_t count) const {
    ResidualChoice choice = asked_;
    for (std::size_t k = 0; k < count; ++k) choice[order_[k]] = all_[order_[k]];
    return choice;
  }

  // How many make the fastest plan; none: no number of them is known to fit.
  std::optional<std::size_t> best_count() {
    for (const double share : {1.0, 0.5}) judge(count_for(share));
    if (!best_) return {};
    for (const double share : {0.25, 0.75}) judge(count_for(share));
    // Between the best and what was judged next to it. Plans with tiers take longer, and need it less: what
    // moves away need not be made smaller.
    const int rounds = quick_.tiers.empty() ? 2 : 1;
    for (int round = 0; round < rounds; ++round) {
      const auto at = judged_.find(*best_);
      std::vector<std::size_t> nearby;
      if (at != judged_.begin()) nearby.push_back((*best_ + std::prev(at)->first) / 2);
      if (std::next(at) != judged_.end()) nearby.push_back((*best_ + std::next(at)->first) / 2);
      for (const std::size_t count : nearby) judge(count);
    }
    return best_;
  }

  // Seconds to make it again, per byte that its form saves. What loops made or carry has no price: it is
  // never dear enough to be left out.
  double price_of(const Residual& residual) const {
    const Graph& graph = *residual.graph;
    ValueId v = residual.value;
    while (!graph.is_input(v) && graph[graph[v].producer].op->view) v = graph[graph[v].producer].operands[0];
    if (graph.is_input(v) || !graph[graph[v].producer].regions.empty())
      return std::numeric_limits<double>::infinity();
    const Machine& machine = quick_.machine ? *quick_.machine : reference_machine();
    const NodeCall call(graph, graph[graph[v].producer]);
    return seconds_of(machine, target_of(quick_), call) / static_cast<double>(graph.type(v).bytes());
  }

  // The fewest whose forms save this share of what all of them save.
  std::size_t count_for(double share) const {
    const auto bytes = [&](std::size_t i) {
      return static_cast<double>(residuals_[i].copies *
                                 residuals_[i].graph->type(residuals_[i].value).bytes());
    };
    double all = 0, sum = 0;
    for (const std::size_t i : order_) all += bytes(i);
    std::size_t count = 0;
    while (count < order_.size() && sum < share * all) sum += bytes(order_[count++]);
    return count;
  }

  void judge(std::size_t count) {
    if (quick_.control && quick_.control->time_is_up() && best_) return;
    const auto [place, is_new] = judged_.try_emplace(count, std::numeric_limits<double>::infinity());
    if (!is_new) return;
    const PlanWithLoops found = plan_with_loops(lower_residuals(traced_, choice(count)), skip_, quick_);
    if (!found.plan) return;
    place->second = found.plan.value().seconds;
    if (!best_ || place->second < judged_.at(*best_)) best_ = count;
  }

  const Graph& traced_;
  const std::vector<std::string>& skip_;
  PlanOptions quick_;
  const std::vector<Residual> residuals_;
  const ResidualChoice asked_, all_;
  std::vector<std::size_t> order_;        // of residuals, the dearest first
  std::map<std::size_t, double> judged_;  // seconds by count; infinite: does not fit
  std::optional<std::size_t> best_;
};

// What a search chooses that may do less, so that being allowed more is never slower: without computing
// anything again, without tiers, without either. Left out: what is slower than `seconds`, by more than care
// wins.
std::vector<ResidualChoice> forms_of_fewer(const Graph& traced, const std::optional<Lossy>& lossy,
                                           const std::vector<std::string>& skip, const PlanOptions& options,
                                           double seconds) {
  constexpr double care = 1.05;  // the time of a quick plan over that of one with more effort
  std::vector<ResidualChoice> list;
  for (const bool repeats : {true, false}) {
    for (const bool tiers : {true, false}) {
      if ((repeats && tiers) || (!repeats && !options.allow.has(Choice::recompute))) continue;
      if (!tiers && options.tiers.empty()) continue;
      PlanOptions fewer = options;
      if (!repeats) fewer.allow = options.allow.without(Choice::recompute);
      if (!tiers) fewer.tiers.clear();
      FormSearch search(traced, lossy, skip, fewer);
      ResidualChoice forms = search.best();
      if (search.best_seconds() < care * seconds && std::ranges::count(list, forms) == 0)
        list.push_back(std::move(forms));
    }
  }
  return list;
}

PlanWithForms with_forms(PlanWithLoops planned, ResidualChoice forms) {
  return {std::move(planned.graph), std::move(planned.plan), std::move(forms), std::move(planned.loops)};
}

}  // namespace

ResidualChoice all_forms(const Graph& traced, const std::optional<Lossy>& lossy, const Choices& allow) {
  const std::vector<Residual> residuals = residuals_of(traced);
  ResidualChoice choice = asked_for(residuals);
  if (!allow.has(Choice::compress)) return choice;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const Residual& residual = residuals[i];
    const Type& type = residual.graph->type(residual.value);
    if (choice[i] || type.bytes() < small_residual) continue;
    choice[i] = exact_form_of(*residual.graph, residual.value);
    if (!choice[i] && lossy && residual.tolerant) choice[i] = best_format(type, lossy->error);
  }
  return choice;
}

namespace {

constexpr double too_little = 1e-4;  // of the time: not worth a form

// Of an exact and complete plan, or of what says why there is none.
double free_seconds(const PlanWithForms& planned) {
  return (planned.plan ? planned.plan.value() : planned.plan.error().smallest).least_seconds;
}

// What is at least as good as `fewer`, which has fewer forms to choose from. `replanned` gives `fewer`
// with the smallest plan where none fits.
template <class Replan>
PlanWithForms with_more_forms(PlanWithForms fewer, const Graph& traced, const std::optional<Lossy>& lossy,
                              const std::vector<std::string>& skip, const PlanOptions& options,
                              const Replan& replanned) {
  if (fewer.plan && fewer.plan.value().extra_time() <= too_little) return fewer;
  const auto planned = [&](ResidualChoice forms, const PlanOptions& with) {
    PlanWithLoops found = plan_with_loops(lower_residuals(traced, forms), skip, with);
    return with_forms(std::move(found), std::move(forms));
  };
  PlanOptions enough = options;  // where one does not fit, that is not the end of it
  enough.floor = false;
  const double free = free_seconds(fewer);
  PlanWithForms more = planned(FormSearch(traced, lossy, skip, options).best(), options);
  const bool is_fastest = more.plan && more.plan.value().seconds <= (1 + too_little) * free;
  // Where the floor is not asked for, neither is the last bit of speed.
  std::vector<ResidualChoice> others;
  if (options.floor && !is_fastest) {
    const double seconds = more.plan ? more.plan.value().seconds : std::numeric_limits<double>::max();
    others = forms_of_fewer(traced, lossy, skip, options, seconds);
  }
  for (ResidualChoice& other : others) {
    if (other == more.forms || (options.control && options.control->time_is_up())) continue;
    PlanWithForms found = planned(std::move(other), enough);
    if (!found.plan || (more.plan && found.plan.value().seconds >= more.plan.value().seconds)) continue;
    more = std::move(found);
  }
  // What fits with fewer forms fits with more allowed. Else the smallest of both is what the error tells,
  // unless it is known which that is.
  const auto bound = [](const PlanWithForms& found) { return found.plan.error().smallest.order_free_bound; };
  const auto peak = [](const PlanWithForms& found) { return found.plan.error().smallest.peak(); };
  if (!more.plan && !fewer.plan && options.floor) {
    const bool known = options.tiers.empty() && !loop_memory_range(traced).any &&
                       bound(fewer) > *options.memory && bound(fewer) >= peak(more);
    if (known) return more;
    fewer = replanned(std::move(fewer));
    if (!fewer.plan && peak(fewer) > peak(more)) return more;
  }
  if (more.plan) {
    // What coding takes is extra time too, and no bound for plans that code other values.
    Plan& plan = more.plan.value();
    plan.least_seconds = std::min(free, plan.seconds);
    plan.seconds_bound = std::min(plan.seconds_bound, plan.least_seconds);
  }
  const bool better = more.plan && (!fewer.plan || more.plan.value().seconds < fewer.plan.value().seconds);
  return better ? std::move(more) : std::move(fewer);
}

}  // namespace

PlanWithForms plan_with_forms(const Graph& traced, const std::optional<Lossy>& lossy,
                              const std::vector<std::string>& skip, const PlanOptions& options) {
  const ResidualChoice asked = asked_for(residuals_of(traced));
  const Graph plain = lower_residuals(traced, asked);
  const auto without_forms = [&](const PlanOptions& with) {
    return with_forms(plan_with_loops(plain, skip, with), asked);
  };
  const ResidualChoice exact = all_forms(traced, {}, options.allow),
                       all = all_forms(traced, lossy, options.allow);
  if (!options.memory || all == asked) return without_forms(options);

  PlanOptions enough = options;  // where it does not fit, that is not the end of it
  enough.floor = false;
  PlanWithForms best = without_forms(enough);
  if (exact != asked) {
    best = with_more_forms(std::move(best), traced, {}, skip, options,
                           [&](const PlanWithForms&) { return without_forms(options); });
  }
  if (all != exact) {
    best = with_more_forms(std::move(best), traced, lossy, skip, options, [&](PlanWithForms found) {
      return exact == asked ? without_forms(options) : std::move(found);
    });
  }
  return best;
}

}  // namespace tidemark
