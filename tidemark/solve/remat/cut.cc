// Cutting: at a step that is too high, what to keep over it and what to make again behind it is chosen for
// all items at once (moment_cut.h). Then the same at a step of what came of that, until none is too high.
// Where many items are alive of which none counts for much, or which must go together, this finds at once
// what item by item takes long.
#include <algorithm>
#include <utility>

#include "tidemark/solve/at.h"
#include "tidemark/solve/random.h"
#include "tidemark/solve/remat/moment_cut.h"
#include "tidemark/solve/remat/moves.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

constexpr std::int64_t visits_a_unit = 200;  // of edges, some 5 ns each
constexpr std::size_t loads_a_unit = 100;    // of a sequence whose loads are counted
// Each cut may lift steps behind it. After so many, or with so many runs of each task, there is no end to it.
constexpr int most_cuts = 40;
constexpr std::size_t most_runs = 2;

class Cutter {
 public:
  Cutter(const RematProblem& problem, std::span<const int> start, const CutOptions& options)
      : problem_(problem),
        model_(problem.model),
        options_(options),
        makers_(makers_of(problem.model)),
        closes_(at(problem.model.tasks)),
        sequence_(start.begin(), start.end()) {
    for (int t = 0; t < model_.tasks; ++t) {
      for (int c : problem.closed_by[t]) closes_[at(c)].push_back(t);
    }
    Random random(options.seed);
    for (int t = 0; t < model_.tasks; ++t) {
      const double noise = options.noise > 0 ? options.noise * random.unit() : 0;
      weights_.push_back(1 + noise + options.tilt * (t + 1) / (model_.tasks + 1));
    }
  }

  Sequence run(Work& work) {
    for (int cuts = 0; cuts < most_cuts && work.left > 0; ++cuts) {
      const std::vector<std::int64_t> loads = loads_of(problem_, sequence_);
      const auto highest = std::ranges::max_element(loads);
      if (highest == loads.end() || *highest <= problem_.budget) break;
      const bool at_highest = options_.highest_first && cuts == 0;
      const auto last = std::find_if(loads.rbegin(), loads.rend(), [&](std::int64_t load) {
                          return load > problem_.budget;
                        }).base();
      position_ = static_cast<int>((at_highest ? highest : last - 1) - loads.begin());
      std::int64_t visits = visits_a_unit * work.left;
      Sequence cut = cut_here(at_highest && !problem_.fixed_order, visits);
      const std::int64_t spent = work.left - std::max<std::int64_t>(0, visits) / visits_a_unit;
      work.spend(1 + spent + static_cast<std::int64_t>(loads.size() / loads_a_unit));
      if (cut.empty() || cut.size() > most_runs * at(model_.tasks)) break;
      sequence_ = std::move(cut);
    }
    return std::move(sequence_);
  }

 private:
  // Empty: there is nothing to choose, or the choice cannot be carried out.
  Sequence cut_here(bool put_off, std::int64_t& visits) {
    done_.assign(at(model_.tasks), false);
    for (int p = 0; p <= position_; ++p) done_[at(sequence_[at(p)])] = true;
    find_next();
    find_floating(put_off);
    MomentCut cut(problem_, moment());
    visits -= MomentCut::visits_to_make(model_);
    return choose(cut, visits) ? rebuilt(cut) : Sequence{};
  }

  void find_next() {
    next_.assign(at(model_.items), Next::nothing);
    const auto set = [&](int item, Next what) {
      if (next_[at(item)] == Next::nothing) next_[at(item)] = what;
    };
    for (std::size_t p = at(position_) + 1; p < sequence_.size(); ++p) {
      for (int i : model_.uses[sequence_[p]]) set(i, Next::read);
      for (int i : model_.makes[sequence_[p]]) set(i, Next::made);
    }
    for (int i = 0; i < model_.items; ++i) {
      if (model_.pinned[at(i)]) set(i, Next::read);
    }
  }

  // What has run once and need not have for the step's sake.
  void find_floating(bool put_off) {
    floating_.assign(at(model_.tasks), false);
    if (!put_off) return;
    std::vector<int> runs(at(model_.tasks), 0), stack(1, sequence_[at(position_)]);
    for (int p = 0; p < position_; ++p) ++runs[at(sequence_[at(p)])];
    runs[at(stack.front())] = 0;
    while (!stack.empty()) {
      const int t = stack.back();
      stack.pop_back();
      for (int b : model_.before[t]) {
        if (runs[at(b)] == 0) continue;
        runs[at(b)] = 0;
        stack.push_back(b);
      }
    }
    for (int t = 0; t < model_.tasks; ++t) floating_[at(t)] = runs[at(t)] == 1;
  }

  // What runs again anyway can do so earlier, and what need not have run can run later, both at no cost.
  Moment moment() const {
    Moment moment{.task = sequence_[at(position_)],
                  .again = std::vector<double>(at(model_.tasks), Moment::never),
                  .needed = std::vector<bool>(at(model_.items), false),
                  .given = std::vector<bool>(at(model_.items), false)};
    std::vector<bool> to_come(at(model_.tasks), false);
    for (std::size_t p = at(position_) + 1; p < sequence_.size(); ++p) to_come[at(sequence_[p])] = true;
    for (int t = 0; t < model_.tasks; ++t) {
      if (!done_[at(t)] || t == moment.task) continue;
      if (!problem_.repeatable[at(t)] && !floating_[at(t)]) continue;
      if (std::ranges::any_of(problem_.closed_by[t], [&](int c) { return done_[at(c)]; })) continue;
      moment.again[at(t)] = to_come[at(t)] || floating_[at(t)] ? 0 : problem_.cost[at(t)];
    }
    for (int i = 0; i < model_.items; ++i) {
      const int m = makers_[at(i)];
      moment.needed[at(i)] = next_[at(i)] == Next::read;
      moment.given[at(i)] = m == moment.task || (m >= 0 && !done_[at(m)]);
    }
    return moment;
  }

  // The choice within the budget that leaves least of it. False: there is none.
  bool choose(MomentCut& cut, std::int64_t& visits) const {
    constexpr double first_part = 1.0 / 64;  // of the cost of all tasks, for all that is too much: cheap
    constexpr int most_doublings = 40, halvings = 16;
    double low = 0, high = first_part * problem_.base_cost() /
                           static_cast<double>(std::max<std::int64_t>(1, cut.over()));
    const auto is_within = [&](double price) {
      cut.choose(price, visits, weights_);
      return visits > 0 && cut.excess() <= 0;
    };
    int doublings = 0;
    for (; !is_within(high); low = high, high *= 2) {
      if (visits <= 0 || ++doublings > most_doublings) return false;
    }
    for (int k = 0; k < halvings && cut.excess() != 0; ++k) {
      const double middle = low + (high - low) / 2;
      (is_within(middle) ? high : low) = middle;
    }
    return is_within(high);
  }

  // The sequence with the choice made: what is not kept is made again where it is first read, or before its
  // maker is closed, and a run further on that makes it again too is left out.
  Sequence rebuilt(const MomentCut& cut) {
    there_.assign(at(model_.items), true);
    early_.assign(at(model_.tasks), false);
    for (int i = 0; i < model_.items; ++i) {
      const int m = makers_[at(i)];
      if (m < 0 || m == sequence_[at(position_)]) continue;
      there_[at(i)] = cut.is_needed(i) && !cut.runs_later(m);
      if (there_[at(i)] && next_[at(i)] == Next::made) early_[at(m)] = true;
    }
    put_off(cut);
    for (std::size_t p = at(position_) + 1; p < sequence_.size(); ++p) {
      const int task = sequence_[p];
      const bool was_early = early_[at(task)];
      early_[at(task)] = false;
      if (was_early && makes_nothing_new(task)) continue;
      for (int m : closes_[at(task)]) {
        if (cut.runs_later(m)) add(m, true);
      }
      add(task, false);
    }
    for (int t = 0; t < model_.tasks; ++t) {
      if (waiting_[at(t)]) add(t, true);
    }
    return is_valid_sequence(problem_, result_) ? std::move(result_) : Sequence{};
  }

  // Up to the step, all but first runs that are put off: those that run later and that nothing before the
  // step waits for.
  void put_off(const MomentCut& cut) {
    waiting_.assign(at(model_.tasks), false);
    for (int p = position_; p-- > 0;) {
      const int t = sequence_[at(p)];
      const auto waits_too = [&](int a) { return !done_[at(a)] || waiting_[at(a)]; };
      waiting_[at(t)] =
          floating_[at(t)] && cut.runs_later(t) && std::ranges::all_of(model_.after[t], waits_too);
    }
    result_.clear();
    for (int p = 0; p <= position_; ++p) {
      if (!waiting_[at(sequence_[at(p)])]) result_.push_back(sequence_[at(p)]);
    }
  }

  bool makes_nothing_new(int task) const {
    return !waiting_[at(task)] &&
           std::ranges::all_of(model_.makes[task], [&](int i) { return there_[at(i)]; });
  }

  // A run of the task, behind runs that make what it misses. `early`: before its time, if it makes something
  // new.
  void add(int task, bool early) {
    stack_.assign(1, {task, false});
    while (!stack_.empty()) {
      const auto [t, looked] = stack_.back();
      if (!looked) {
        stack_.back().second = true;
        for (int i : model_.uses[t]) {
          if (!there_[at(i)]) stack_.push_back({makers_[at(i)], false});
        }
        for (int b : model_.before[t]) {
          if (waiting_[at(b)]) stack_.push_back({b, false});
        }
        continue;
      }
      stack_.pop_back();
      if (early || t != task) {
        if (makes_nothing_new(t)) continue;  // any more
        early_[at(t)] = true;
      }
      waiting_[at(t)] = false;
      result_.push_back(t);
      for (int i : model_.makes[t]) there_[at(i)] = true;
    }
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  const CutOptions options_;
  const std::vector<int> makers_;
  std::vector<std::vector<int>> closes_;  // per task: whom it closes
  std::vector<double> weights_;           // per task: of the bytes it makes

  Sequence sequence_;
  int position_ = 0;        // of the cut
  std::vector<bool> done_;  // per task: it has run when the step ends
  enum class Next : unsigned char { nothing, read, made };
  std::vector<Next> next_;      // per item: the first thing that happens to it behind the step
  std::vector<bool> floating_;  // per task: its first run may be put off

  Sequence result_;
  std::vector<bool> there_;                  // per item: alive, or nobody misses it, at the end of the result
  std::vector<bool> early_;                  // per task: made again before its time
  std::vector<bool> waiting_;                // per task: put off
  std::vector<std::pair<int, bool>> stack_;  // tasks to run, and whether their operands were looked at
};

}  // namespace

Sequence cut_down(const RematProblem& problem, std::span<const int> start, const CutOptions& options,
                  Work& work) {
  return Cutter(problem, start, options).run(work);
}

}  // namespace tidemark
