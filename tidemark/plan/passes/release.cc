// Release: updates of donated memory run as soon as what they read is there. The order keeps the peak low,
// and below the peak nothing tells one order from another: all gradients might wait for updates at the end.
// And the order counts runs by themselves, whose updates take memory for their parts; in kernels they do not,
// and then the peak can be where gradients wait. What moves is an update as a whole (updates.h).
#include <algorithm>
#include <numeric>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/plan/passes/updates.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

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

// How far updates may change the order that was given.
enum class Moves {
  // The tasks of an update that cannot run early go to the last of them: they are one kernel, mostly, and
  // what they make in between takes memory. Rates run when the first update asks for them.
  freely,
  // They stay; rates run when they are asked for.
  with_rates,
  // All of them stay, and so do rates: no run comes later than it was, and no load can rise.
  only_earlier,
};

// The tasks in their order, but for updates: each runs when what it reads is there and it does not lift the
// load above `limit`.
class EarlyUpdates {
 public:
  EarlyUpdates(const OrderModel& model, const Updates& updates, std::int64_t limit, Moves moves)
      : model_(model),
        updates_(updates),
        limit_(limit),
        moves_(moves),
        playing_(model),
        missing_(updates.count(), 0),
        left_(updates.count(), 0),
        lift_(updates.count(), 0),
        waits_for_(at(model.tasks)) {
    for (int u = 0; u < static_cast<int>(updates.count()); ++u) {
      left_[at(u)] = static_cast<int>(updates.members(u).size());
      for (const int t : updates.members(u)) {
        for (const int b : model.before[t]) {
          if (updates.of(b) == u || comes_when_asked(b)) continue;
          ++missing_[at(u)];
          waits_for_[at(b)].push_back(u);
        }
      }
      if (missing_[at(u)] == 0) ready_.push_back(u);
    }
  }

  TaskOrder order() {
    std::vector<int> to_come = left_;  // per update: its tasks in the given order
    for (int t = 0; t < model_.tasks; ++t) {
      const int u = updates_.of(t);
      if (u >= 0 && moves_ == Moves::freely) {
        if (--to_come[at(u)] == 0 && left_[at(u)] > 0) run_update(u, true);
      } else if (!playing_.done(t)) {
        playing_.run(std::span(&t, 1));
        note_done(t);
      }
      run_what_is_ready();
    }
    return playing_.order();
  }

 private:
  bool comes_when_asked(int task) const { return moves_ != Moves::only_earlier && updates_.is_free(task); }
  void note_done(int task) {
    if (const int u = updates_.of(task); u >= 0) --left_[at(u)];
    for (const int u : waits_for_[at(task)]) {
      if (--missing_[at(u)] == 0) ready_.push_back(u);
    }
  }
  void run_what_is_ready() {
    for (std::size_t k = 0; k < ready_.size();) {
      const int u = ready_[k];
      if (left_[at(u)] == 0) {
        ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(k));
      } else if (run_update(u, false)) {
        k = 0;  // what it made may be what another waits for
      } else {
        ++k;
      }
    }
  }
  // The rates it asks for, then its own tasks that have not run.
  enum class Order { graph, given };
  std::vector<int> whole(int update, Order order) const {
    std::vector<int> tasks;
    const auto need = [&](const auto& self, int t) -> void {
      if (playing_.done(t) || std::ranges::count(tasks, t) > 0) return;
      for (const int b : model_.before[t]) self(self, b);
      tasks.push_back(t);
    };
    for (const int t : updates_.members(update)) {
      for (const int b : model_.before[t]) {
        if (comes_when_asked(b)) need(need, b);
      }
    }
    const auto rates = static_cast<std::ptrdiff_t>(tasks.size());
    std::ranges::copy_if(updates_.members(update), std::back_inserter(tasks),
                         [&](int t) { return !playing_.done(t); });
    if (order == Order::given) std::sort(tasks.begin() + rates, tasks.end());
    return tasks;
  }
  bool run_update(int update, bool always) {
    const std::int64_t before = playing_.resident();
    if (before + lift_[at(update)] > limit_ && !always) return false;
    std::int64_t lowest = 0;
    std::vector<int> best;
    for (const Order order : {Order::graph, Order::given}) {
      std::vector<int> tasks = whole(update, order);
      const std::int64_t most = playing_.run(tasks);
      if (most <= limit_) {
        for (const int t : tasks) note_done(t);
        return true;
      }
      playing_.take_back(tasks);
      if (best.empty() || most < lowest) lowest = most, best = std::move(tasks);
    }
    lift_[at(update)] = lowest - before;
    if (!always) return false;
    playing_.run(best);
    for (const int t : best) note_done(t);
    return true;
  }

  const OrderModel& model_;
  const Updates& updates_;
  const std::int64_t limit_;
  const Moves moves_;
  Playing playing_;
  std::vector<int> missing_, left_;          // per update: tasks that it waits for; its own that have not run
  std::vector<std::int64_t> lift_;           // by how much it was too high for what was resident
  std::vector<std::vector<int>> waits_for_;  // per task: updates
  std::vector<int> ready_;                   // updates
};

// Updates before the peak keep rates alive at it that were made behind it. They may lift it by what they
// take, some hundred bytes, where that is next to nothing and within the budget: else all gradients would
// wait.
std::int64_t room_for_rates(const Draft& draft, const OrderModel& model, const Updates& updates,
                            std::int64_t peak) {
  constexpr std::int64_t next_to_nothing = 1 << 16;  // a part of the peak
  std::int64_t bytes = 0;
  for (int t = 0; t < model.tasks; ++t) {
    if (!updates.is_free(t)) continue;
    for (const int i : model.makes[t]) bytes += model.size[at(i)];
  }
  bytes = std::min(bytes, peak / next_to_nothing);
  if (draft.arena_budget >= 0) bytes = std::min(bytes, std::max<std::int64_t>(0, draft.arena_budget - peak));
  return bytes;
}

}  // namespace

Draft release(Draft draft) {
  const bool asked = draft.order_is_given || std::ranges::any_of(draft.executions, &Execution::required);
  const std::vector<bool> joins = may_join(draft);
  if (asked || joins.empty()) return draft;
  const OrderModel model = order_model_of(draft);
  const Updates updates(draft, model, joins);
  if (updates.count() == 0) return draft;
  TaskOrder given(at(model.tasks));
  std::iota(given.begin(), given.end(), 0);
  const std::int64_t peak = loads_of(model, given).peak;
  const std::int64_t lifted = peak + room_for_rates(draft, model, updates, peak);
  const bool within_budget = draft.arena_budget >= 0;
  for (const auto& [moves, limit] :
       {std::pair(Moves::freely, peak), std::pair(Moves::freely, lifted),
        std::pair(Moves::with_rates, lifted), std::pair(Moves::only_earlier, peak)}) {
    // Rates in the midst of what runs again stand in the way of searches that go on from here.
    if (within_budget && moves == Moves::with_rates) continue;
    const TaskOrder early = EarlyUpdates(model, updates, limit, moves).order();
    if (!is_valid_order(model, early) || loads_of(model, early).peak > limit) continue;
    std::vector<Execution> executions;
    executions.reserve(draft.executions.size());
    for (const int t : early) executions.push_back(std::move(draft.executions[at(t)]));
    draft.executions = std::move(executions);
    break;
  }
  return draft;
}

}  // namespace tidemark
