#include <algorithm>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/random.h"
#include "tidemark/solve/remat/moves.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

using Run = Timeline::Run;

// How often each move is made, in percent. Where the order is free, so many move a first run; of the others,
// so many let an item go, take a repeat back or shift one, and the rest exchange a repeat for another, the
// last few for two.
constexpr std::size_t percent = 100, reorders = 30;
constexpr std::size_t drops = 35, restores = 20, shifts = 20, exchanges_for_two = 4;

constexpr std::int64_t steps_a_temperature = 64;  // over which it hardly falls
constexpr int steps_a_price = 256;                // enough to tell which side of the border it is on
constexpr double price_factor = 1.1;              // small: the price converges while the search cools down
// Where any sequence within the budget will do, costs only break ties.
constexpr double cost_weight_if_any_will_do = 0.03;
constexpr int drop_attempts = 16;  // at items without a gap that ends in a use, until one is found

class Annealer {
 public:
  Annealer(const RematProblem& problem, std::span<const int> start, const AnnealOptions& options)
      : problem_(problem),
        model_(problem.model),
        makers_(makers_of(problem.model)),
        edit_(problem, start),
        random_(options.seed),
        first_within_(options.first_within),
        closes_(static_cast<std::size_t>(problem.model.tasks)),
        cost_weight_(options.first_within ? cost_weight_if_any_will_do : 1),
        price_(problem.base_cost() / static_cast<double>(std::max<std::int64_t>(1, problem.budget))) {
    for (int t = 0; t < model_.tasks; ++t) {
      for (int closer : problem.closed_by[t]) closes_[at(closer)].push_back(t);
    }
    excess_ = edit_.now().excess(problem_.budget);
    offer();
  }

  Sequence run(double hot, double cold, Work& work) {
    const double total = static_cast<double>(work.left);
    const double fall = repeatable::log(cold / hot);
    double temperature = hot;
    for (std::int64_t step = 0; work.left > 0 && !(first_within_ && !best_.empty()); ++step) {
      if (step % steps_a_temperature == 0) {
        const double done = 1 - static_cast<double>(work.left) / total;
        temperature = hot * repeatable::exp(fall * done);
      }
      const double before = energy(excess_);
      propose();
      work.spend(1 + edit_.spent());
      if (!edit_.changed()) continue;
      const double excess = edit_.now().excess(problem_.budget);
      const double rise = energy(excess) - before;
      if (rise <= 0 || random_.unit() < repeatable::exp(-rise / temperature)) {
        edit_.keep();
        excess_ = excess;
        offer();
      } else {
        edit_.undo();
      }
      adapt();
    }
    return best_;
  }

 private:
  double energy(double excess) const { return cost_weight_ * edit_.now().cost() + price_ * excess; }

  // The price of a byte too much follows how often the search is outside the budget: about half of the time,
  // so that it keeps crossing the border, where the best sequences are.
  void adapt() {
    if (first_within_) return;
    outside_ += excess_ > 0;
    if (++counted_ < steps_a_price) return;
    price_ *= outside_ > steps_a_price / 2 ? price_factor : 1 / price_factor;
    counted_ = outside_ = 0;
  }

  void offer() {
    if (excess_ > 0) return;
    constexpr double rounding = 1e-12;  // the cost is a running sum
    if (!best_.empty() && edit_.now().cost() >= best_cost_ * (1 - rounding)) return;
    best_ = edit_.now().sequence();
    best_cost_ = edit_.now().cost();
  }

  void propose() {
    std::size_t kind = random_.below(percent);
    if (!problem_.fixed_order) {
      if (kind < reorders) return reorder();
      kind = random_.below(percent);
    }
    if (kind < drops || edit_.repeats().empty()) {
      drop();
    } else if (kind < drops + restores) {
      restore();
    } else if (kind < drops + restores + shifts) {
      shift();
    } else {
      restore();
      drop();
      if (kind >= percent - exchanges_for_two) drop();
    }
  }

  // Lets a random item go for one of its gaps and computes it again before the use that ends the gap.
  void drop() {
    const Timeline& line = edit_.now();
    const Run over = excess_ > 0 && random_.below(2) ? line.peak_run() : Timeline::none;
    for (int attempt = 0; attempt < drop_attempts; ++attempt) {
      Gap gap{static_cast<int>(random_.below(at(model_.items))), -1};
      const auto events = line.events(gap.item);
      const std::size_t ends = events.size() + model_.pinned[at(gap.item)];
      if (ends < 2) continue;
      gap = over != Timeline::none ? gap_at(line, model_, gap.item, over)
                                   : Gap{gap.item, static_cast<int>(1 + random_.below(ends - 1))};
      if (gap.event < 0) continue;
      const Run last = events[at(gap.event) - 1].run;
      Run place = Timeline::none;
      if (at(gap.event) < events.size()) {
        if (events[at(gap.event)].make) continue;
        place = events[at(gap.event)].run;
      }
      if (line.next(last) == place) continue;
      if (place != Timeline::none && random_.below(4) == 0) place = somewhat_before(place, last);
      const int task = makers_[at(gap.item)];
      if (task < 0 || !edit_.may_insert(task, place)) continue;
      int most = 1 << random_.below(5);
      insert_chain(edit_, problem_, makers_, task, place, most, [&](int) { return random_.below(2) == 0; });
      return;
    }
  }

  // Up to eight runs earlier, but not next to `last`, where nothing would be gained.
  Run somewhat_before(Run place, Run last) {
    for (std::size_t back = 1 + random_.below(8); back > 0; --back) {
      const Run before = edit_.now().previous(place);
      if (before == last || edit_.now().previous(before) == last) break;
      place = before;
    }
    return place;
  }

  void restore() {
    const auto repeats = edit_.repeats();
    if (!repeats.empty()) edit_.erase_with_idle(repeats[random_.below(repeats.size())]);
  }

  // Moves a repeat a few runs away.
  void shift() {
    const Timeline& line = edit_.now();
    const auto repeats = edit_.repeats();
    const Run run = repeats[random_.below(repeats.size())];
    const int task = line.task(run);
    const bool later = random_.below(2) == 0;
    Run place = later ? line.next(run) : run;
    for (std::size_t steps = 1 + random_.below(6); steps > 0; --steps) {
      const Run next = place == Timeline::none ? place : later ? line.next(place) : line.previous(place);
      if (next == Timeline::none) break;
      place = next;
    }
    if (place == Timeline::none || place == run || !line.earlier(line.runs_of(task).front(), place)) return;
    if (!edit_.may_insert(task, place)) return;
    edit_.insert(task, place);
    edit_.erase_with_idle(run);
  }

  // Moves a first run as far as its neighbours in the graph allow, or less.
  void reorder() {
    const Timeline& line = edit_.now();
    const int task = static_cast<int>(random_.below(at(model_.tasks)));
    const Run run = line.runs_of(task).front();
    std::size_t steps = 1 + random_.below(std::size_t{1} << (1 + random_.below(6)));
    Run place = run;
    if (random_.below(2)) {
      for (Run x = line.previous(run); x != Timeline::none && steps > 0; x = line.previous(x), --steps) {
        if (std::ranges::count(model_.before[task], line.task(x)) && line.is_first(x)) break;
        if (std::ranges::count(closes_[at(task)], line.task(x))) break;
        place = x;
      }
      if (place != run) edit_.relocate(run, place);
    } else {
      for (Run x = line.next(run); x != Timeline::none && steps > 0; x = line.next(x), --steps) {
        if (line.task(x) == task || std::ranges::count(model_.after[task], line.task(x))) break;
        place = x;
      }
      if (place != run) edit_.relocate(run, line.next(place));
    }
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  std::vector<int> makers_;
  TimelineEdit edit_;
  Random random_;
  bool first_within_;
  std::vector<std::vector<int>> closes_;  // per task: whom it closes
  double cost_weight_;
  double price_;  // of a byte of excess
  double excess_ = 0;
  int counted_ = 0, outside_ = 0;
  Sequence best_;
  double best_cost_ = 0;
};

}  // namespace

Sequence anneal(const RematProblem& problem, std::span<const int> start, const AnnealOptions& options,
                Work& work) {
  const double mean = problem.base_cost() / std::max(1, problem.model.tasks);
  return Annealer(problem, start, options).run(options.hot * mean, options.cold * mean, work);
}

}  // namespace tidemark
