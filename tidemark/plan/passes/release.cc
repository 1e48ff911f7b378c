// Release: updates of donated memory run as soon as what they read is there. The order keeps the peak low,
// and below the peak nothing tells one order from another: all gradients might wait for updates at the end.
// And the order counts runs by themselves, whose updates take memory for their parts; in kernels they do not,
// and then the peak can be where gradients wait. What moves is an update as a whole: runs that may be one
// kernel and whose results end in donated memory.
#include <algorithm>
#include <numeric>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

constexpr std::int64_t small_bytes = 64;  // rates and counts, that many updates share

// The updates of a model: sets of tasks that run together.
class Updates {
 public:
  // `joins`: may be part of a kernel; `small`: makes no more than rates and counts.
  Updates(const OrderModel& model, const std::vector<bool>& joins, const std::vector<bool>& small)
      : model_(model), update_of_(tasks(), -1) {
    std::vector<bool> member(tasks(), false);
    free_.assign(tasks(), false);
    std::vector<int> order = topological();
    for (const int t : order) {
      free_[at(t)] =
          small[at(t)] && std::ranges::all_of(model.before[t], [&](int b) { return free_[at(b)]; });
    }
    std::vector<int> root(tasks());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int t) {
      while (root[at(t)] != t) t = root[at(t)] = root[at(root[at(t)])];
      return t;
    };
    for (const int t : std::vector<int>(order.rbegin(), order.rend())) {
      // Nothing but its update waits for a member: what a backward pass goes on with is none, so that an
      // update can run as a whole.
      const bool kept = std::ranges::any_of(model.makes[t], [&](int i) { return model.pinned[at(i)]; });
      const bool last = !kept && std::ranges::all_of(model.after[t], [&](int a) { return member[at(a)]; });
      member[at(t)] = last && joins[at(t)] && !small[at(t)];
      if (!member[at(t)]) continue;
      for (const int a : model.after[t]) root[at(find(t))] = find(a);
    }
    for (const int t : order) {
      if (!member[at(t)]) continue;
      int& number = update_of_[at(find(t))];
      if (number < 0) {
        number = static_cast<int>(members_.size());
        members_.emplace_back();
      }
      update_of_[at(t)] = number;
      members_[at(number)].push_back(t);
    }
  }

  std::size_t count() const { return members_.size(); }
  int of(int task) const { return update_of_[at(task)]; }                             // -1: none
  const std::vector<int>& members(int update) const { return members_[at(update)]; }  // each behind its own
  bool is_free(int task) const { return free_[at(task)]; }  // small, and made of nothing that is not

 private:
  std::size_t tasks() const { return at(model_.tasks); }
  std::vector<int> topological() const {
    std::vector<int> waiting(tasks()), order;
    for (int t = 0; t < model_.tasks; ++t) {
      waiting[at(t)] = static_cast<int>(model_.before[t].size());
      if (waiting[at(t)] == 0) order.push_back(t);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      for (const int a : model_.after[order[k]]) {
        if (--waiting[at(a)] == 0) order.push_back(a);
      }
    }
    return order;
  }

  const OrderModel& model_;
  std::vector<int> update_of_;
  std::vector<std::vector<int>> members_;
  std::vector<bool> free_;
};

// An order in the making, and the bytes alive behind what has run.
class Playing {
 public:
  explicit Playing(const OrderModel& model) : model_(model), done_(at(model.tasks), false) {
    for (int i = 0; i < model.items; ++i) {
      left_.push_back(static_cast<int>(model.users[i].size()));
      if (model.present[at(i)]) resident_ += model.size[at(i)];
    }
  }

  // Runs them in this order; the most bytes that were alive meanwhile.
  std::int64_t run(std::span<const int> tasks) {
    std::int64_t most = 0;
    for (const int t : tasks) {
      const auto dies = [&](int i) { return left_[at(i)] == 1 && !model_.pinned[at(i)]; };
      std::int64_t made = 0;
      for (const int i : model_.makes[t]) made += model_.size[at(i)];
      most = std::max(
          most, model_.base + resident_ + made + model_.scratch[at(t)] - saved_by_reuse(model_, t, dies));
      for (const int i : model_.makes[t]) resident_ += model_.lasts(i) ? model_.size[at(i)] : 0;
      for (const int i : model_.uses[t]) {
        if (--left_[at(i)] == 0 && !model_.pinned[at(i)]) resident_ -= model_.size[at(i)];
      }
      done_[at(t)] = true;
      order_.push_back(t);
    }
    return most;
  }
  void take_back(std::span<const int> tasks) {  // the last ones
    for (std::size_t k = tasks.size(); k-- > 0;) {
      const int t = tasks[k];
      for (const int i : model_.uses[t]) {
        if (left_[at(i)]++ == 0 && !model_.pinned[at(i)]) resident_ += model_.size[at(i)];
      }
      for (const int i : model_.makes[t]) resident_ -= model_.lasts(i) ? model_.size[at(i)] : 0;
      done_[at(t)] = false;
      order_.pop_back();
    }
  }
  bool done(int task) const { return done_[at(task)]; }
  std::int64_t resident() const { return model_.base + resident_; }
  const TaskOrder& order() const { return order_; }

 private:
  const OrderModel& model_;
  std::vector<bool> done_;
  std::vector<int> left_;  // per item: uses to come
  std::int64_t resident_ = 0;
  TaskOrder order_;
};

// The tasks in their order, but for updates: each runs when what it reads is there and it does not lift the
// load above `limit`, at the latest where its last task was.
TaskOrder with_early_updates(const OrderModel& model, const Updates& updates, std::int64_t limit) {
  std::vector<int> missing(updates.count(), 0), members_left(updates.count(), 0);
  std::vector<std::vector<int>> waits_for(at(model.tasks));  // per task: updates
  for (std::size_t u = 0; u < updates.count(); ++u) {
    members_left[u] = static_cast<int>(updates.members(static_cast<int>(u)).size());
    for (const int t : updates.members(static_cast<int>(u))) {
      for (const int b : model.before[t]) {
        if (updates.of(b) == static_cast<int>(u) || updates.is_free(b)) continue;
        ++missing[u];
        waits_for[at(b)].push_back(static_cast<int>(u));
      }
    }
  }
  Playing playing(model);
  std::vector<int> ready;                              // updates
  std::vector<std::int64_t> lift(updates.count(), 0);  // by how much it was too high for what was resident
  const auto note_done = [&](int task) {
    for (const int u : waits_for[at(task)]) {
      if (--missing[at(u)] == 0) ready.push_back(u);
    }
  };
  // What it needs of free tasks, then its own.
  const auto whole = [&](int update) {
    std::vector<int> tasks, needed;
    const auto need = [&](const auto& self, int t) -> void {
      if (playing.done(t) || std::ranges::count(needed, t) > 0) return;
      for (const int b : model.before[t]) self(self, b);
      needed.push_back(t);
    };
    for (const int t : updates.members(update)) {
      for (const int b : model.before[t]) {
        if (updates.is_free(b)) need(need, b);
      }
    }
    tasks = needed;
    tasks.insert(tasks.end(), updates.members(update).begin(), updates.members(update).end());
    return tasks;
  };
  const auto run_update = [&](int update, bool always) {
    const std::int64_t before = playing.resident();
    if (before + lift[at(update)] > limit && !always) return false;
    const std::vector<int> tasks = whole(update);
    const std::int64_t most = playing.run(tasks);
    if (most > limit && !always) {
      playing.take_back(tasks);
      lift[at(update)] = most - before;
      return false;
    }
    for (const int t : tasks) note_done(t);
    return true;
  };
  for (std::size_t u = 0; u < updates.count(); ++u) {
    if (missing[u] == 0) ready.push_back(static_cast<int>(u));
  }
  for (int t = 0; t < model.tasks; ++t) {
    if (const int u = updates.of(t); u >= 0) {
      if (--members_left[at(u)] == 0 && !playing.done(t)) {
        std::erase(ready, u);
        run_update(u, true);
      }
    } else if (!playing.done(t)) {
      playing.run(std::span(&t, 1));
      note_done(t);
    }
    for (std::size_t k = 0; k < ready.size();) {
      const int u = ready[k];
      if (playing.done(updates.members(u).front())) {
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(k));
      } else if (run_update(u, false)) {
        k = 0;  // what it made may be what another waits for
      } else {
        ++k;
      }
    }
  }
  return playing.order();
}

// Results in donated memory count too, though the order's model has no items for them.
std::vector<bool> makes_little(const Draft& draft) {
  std::vector<bool> little;
  for (const Execution& execution : draft.executions) {
    const auto& results = (*draft.graph)[execution.node].results;
    little.push_back(
        std::ranges::all_of(results, [&](ValueId v) { return draft.graph->type(v).bytes() <= small_bytes; }));
  }
  return little;
}

}  // namespace

Draft release(Draft draft) {
  const bool asked = draft.order_is_given || std::ranges::any_of(draft.executions, &Execution::required);
  const std::vector<bool> joins = may_join(draft);
  if (asked || joins.empty()) return draft;
  const OrderModel model = order_model_of(draft);
  const Updates updates(model, joins, makes_little(draft));
  if (updates.count() == 0) return draft;
  TaskOrder given(at(model.tasks));
  std::iota(given.begin(), given.end(), 0);
  const std::int64_t limit = loads_of(model, given).peak;
  const TaskOrder early = with_early_updates(model, updates, limit);
  if (!is_valid_order(model, early) || loads_of(model, early).peak > limit) return draft;
  std::vector<Execution> executions;
  executions.reserve(draft.executions.size());
  for (const int t : early) executions.push_back(std::move(draft.executions[at(t)]));
  draft.executions = std::move(executions);
  return draft;
}

}  // namespace tidemark
