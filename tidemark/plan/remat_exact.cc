// Two rules keep the search small.
//
// Safe step: a task that may come first now (all its successors are placed) and whose operands are all alive anyway
// goes at once. Its results are read by placed tasks alone, so any earlier run of it could be deleted in favour of this
// one, and nothing would live longer.
//
// Dominance: with the same tasks placed, fewer items alive at no higher cost is never worse.
//
// Both need that an item which dies never makes take-overs save less. That holds if the operands that one task may
// overwrite are of one size; the rules rest where they are not.
#include "tidemark/plan/remat_exact.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>

#include "tidemark/base/check.h"
#include "tidemark/plan/remat_cover.h"
#include "tidemark/plan/remat_relax.h"

namespace tidemark {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A set of small numbers.
template <std::size_t words>
struct BitSet {
  std::array<std::uint64_t, words> word{};

  bool has(int i) const { return word[at(i / 64)] >> (i % 64) & 1; }
  void add(int i) { word[at(i / 64)] |= std::uint64_t{1} << (i % 64); }
  bool within(const BitSet& other) const {
    for (std::size_t w = 0; w < words; ++w) {
      if (word[w] & ~other.word[w]) return false;
    }
    return true;
  }
  bool meets(const BitSet& other) const {
    for (std::size_t w = 0; w < words; ++w) {
      if (word[w] & other.word[w]) return true;
    }
    return false;
  }
  int count() const {
    int sum = 0;
    for (std::uint64_t w : word) sum += std::popcount(w);
    return sum;
  }
  BitSet with(BitSet other) const {
    for (std::size_t w = 0; w < words; ++w) other.word[w] |= word[w];
    return other;
  }
  BitSet common(BitSet other) const {
    for (std::size_t w = 0; w < words; ++w) other.word[w] &= word[w];
    return other;
  }
  BitSet without(BitSet other) const {
    for (std::size_t w = 0; w < words; ++w) other.word[w] = word[w] & ~other.word[w];
    return other;
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t rest = word[w]; rest != 0; rest &= rest - 1) {
        f(static_cast<int>(w) * 64 + std::countr_zero(rest));
      }
    }
  }
  bool operator==(const BitSet&) const = default;
};

constexpr std::int64_t states_without_prices = 2'000;
constexpr int cover_nodes = 300;

enum class Goal { cost, peak };

template <std::size_t words>
class BackwardSearch {
  using Set = BitSet<words>;
  struct State {
    Set placed;  // tasks whose first run is in the part of the sequence that is settled
    Set alive;   // items alive before that part
    bool operator==(const State&) const = default;
  };
  struct Node {
    State state;
    double value = 0;  // cost of the repeated runs; or the peak, in bytes
    double least = 0;  // of any sequence through this state
    int parent = -1, task = -1;
    bool open = true, probed = false;
  };

 public:
  BackwardSearch(const RematProblem& problem, Goal goal)
      : problem_(problem),
        model_(problem.model),
        goal_(goal),
        after_(at(model_.tasks)),
        closers_(at(model_.tasks)),
        uses_(at(model_.tasks)),
        makes_(at(model_.tasks)) {
    for (int t = 0; t < model_.tasks; ++t) {
      all_.add(t);
      for (int s : model_.after[t]) after_[at(t)].add(s);
      for (int c : problem.closed_by[t]) closers_[at(t)].add(c);
      for (int i : model_.uses[t]) uses_[at(t)].add(i);
      for (int i : model_.makes[t]) makes_[at(t)].add(i);
      for (const TakeOver& pair : model_.take_overs[at(t)]) {
        orderly_ &= model_.size[at(pair.used)] == model_.size[at(model_.take_overs[at(t)].front().used)];
      }
    }
    if (goal == Goal::cost) prepare_probes();
    table_.assign(1 << 12, -1);
    dominators_.resize(at(model_.tasks) + 1);
  }

  struct Outcome {
    Sequence sequence;
    double value = 0;  // of the sequence; a lower bound if there is none
    bool complete = false;
  };

  // Prices found with this much work guide the search; only for fixed orders.
  void prepare_potentials(std::int64_t work, double target) {
    std::vector<int> probes(at(model_.tasks));
    std::iota(probes.begin(), probes.end(), 0);
    RematRelaxation relaxation(problem_, probes);
    relaxation.improve(work, target);
    potentials_ = relaxation.potentials();
  }

  // Sequences of a value below `limit`, none of whose steps has a load above `budget`.
  Outcome run(std::int64_t budget, double limit, std::int64_t states) {
    budget_ = budget;
    limit_ = limit;
    State start;
    for (int i = 0; i < model_.items; ++i) {
      if (model_.pinned[at(i)]) start.alive.add(i);
    }
    reach(start, 0, -1, -1);
    double proved = 0;
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (!nodes_[at(entry.node)].open || nodes_[at(entry.node)].least != entry.least) continue;
      proved = std::max(proved, entry.least);
      nodes_[at(entry.node)].open = false;
      if (nodes_[at(entry.node)].state.placed == all_) return {trace(entry.node), entry.least, true};
      if (dominated(entry.node) || put_back(entry.node)) continue;
      if (static_cast<std::int64_t>(nodes_.size()) > states) return {{}, proved, false};
      expand(entry.node);
    }
    return {{}, limit, true};
  }

 private:
  struct Entry {
    double least;
    int placed, node;
    bool operator<(const Entry& other) const {
      // Among equals go deep first, and to what was found last.
      return std::tuple(least, -placed, -node) > std::tuple(other.least, -other.placed, -other.node);
    }
  };

  std::int64_t bytes(const Set& items) const {
    std::int64_t sum = 0;
    items.each([&](int i) { sum += model_.size[at(i)]; });
    return sum;
  }

  std::int64_t load(int t, const Set& alive) const {
    const auto dies = [&](int i) { return !alive.has(i); };
    return model_.base + bytes(alive.with(makes_[at(t)]).with(uses_[at(t)])) + model_.scratch[at(t)] -
           saved_by_take_over(model_, t, dies);
  }

  void expand(int from) {
    const Node here = nodes_[at(from)];
    const Set &placed = here.state.placed, &alive = here.state.alive;
    struct Choice {
      int task;
      bool first;
      std::int64_t during;
    };
    std::vector<Choice> choices;
    bool last = true;  // among the tasks to be placed, in the base order
    for (int t = model_.tasks - 1; t >= 0; --t) {
      if (placed.has(t)) continue;
      const bool may_be_first = after_[at(t)].within(placed) && (last || !problem_.fixed_order);
      last = false;
      if (!closers_[at(t)].within(placed)) continue;
      if (!may_be_first && !(problem_.repeatable[at(t)] && makes_[at(t)].meets(alive))) continue;
      const std::int64_t during = load(t, alive);
      if (during > budget_ || (goal_ == Goal::peak && static_cast<double>(during) >= limit_)) continue;
      if (may_be_first && orderly_ && uses_[at(t)].within(alive) &&
          (goal_ == Goal::cost || static_cast<double>(during) <= here.value)) {
        choices.assign(1, {t, true, during});
        break;
      }
      choices.push_back({t, may_be_first, during});
    }
    for (const Choice& choice : choices) {
      State next = here.state;
      if (choice.first) next.placed.add(choice.task);
      next.alive = alive.without(makes_[at(choice.task)]).with(uses_[at(choice.task)]);
      double value = here.value;
      if (goal_ == Goal::peak) {
        value = std::max(value, static_cast<double>(choice.during));
      } else if (!choice.first) {
        value += problem_.cost[at(choice.task)];
      }
      reach(next, value, from, choice.task);
    }
  }

  void reach(const State& state, double value, int parent, int task) {
    double least = value;
    if (goal_ == Goal::cost) least += relaxed(state);
    if (!(least < limit_)) return;
    const int slot = find(state);
    int node = table_[at(slot)];
    if (node < 0) {
      node = static_cast<int>(nodes_.size());
      table_[at(slot)] = node;
      nodes_.push_back({.state = state});
      if (nodes_.size() * 2 > table_.size()) grow();
    } else if (nodes_[at(node)].value <= value) {
      return;
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
  }

  // The probes cost more than all else, so they wait until a state comes up. True: it turned out worse than it looked.
  bool put_back(int node) {
    Node& n = nodes_[at(node)];
    if (goal_ == Goal::peak || n.probed) return false;
    const double least = n.value + repeats_needed(n.state);
    n.probed = true;
    if (least <= n.least) return false;
    n.least = least;
    n.open = true;
    if (least < limit_) queue_.push({least, n.state.placed.count(), node});
    return true;
  }

  double relaxed(const State& state) const {
    if (!potentials_) return 0;
    const int k = model_.tasks - state.placed.count();
    double best = 0;
    for (int which : {0, 1}) {
      double sum = potentials_->constant(which, k);
      state.alive.each([&](int i) { sum += potentials_->wanted(which, k, i); });
      best = std::max(best, sum);
    }
    return best;
  }

  // With the same tasks placed, another state needs no more alive and costs no more.
  bool dominated(int node) {
    const Node& n = nodes_[at(node)];
    if (!orderly_) return false;
    std::vector<int>& others = dominators_[at(n.state.placed.count())];
    for (int o : others) {
      const Node& other = nodes_[at(o)];
      if (o != node && other.value <= n.value && other.state.placed == n.state.placed &&
          other.state.alive.within(n.state.alive)) {
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

  // A probe looks at the first run of one task. What is surely made before it and needed after it is alive then or is
  // made again later; what exceeds the budget must be made again, the cheapest bytes first.
  struct Probe {
    Set earlier;                  // items surely made before
    std::vector<int> used_later;  // those of them that have a user surely after
    Set later;                    // tasks surely run after
    Set counted;                  // its operands and results
    Set takeable;                 // operands it may overwrite if they die
    std::int64_t own = 0;         // with its scratch and what is always there
    std::vector<int> makers;      // surely run before and may run again after
  };

  struct Heavy {  // a probe over the budget
    double cost;
    std::int64_t over;
    int task;
    Set items;
  };

  void prepare_probes() {
    const int n = model_.tasks;
    std::vector<Set> ancestors(at(n)), descendants(at(n));
    for (int t = 0; t < n; ++t) {
      for (int p : model_.before[t]) {
        TM_CHECK(p < t, "the base order runs {} before {}", t, p);
        ancestors[at(t)] = ancestors[at(t)].with(ancestors[at(p)]);
        ancestors[at(t)].add(p);
      }
      if (problem_.fixed_order) {
        for (int p = 0; p < t; ++p) ancestors[at(t)].add(p);
      }
    }
    for (int t = 0; t < n; ++t) {
      for (int p = 0; p < t; ++p) {
        if (ancestors[at(t)].has(p)) descendants[at(p)].add(t);
      }
    }
    Set present;
    users_.resize(at(model_.items));
    waiting_.resize(at(model_.items));
    for (int i = 0; i < model_.items; ++i) {
      if (model_.present[at(i)]) present.add(i);
      for (int u : model_.users[i]) users_[at(i)].add(u);
    }
    for (int t = 0; t < n; ++t) {
      Probe probe;
      probe.earlier = present;
      probe.later = descendants[at(t)];
      Set gone = ancestors[at(t)];
      gone.add(t);
      for (int m = 0; m < t; ++m) {
        if (!gone.has(m)) continue;
        probe.earlier = probe.earlier.with(makes_[at(m)]);
        if (problem_.repeatable[at(m)] && !closers_[at(m)].meets(gone)) probe.makers.push_back(m);
      }
      for (int i = 0; i < model_.items; ++i) {
        if (probe.earlier.has(i) && users_[at(i)].meets(probe.later)) probe.used_later.push_back(i);
      }
      probe.counted = uses_[at(t)].with(makes_[at(t)]);
      probe.own = model_.base + model_.scratch[at(t)] + bytes(probe.counted);
      for (const TakeOver& pair : model_.take_overs[at(t)]) probe.takeable.add(pair.used);
      probes_.push_back(std::move(probe));
    }
  }

  // Cost of further repeated runs that every completion of this state needs.
  double repeats_needed(const State& state) {
    double most = 0;
    for (int i = 0; i < model_.items; ++i) waiting_[at(i)] = users_[at(i)].without(state.placed);
    heavy_.clear();
    for (int t = 0; t < model_.tasks; ++t) {
      if (state.placed.has(t)) continue;
      const Probe& probe = probes_[at(t)];
      Set crossing = state.alive.common(probe.earlier);
      for (int i : probe.used_later) {
        if (waiting_[at(i)].meets(probe.later)) crossing.add(i);
      }
      const Set kept_operands = crossing.common(probe.takeable);
      const Set beside = crossing.without(probe.counted);
      const std::int64_t over =
          probe.own + bytes(beside) - bytes(probe.takeable.without(kept_operands)) - budget_;
      if (over <= 0) continue;
      const Heavy heavy{cheapest(probe, beside.with(kept_operands), over, 0), over, t,
                        beside.with(kept_operands)};
      most = std::max(most, heavy.cost);
      heavy_.push_back(heavy);
    }
    if (most == std::numeric_limits<double>::infinity()) return most;
    // Whole items instead of parts, where it looks worst.
    const auto few = std::min<std::ptrdiff_t>(3, static_cast<std::ptrdiff_t>(heavy_.size()));
    std::ranges::partial_sort(heavy_, heavy_.begin() + few, [](const Heavy& a, const Heavy& b) {
      return std::pair(-a.cost, a.task) < std::pair(-b.cost, b.task);
    });
    for (auto h = heavy_.begin(); h != heavy_.begin() + few; ++h) {
      most = std::max(most, cheapest(probes_[at(h->task)], h->items, h->over, cover_nodes));
    }
    return most;
  }

  // Cost of making again, after the probe, at least `over` bytes of these items.
  double cheapest(const Probe& probe, const Set& items, std::int64_t over, int nodes) {
    gains_.clear();
    for (int m : probe.makers) {
      const std::int64_t gain = bytes(makes_[at(m)].common(items));
      if (gain > 0) gains_.push_back({problem_.cost[at(m)], static_cast<double>(gain)});
    }
    return least_cover(gains_, static_cast<double>(over), nodes);
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  const Goal goal_;
  std::int64_t budget_ = 0;
  double limit_ = 0;
  bool orderly_ = true;
  Set all_;
  std::vector<Set> after_, closers_, uses_, makes_;  // per task
  std::vector<Set> users_, waiting_;                 // per item; waiting_ is room for repeats_needed
  std::vector<Probe> probes_;
  std::vector<Gain> gains_;
  std::vector<Heavy> heavy_;
  std::optional<RematRelaxation::Potentials> potentials_;
  std::vector<Node> nodes_;
  std::vector<int> table_;  // nodes by hash, -1 for none
  std::vector<std::vector<int>> dominators_;
  std::priority_queue<Entry> queue_;
};

template <class F>
auto with_words(const RematProblem& problem, F&& f) {
  const int most = std::max(problem.model.tasks, problem.model.items);
  TM_CHECK(most <= most_exact_tasks);
  if (most <= 64) return f.template operator()<1>();
  if (most <= 128) return f.template operator()<2>();
  return f.template operator()<4>();
}

}  // namespace

ExactSequence exact_sequence(const RematProblem& problem, const ExactLimits& limits) {
  const double base = problem.base_cost(), limit = limits.cutoff - base;
  return with_words(problem, [&]<std::size_t words>() {
    // Prices take longer to find than most small problems to solve.
    const std::int64_t few =
        problem.fixed_order ? std::min(limits.states, states_without_prices) : limits.states;
    auto found = BackwardSearch<words>(problem, Goal::cost).run(problem.budget, limit, few);
    if (!found.complete && few < limits.states) {
      BackwardSearch<words> search(problem, Goal::cost);
      search.prepare_potentials(limits.price_work, limit);
      found = search.run(problem.budget, limit, limits.states);
    }
    ExactSequence result;
    result.sequence = std::move(found.sequence);
    result.bound = base + found.value;
    result.complete = found.complete;
    if (!result.sequence.empty()) result.cost = figures_of(problem, result.sequence).cost;
    return result;
  });
}

SmallestPeak smallest_peak(const RematProblem& problem, const ExactLimits& limits) {
  return with_words(problem, [&]<std::size_t words>() {
    BackwardSearch<words> search(problem, Goal::peak);
    auto found = search.run(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<double>::infinity(),
                            limits.states);
    return SmallestPeak{static_cast<std::int64_t>(found.value), std::move(found.sequence), found.complete};
  });
}

}  // namespace tidemark
