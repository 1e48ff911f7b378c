#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "tidemark/solve/at.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

// A random number in [0, 1) for a task: depends on seed and task alone.
double chance(std::uint64_t seed, int task) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(task) + 1;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

// Some tasks done, and what it would mean to do another. Every `run` can be undone. Sources, tasks that wait
// for nothing, are no choice of their own: each runs right before the first task that needs it, as a part of
// it.
class State {
 public:
  explicit State(const OrderModel& model)
      : model_(model),
        left_(at(model.items)),
        waiting_(at(model.tasks)),
        source_of_(at(model.items), -1),
        run_for_(at(model.tasks), -1) {
    resident_ = model.base;
    for (int i = 0; i < model.items; ++i) {
      left_[at(i)] = static_cast<int>(model.users[i].size());
      if (model.present[at(i)]) resident_ += model.size[at(i)];
    }
    for (int t = 0; t < model.tasks; ++t) {
      if (is_source(t)) {
        waiting_[at(t)] = -1;
        for (int i : model.makes[t]) source_of_[at(i)] = t;
      } else {
        for (int b : model.before[t]) waiting_[at(t)] += !is_source(b);
      }
    }
  }

  bool is_source(int t) const { return model_.before[t].empty() && !model_.after[t].empty(); }
  // The sources that would run with t.
  template <class F>
  void each_new_source(int t, F&& f) const {
    for (int b : model_.before[t]) {
      if (is_source(b) && run_for_[at(b)] < 0) f(b);
    }
  }

  std::int64_t resident() const { return resident_; }
  bool ready(int t) const { return waiting_[at(t)] == 0; }

  struct Effect {
    std::int64_t hill, change;  // beyond what is resident before: at most while it runs, and after
  };
  Effect effect(int t) const {
    const auto dies = [&](int i) { return left_[at(i)] == 1 && !model_.pinned[at(i)]; };
    std::int64_t made = 0, freed = 0;
    for (int i : model_.makes[t]) {
      made += model_.size[at(i)];
      if (!model_.lasts(i)) freed += model_.size[at(i)];
    }
    for (int i : model_.uses[t]) {
      const int source = source_of_[at(i)];
      if (source >= 0 && run_for_[at(source)] < 0) made += model_.size[at(i)];
      if (dies(i)) freed += model_.size[at(i)];
    }
    return {made + model_.scratch[at(t)] - saved_by_reuse(model_, t, dies), made - freed};
  }

  // Calls `wake` for tasks that become ready and for ready ones that would now free more.
  template <class F>
  void run(int t, F&& wake) {
    resident_ += effect(t).change;
    waiting_[at(t)] = -1;
    each_new_source(t, [&](int b) { run_for_[at(b)] = t; });
    for (int s : model_.after[t]) {
      if (--waiting_[at(s)] == 0) wake(s);
    }
    for (int i : model_.uses[t]) {
      if (--left_[at(i)] != 1 || model_.users[i].size() > widest_scan) continue;
      for (int u : model_.users[i]) {
        if (waiting_[at(u)] == 0) wake(u);
      }
    }
  }
  void undo(int t) {
    for (int i : model_.uses[t]) ++left_[at(i)];
    for (int s : model_.after[t]) ++waiting_[at(s)];
    waiting_[at(t)] = 0;
    for (int b : model_.before[t]) {
      if (run_for_[at(b)] == t) run_for_[at(b)] = -1;
    }
    resident_ -= effect(t).change;
  }

 private:
  static constexpr std::size_t widest_scan = 32;
  const OrderModel& model_;
  std::int64_t resident_ = 0;
  std::vector<int> left_;       // per item: users that have not run
  std::vector<int> waiting_;    // per task: tasks it waits for, sources aside; -1: has run, or is a source
  std::vector<int> source_of_;  // per item: its maker if that is a source
  std::vector<int> run_for_;    // per source: the task it ran with
};

class Greedy {
 public:
  Greedy(const OrderModel& model, const GreedyOptions& options, Work& work)
      : model_(model), options_(options), work_(work), state_(model), key_(at(model.tasks)) {
    for (int t = 0; t < model.tasks; ++t) {
      const double shift = options.noise * model.tasks * (chance(options.seed, t) - 0.5);
      key_[at(t)] = (options.priority.empty() ? t : options.priority[at(t)]) + shift;
    }
  }

  TaskOrder run() {
    for (int t = 0; t < model_.tasks; ++t) {
      if (state_.ready(t)) wake(t);
    }
    while (static_cast<int>(order_.size()) < model_.tasks) {
      if (run_release()) continue;
      if (options_.look_ahead > 0 && run_ahead()) continue;
      commit(next_by_key());
    }
    return std::move(order_);
  }

 private:
  struct Release {
    std::int64_t hill;
    double key;
    int task;
    bool operator<(const Release& other) const {
      return std::tuple(hill, key, task) > std::tuple(other.hill, other.key, other.task);
    }
  };

  void wake(int t) {
    ready_.insert({key_[at(t)], t});
    const State::Effect e = state_.effect(t);
    if (e.change <= 0) releases_.push({e.hill, key_[at(t)], t});
    recent_.push_back(t);
  }

  void commit(int t) {
    work_.spend(1);
    ready_.erase({key_[at(t)], t});
    peak_ = std::max(peak_, state_.resident() + state_.effect(t).hill);
    state_.each_new_source(t, [&](int source) { order_.push_back(source); });
    order_.push_back(t);
    state_.run(t, [&](int s) { wake(s); });
  }

  bool fits(std::int64_t hill) const {
    return options_.target == 0 || state_.resident() + hill <= std::max(options_.target, peak_);
  }

  bool run_release() {
    std::vector<Release> later;
    bool found = false;
    while (!found && !releases_.empty()) {
      const Release top = releases_.top();
      releases_.pop();
      if (!state_.ready(top.task)) continue;
      const State::Effect e = state_.effect(top.task);
      if (e.hill < top.hill) continue;  // a better entry for it is in the queue
      if (!fits(e.hill)) {
        later.push_back(top);
        break;  // the others are no lower
      }
      commit(top.task);
      found = true;
    }
    for (const Release& r : later) releases_.push(r);
    return found;
  }

  // A task that costs at first but, with what it makes possible, ends no higher.
  bool run_ahead() {
    std::vector<int> candidates;
    std::erase_if(recent_, [&](int t) { return !state_.ready(t); });
    if (recent_.size() > 64) recent_.erase(recent_.begin(), recent_.end() - 32);
    for (auto t = recent_.rbegin(); t != recent_.rend() && candidates.size() < 4; ++t) {
      if (std::ranges::count(candidates, *t) == 0) candidates.push_back(*t);
    }
    for (auto entry = ready_.begin(); entry != ready_.end() && candidates.size() < 8; ++entry) {
      if (std::ranges::count(candidates, entry->second) == 0) candidates.push_back(entry->second);
    }
    std::vector<int> best, tried;
    std::int64_t best_hill = 0;
    for (int t : candidates) {
      const std::int64_t hill = try_ahead(t, tried);
      if (!tried.empty() && fits(hill) && (best.empty() || hill < best_hill)) best = tried, best_hill = hill;
    }
    for (int t : best) commit(t);
    return !best.empty();
  }

  // Leaves in `tried` the tasks to run, none if it does not pay.
  std::int64_t try_ahead(int first, std::vector<int>& tried) {
    tried.clear();
    const std::int64_t start = state_.resident();
    std::int64_t hill = 0;
    std::vector<int> woken;
    for (int next = first; next >= 0;) {
      hill = std::max(hill, state_.resident() - start + state_.effect(next).hill);
      state_.run(next, [&](int s) { woken.push_back(s); });
      tried.push_back(next);
      next = -1;
      if (state_.resident() <= start || static_cast<int>(tried.size()) >= options_.look_ahead) break;
      State::Effect least{};
      for (int t : woken) {
        if (!state_.ready(t)) continue;
        const State::Effect e = state_.effect(t);
        if (next < 0 || std::tuple(e.change, e.hill, t) < std::tuple(least.change, least.hill, next)) {
          next = t, least = e;
        }
      }
    }
    const bool pays = state_.resident() <= start;
    work_.spend(static_cast<std::int64_t>(tried.size()) * 2);
    for (auto t = tried.rbegin(); t != tried.rend(); ++t) state_.undo(*t);
    if (!pays) tried.clear();
    return hill;
  }

  int next_by_key() const {
    auto entry = ready_.begin();
    int chosen = entry->second;
    if (options_.noise <= 0) return chosen;
    // With noise, now and then the cheapest of the first few.
    if (chance(options_.seed + 1, static_cast<int>(order_.size())) > 2 * options_.noise) return chosen;
    std::int64_t least = state_.effect(chosen).change;
    for (int k = 0; k < 6 && entry != ready_.end(); ++k, ++entry) {
      const std::int64_t change = state_.effect(entry->second).change;
      if (change < least) least = change, chosen = entry->second;
    }
    return chosen;
  }

  const OrderModel& model_;
  const GreedyOptions& options_;
  Work& work_;
  State state_;
  std::vector<double> key_;
  std::set<std::pair<double, int>> ready_;
  std::priority_queue<Release> releases_;
  std::vector<int> recent_;
  TaskOrder order_;
  std::int64_t peak_ = 0;
};

}  // namespace

TaskOrder greedy_order(const OrderModel& model, const GreedyOptions& options, Work& work) {
  return Greedy(model, options, work).run();
}

TaskOrder backward_greedy_order(const OrderModel& model, std::span<const int> priority, double noise,
                                std::uint64_t seed, Work& work) {
  std::vector<int> waiting(at(model.tasks));
  std::vector<bool> alive(at(model.items), false);
  std::set<std::pair<double, int>> ready;  // by key, last first
  const auto key = [&](int t) {
    return -(priority.empty() ? t : priority[at(t)]) + noise * model.tasks * (chance(seed, t) - 0.5);
  };
  const auto change = [&](int t) {
    std::int64_t sum = 0;
    for (int i : model.uses[t]) {
      if (!alive[at(i)] && !model.pinned[at(i)]) sum += model.size[at(i)];
    }
    for (int i : model.makes[t]) {
      if (model.lasts(i)) sum -= model.size[at(i)];
    }
    return sum;
  };
  TaskOrder order;
  std::vector<int> woken;  // the ones whose change may have fallen to nothing
  const auto wake = [&](int t) {
    ready.insert({key(t), t});
    woken.push_back(t);
  };
  for (int t = 0; t < model.tasks; ++t) {
    waiting[at(t)] = static_cast<int>(model.after[t].size());
    if (waiting[at(t)] == 0) wake(t);
  }
  while (!ready.empty()) {
    int next = -1;
    while (next < 0 && !woken.empty()) {
      const int t = woken.back();
      woken.pop_back();
      if (ready.contains({key(t), t}) && change(t) <= 0) next = t;
    }
    if (next < 0) next = ready.begin()->second;
    ready.erase({key(next), next});
    order.push_back(next);
    work.spend(1);
    for (int i : model.uses[next]) {
      if (alive[at(i)]) continue;
      alive[at(i)] = true;
      if (model.users[i].size() > 32) continue;
      for (int u : model.users[i]) {
        if (ready.contains({key(u), u})) woken.push_back(u);
      }
    }
    for (int p : model.before[next]) {
      if (--waiting[at(p)] == 0) wake(p);
    }
  }
  std::ranges::reverse(order);
  return order;
}

}  // namespace tidemark
