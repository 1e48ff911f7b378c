// The search behind exact.h. Backwards a state is the set of tasks whose first run is placed and the set of
// items alive before them. Four rules keep it small:
//
//   * Safe step: a task that may come first now (all its successors are placed) and whose operands are all
//   alive anyway
//     goes at once. Its results are read by placed tasks alone, so any earlier run of it could be deleted in
//     favour of
//     this one, and nothing would live longer. The same goes for a repeated run that costs nothing.
//   * Dominance: with the same tasks placed, fewer items alive at no higher cost is never worse.
//   * Order: a repeated run whose operands are all alive anyway could as well come just after the step that
//   is next in
//     time; where it was possible there, it is not tried again.
//   * Bounds on what repeated runs must still cost: prices of a relaxation (relax.h) and the heaviest moments
//     (peaks.h).
//
// The first three need that an item which dies never makes in-place reuses save less. That holds if the
// operands that one task may overwrite are of one size; the rules rest where they are not.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "tidemark/base/check.h"
#include "tidemark/solve/remat/peaks.h"
#include "tidemark/solve/remat/problem.h"
#include "tidemark/solve/remat/related.h"
#include "tidemark/solve/remat/relax.h"

namespace tidemark {

enum class BackwardGoal { cost, peak };

struct BackwardOutcome {
  Sequence sequence;
  double value = 0;       // of the sequence; a lower bound if there is none
  bool complete = false;  // a lowest one; if there is none, there is none below the limit
  std::int64_t spent = 0;
};

template <class Set>
class BackwardSearch {
 public:
  // The first `prior` tasks have run before and need not run again; if there are any, the order is fixed,
  // and of their results those present are alive at the start.
  BackwardSearch(const RematProblem& problem, BackwardGoal goal, int prior = 0)
      : problem_(problem),
        model_(problem.model),
        goal_(goal),
        prior_(prior),
        after_(at(model_.tasks)),
        closers_(at(model_.tasks)),
        uses_(at(model_.tasks)),
        makes_(at(model_.tasks)),
        dominators_(at(model_.tasks) + 1),
        table_(1 << 12, -1) {
    for (int t = 0; t < model_.tasks; ++t) {
      if (t >= prior) all_.add(t);
      for (int s : model_.after[t]) after_[at(t)].add(s);
      for (int c : problem.closed_by[t]) closers_[at(t)].add(c);
      for (int i : model_.uses[t]) uses_[at(t)].add(i);
      for (int i : model_.makes[t]) makes_[at(t)].add(i);
      for (const InPlaceReuse& pair : model_.reuses[at(t)]) {
        orderly_ &= model_.size[at(pair.used)] == model_.size[at(model_.reuses[at(t)].front().used)];
      }
    }
    for (int i = 0; i < model_.items; ++i) {
      if (model_.present[at(i)]) present_.add(i);
    }
    if (goal == BackwardGoal::peak) return;
    if (problem.fixed_order) {
      peaks_.emplace(problem, prior);
    } else {
      related_.emplace(problem);
    }
  }

  // Prices found with this much work guide the search; only for fixed orders.
  void find_prices(std::int64_t work, double target, SearchControl* control = nullptr) {
    std::vector<int> probes(at(model_.tasks - prior_));
    std::iota(probes.begin(), probes.end(), prior_);
    RematRelaxation relaxation(problem_, probes, true, prior_);
    relaxation.improve(work, target, control);
    if (relaxation.bound() < std::numeric_limits<double>::infinity()) potentials_ = relaxation.potentials();
  }

  // Sequences of a value (cost of the repeated runs, or peak) below `limit`, none of whose steps has a load
  // above `budget`. `work` is counted in words looked at, some nanoseconds each. Values up to `floor` count
  // as equal to it.
  BackwardOutcome run(std::int64_t budget, double limit, std::int64_t states, std::int64_t work,
                      double floor = 0, SearchControl* control = nullptr) {
    budget_ = budget;
    limit_ = limit;
    work_ = work;
    State start;
    for (int i = 0; i < model_.items; ++i) {
      if (model_.pinned[at(i)]) start.alive.add(i);
    }
    reach(start, floor, -1, -1);
    double proved = floor;
    std::int64_t told = work;  // what the control knows of
    while (!queue_.empty()) {
      constexpr std::int64_t steps_a_unit = 1000;
      if (control && told - work_ >= steps_a_unit) {
        if (control->spent((told - work_) / steps_a_unit)) return {{}, proved, false, work - work_};
        told = work_;
      }
      const Entry entry = queue_.top();
      queue_.pop();
      Node& node = nodes_[at(entry.node)];
      if (!node.open || node.least != entry.least) continue;
      proved = std::max(proved, entry.least);
      node.open = false;
      if (node.state.placed == all_ && node.state.alive.within(present_)) {
        return {trace(entry.node), entry.least, true, work - work_};
      }
      if (dominated(entry.node) || put_back(entry.node)) continue;
      if (static_cast<std::int64_t>(nodes_.size()) > states || work_ < 0)
        return {{}, proved, false, work - work_};
      expand(entry.node);
    }
    return {{}, limit, true, work - work_};
  }

 private:
  struct State {
    Set placed;  // tasks whose first run is in the part of the sequence that is fixed
    Set alive;   // items alive before that part
    bool operator==(const State&) const = default;
  };
  struct Node {
    State state;
    double value = 0;  // cost of the repeated runs; or the peak, in bytes
    double least = 0;  // of any sequence through this state
    int parent = -1, task = -1;
    bool open = true, probed = false;
    bool forced = false;  // by a step that left no choice
  };
  struct Entry {
    double least;
    int placed, node;
    bool operator<(const Entry& other) const {
      // Among equals go deep first, and to what was found last.
      return std::tuple(least, -placed, -node) > std::tuple(other.least, -other.placed, -other.node);
    }
  };
  struct Choice {
    int task;
    bool first;
    std::int64_t during;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::int64_t bytes(const Set& items) const {
    std::int64_t sum = 0;
    items.each([&](int i) { sum += model_.size[at(i)]; });
    return sum;
  }

  std::int64_t load(int t, const Set& alive) const {
    const auto dies = [&](int i) { return !alive.has(i); };
    return model_.base + bytes(alive.with(makes_[at(t)]).with(uses_[at(t)])) + model_.scratch[at(t)] -
           saved_by_reuse(model_, t, dies);
  }

  void expand(int from) {
    const Node here = nodes_[at(from)];
    const bool forced = find_choices(here);
    for (const Choice& choice : choices_) {
      State next = here.state;
      if (choice.first) next.placed.add(choice.task);
      next.alive = next.alive.without(makes_[at(choice.task)]).with(uses_[at(choice.task)]);
      double value = here.value;
      if (goal_ == BackwardGoal::peak) {
        value = std::max(value, static_cast<double>(choice.during));
      } else if (!choice.first) {
        value += problem_.cost[at(choice.task)];
      }
      if (const int node = reach(next, value, from, choice.task); node >= 0) nodes_[at(node)].forced = forced;
    }
  }

  // True: there is only one.
  bool find_choices(const Node& here) {
    choices_.clear();
    const Set &placed = here.state.placed, &alive = here.state.alive;
    work_ -= 4 * model_.tasks;
    bool last = true;  // among the tasks to be placed, in the base order
    for (int t = model_.tasks - 1; t >= 0; --t) {
      if (placed.has(t)) continue;
      const bool may_be_first =
          t >= prior_ && after_[at(t)].within(placed) && (last || !problem_.fixed_order);
      last = false;
      if (!closers_[at(t)].within(placed)) continue;
      if (!may_be_first && !(problem_.repeatable[at(t)] && makes_[at(t)].meets(alive))) continue;
      const bool operands_alive = orderly_ && uses_[at(t)].within(alive);
      if (!may_be_first && operands_alive && tried_before(here, t)) continue;
      const std::int64_t during = load(t, alive);
      if (during > budget_ || (goal_ == BackwardGoal::peak && static_cast<double>(during) >= limit_))
        continue;
      const bool free_of_charge = goal_ == BackwardGoal::cost ? may_be_first || problem_.cost[at(t)] == 0
                                                              : static_cast<double>(during) <= here.value;
      if (operands_alive && free_of_charge) {
        choices_.assign(1, {t, may_be_first, during});
        return true;
      }
      choices_.push_back({t, may_be_first, during});
    }
    return false;
  }

  // Was this repeated run tried before the step that led here, to lead to the same state? Of two that could
  // each come first, the one with the higher number does.
  bool tried_before(const Node& here, int t) const {
    if (here.parent < 0 || here.forced) return false;
    const Node& from = nodes_[at(here.parent)];
    const int step = here.task;
    const bool comes_second =
        from.state.placed == here.state.placed && t < step && uses_[at(step)].within(from.state.alive);
    return step != t && !comes_second && !uses_[at(step)].meets(makes_[at(t)]) &&
           uses_[at(t)].within(from.state.alive) && closers_[at(t)].within(from.state.placed) &&
           static_cast<double>(load(t, from.state.alive)) <=
               (goal_ == BackwardGoal::peak ? here.value : static_cast<double>(budget_));
  }

  // The node, if this is a better way to it.
  int reach(const State& state, double value, int parent, int task) {
    work_ -= 40;
    double least = value;
    if (goal_ == BackwardGoal::cost) least += relaxed(state);
    if (!(least < limit_)) return -1;
    const int slot = find(state);
    int node = table_[at(slot)];
    if (node < 0) {
      node = static_cast<int>(nodes_.size());
      table_[at(slot)] = node;
      nodes_.push_back({.state = state});
      if (nodes_.size() * 2 > table_.size()) grow();
    } else if (nodes_[at(node)].value <= value) {
      return -1;
    }
    if (parent >= 0) least = std::max(least, nodes_[at(parent)].least);
    Node& n = nodes_[at(node)];
    n.value = value;
    n.least = least;
    n.parent = parent;
    n.task = task;
    n.open = true;
    n.probed = false;
    queue_.push({least, state.placed.count(), node});
    return node;
  }

  double relaxed(const State& state) const {
    if (!potentials_) return 0;
    const int stage = model_.tasks - prior_ - state.placed.count();
    double best = 0;
    for (int which : {0, 1}) {
      double sum = potentials_->constant(which, stage);
      state.alive.each([&](int i) { sum += potentials_->wanted(which, stage, i); });
      best = std::max(best, sum);
    }
    return best;
  }

  // The moments cost more than all else, so they wait until a state comes up. True: it turned out worse than
  // it looked.
  bool put_back(int node) {
    Node& n = nodes_[at(node)];
    if (goal_ == BackwardGoal::peak || n.probed) return false;
    double needed = 0;
    if (peaks_) {
      const std::int64_t before = peaks_->visits();
      alive_.clear();
      n.state.alive.each([&](int i) { alive_.push_back(i); });
      needed = peaks_->repeats_needed(model_.tasks - n.state.placed.count(), alive_);
      work_ -= peaks_->visits() - before;
    } else {
      const std::int64_t before = related_->visits();
      needed = related_->repeats_needed(n.state.placed, n.state.alive);
      work_ -= related_->visits() - before;
    }
    n.probed = true;
    if (n.value + needed <= n.least) return false;
    n.least = n.value + needed;
    n.open = true;
    if (n.least < limit_) queue_.push({n.least, n.state.placed.count(), node});
    return true;
  }

  // With the same tasks placed, another state needs no more alive and costs no more.
  bool dominated(int node) {
    const Node& n = nodes_[at(node)];
    if (!orderly_) return false;
    std::vector<int>& others = dominators_[at(n.state.placed.count())];
    work_ -= static_cast<std::int64_t>(others.size());
    for (int o : others) {
      const Node& other = nodes_[at(o)];
      if (o != node && other.value <= n.value && other.state.alive.within(n.state.alive) &&
          other.state.placed == n.state.placed) {
        return true;
      }
    }
    others.push_back(node);
    return false;
  }

  int find(const State& state) const {
    std::uint64_t hash = 0;
    const auto mix = [&](std::uint64_t w) {
      hash = (hash ^ w) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    };
    for (std::uint64_t w : state.placed.word) mix(w);
    for (std::uint64_t w : state.alive.word) mix(w);
    for (std::size_t slot = hash & (table_.size() - 1);; slot = (slot + 1) & (table_.size() - 1)) {
      if (table_[slot] < 0 || nodes_[at(table_[slot])].state == state) return static_cast<int>(slot);
    }
  }
  void grow() {
    table_.assign(table_.size() * 2, -1);
    for (std::size_t n = 0; n < nodes_.size(); ++n) table_[at(find(nodes_[n].state))] = static_cast<int>(n);
  }

  Sequence trace(int node) const {
    Sequence sequence;
    for (; nodes_[at(node)].parent >= 0; node = nodes_[at(node)].parent) {
      sequence.push_back(nodes_[at(node)].task);
    }
    return sequence;
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  const BackwardGoal goal_;
  const int prior_;
  std::int64_t budget_ = 0, work_ = 0;
  double limit_ = 0;
  bool orderly_ = true;
  Set all_, present_;
  std::vector<Set> after_, closers_, uses_, makes_;  // per task
  std::optional<RematPeaks> peaks_;
  std::optional<RelatedPeaks<Set>> related_;
  std::optional<RematRelaxation::Potentials> potentials_;
  std::vector<std::vector<int>> dominators_;  // nodes that were opened, by the number of tasks placed
  std::vector<Node> nodes_;
  std::vector<int> table_;  // nodes by hash, -1 for none
  std::priority_queue<Entry> queue_;
  std::vector<Choice> choices_;
  std::vector<int> alive_;
};

}  // namespace tidemark
