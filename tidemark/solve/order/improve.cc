// Local search at the peak. Moving tasks changes the loads only between the old and the new place, so every
// trial is judged on that range alone: first by its highest load, then by the sum of its loads.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "tidemark/solve/at.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

constexpr int largest_group = 40;  // tasks moved together
constexpr int items_tried = 48;    // per peak, largest first
constexpr int window_sizes[] = {12, 24, 48};
constexpr int window_states = 1500;

struct Score {
  std::int64_t peak = 0;
  double area = 0;
  friend bool operator<(const Score& a, const Score& b) {
    return a.peak != b.peak ? a.peak < b.peak : a.area < b.area;
  }
};

class Improver {
 public:
  Improver(const OrderModel& model, TaskOrder& order, std::int64_t goal, Work& work)
      : model_(model),
        order_(order),
        goal_(goal),
        work_(work),
        position_(order.size()),
        maker_(at(model.items), -1),
        last_(at(model.items), -1),
        trial_last_(at(model.items), -1),
        item_number_(at(model.items), -1),
        mark_(order.size(), 0) {
    const OrderLoads loads = loads_of(model, order);
    during_ = loads.during;
    resident_ = loads.resident;
    for (int t = 0; t < model.tasks; ++t) {
      for (int i : model.makes[t]) maker_[at(i)] = t;
    }
    refresh(0, model.tasks);
  }

  void run() {
    while (work_.spend(model_.tasks)) {
      const auto top = std::ranges::max_element(during_);
      if (top == during_.end() || *top <= goal_) return;
      if (!improve_at(static_cast<int>(top - during_.begin()))) return;
    }
  }

 private:
  void refresh(int first, int last) {
    for (int p = first; p < last; ++p) position_[at(order_[at(p)])] = p;
    for (int p = first; p < last; ++p) {
      for (int i : model_.uses[order_[at(p)]]) {
        int latest = -1;
        if (last_[at(i)] >= last) continue;
        for (int u : model_.users[i]) latest = std::max(latest, position_[at(u)]);
        last_[at(i)] = latest;
      }
    }
  }

  Score score(int first, int last) const {
    Score s;
    for (int p = first; p < last; ++p) {
      s.peak = std::max(s.peak, during_[at(p)]);
      s.area += static_cast<double>(during_[at(p)]);
    }
    return s;
  }

  // Loads if the tasks from position `first` on were `sequence`; nothing if the peak would pass `limit`.
  std::optional<Score> simulate(int first, std::span<const int> sequence, std::int64_t limit) {
    const int end = first + static_cast<int>(sequence.size());
    work_.spend(static_cast<std::int64_t>(sequence.size()));
    for (std::size_t k = 0; k < sequence.size(); ++k) {
      for (int i : model_.uses[sequence[k]]) trial_last_[at(i)] = static_cast<int>(k);
    }
    Score s;
    std::int64_t resident = resident_[at(first)];
    trial_during_.clear();
    trial_resident_.clear();
    for (std::size_t k = 0; k < sequence.size(); ++k) {
      const int t = sequence[k];
      const auto dies = [&](int i) {
        return !model_.pinned[at(i)] && last_[at(i)] < end && trial_last_[at(i)] == static_cast<int>(k);
      };
      trial_resident_.push_back(resident);
      for (int i : model_.makes[t]) resident += model_.size[at(i)];
      const std::int64_t during = resident + model_.scratch[at(t)] - saved_by_reuse(model_, t, dies);
      if (during > limit) return std::nullopt;
      trial_during_.push_back(during);
      s.peak = std::max(s.peak, during);
      s.area += static_cast<double>(during);
      for (int i : model_.uses[t]) {
        if (dies(i)) resident -= model_.size[at(i)];
      }
      for (int i : model_.makes[t]) {
        if (!model_.lasts(i)) resident -= model_.size[at(i)];
      }
    }
    return s;
  }

  void accept(int first, std::span<const int> sequence) {
    simulate(first, sequence, std::numeric_limits<std::int64_t>::max());
    std::ranges::copy(sequence, order_.begin() + first);
    std::ranges::copy(trial_during_, during_.begin() + first);
    std::ranges::copy(trial_resident_, resident_.begin() + first);
    // Users beyond the range keep an item's last use where it is; the others are looked up again.
    for (int t : sequence) {
      for (int i : model_.uses[t]) {
        if (last_[at(i)] < first + static_cast<int>(sequence.size())) last_[at(i)] = -1;
      }
    }
    refresh(first, first + static_cast<int>(sequence.size()));
  }

  // Takes the first move that lowers the range's peak, or else the one that lowers its area most.
  bool improve_at(int p) {
    best_first_ = -1;
    const auto tried = [&](int first, int last) {  // sequence_ stands for [first, last)
      const Score old = score(first, last);
      const auto now = simulate(first, sequence_, old.peak);
      if (!now || !(*now < old)) return false;
      if (now->peak < old.peak) {
        accept(first, sequence_);
        return true;
      }
      if (best_first_ < 0 || old.area - now->area > best_gain_) {
        best_first_ = first, best_gain_ = old.area - now->area, best_sequence_ = sequence_;
      }
      return false;
    };

    std::vector<int> items;
    for (int i = 0; i < model_.items; ++i) {
      const int made = maker_[at(i)] < 0 ? -1 : position_[at(maker_[at(i)])];
      if (made <= p && (last_[at(i)] >= p || model_.pinned[at(i)])) items.push_back(i);
    }
    std::ranges::stable_sort(items, std::greater(), [&](int i) { return model_.size[at(i)]; });
    if (items.size() > items_tried) items.resize(items_tried);
    for (int i : items) {
      if (work_.left <= 0) return false;
      if (advance_users(i, p, tried) || delay_maker(i, p, tried)) return true;
    }
    for (int size : window_sizes) {
      if (work_.left <= 0) return false;
      if (reorder_window(p, size)) return true;
    }
    if (best_first_ < 0) return false;
    accept(best_first_, best_sequence_);
    return true;
  }

  // The item's users after p, and what they wait for, go right before p, or as early as they can.
  template <class F>
  bool advance_users(int item, int p, F&& tried) {
    if (model_.pinned[at(item)]) return false;
    group_.clear();
    ++stamp_;
    for (int u : model_.users[item]) {
      if (position_[at(u)] > p && !gather_before(u, p)) return false;
    }
    if (group_.empty()) return false;
    std::ranges::sort(group_, {}, [&](int t) { return position_[at(t)]; });
    const int last = position_[at(group_.back())] + 1;
    int earliest = 0;
    for (int t : group_) {
      for (int b : model_.before[t]) {
        if (mark_[at(b)] != stamp_) earliest = std::max(earliest, position_[at(b)] + 1);
      }
    }
    for (int first : {p, earliest}) {
      sequence_ = group_;
      for (int q = first; q < last; ++q) {
        if (mark_[at(order_[at(q)])] != stamp_) sequence_.push_back(order_[at(q)]);
      }
      if (tried(first, last)) return true;
      if (earliest >= p) break;
    }
    return false;
  }
  // Adds t and its predecessors after p to the group; false if p itself is among them or they are too many.
  bool gather_before(int t, int p) {
    if (mark_[at(t)] == stamp_) return true;
    if (position_[at(t)] == p || static_cast<int>(group_.size()) >= largest_group) return false;
    mark_[at(t)] = stamp_;
    group_.push_back(t);
    for (int b : model_.before[t]) {
      if (position_[at(b)] >= p && !gather_before(b, p)) return false;
    }
    return true;
  }

  // The item's maker, and what waits for it up to p, goes after p: at once, or right before it is needed.
  template <class F>
  bool delay_maker(int item, int p, F&& tried) {
    if (maker_[at(item)] < 0) return false;
    group_.clear();
    ++stamp_;
    if (!gather_after(maker_[at(item)], p)) return false;
    std::ranges::sort(group_, {}, [&](int t) { return position_[at(t)]; });
    const int first = position_[at(group_.front())];
    int latest = model_.tasks;
    for (int t : group_) {
      for (int s : model_.after[t]) {
        if (mark_[at(s)] != stamp_) latest = std::min(latest, position_[at(s)]);
      }
    }
    for (int last : {latest, p + 1}) {
      sequence_.clear();
      for (int q = first; q < last; ++q) {
        if (mark_[at(order_[at(q)])] != stamp_) sequence_.push_back(order_[at(q)]);
      }
      sequence_.insert(sequence_.end(), group_.begin(), group_.end());
      if (last > p && tried(first, last)) return true;
      if (latest <= p + 1) break;
    }
    return false;
  }
  bool gather_after(int t, int p) {
    if (mark_[at(t)] == stamp_) return true;
    // The task at p may move too, but only as the whole group.
    if (static_cast<int>(group_.size()) >= largest_group) return false;
    mark_[at(t)] = stamp_;
    group_.push_back(t);
    for (int s : model_.after[t]) {
      if (position_[at(s)] <= p && !gather_after(s, p)) return false;
    }
    return true;
  }

  bool reorder_window(int p, int size) {
    const int first = std::max(0, std::min(p - size / 2, model_.tasks - size));
    const int last = std::min(model_.tasks, first + size);
    const std::int64_t limit = score(first, last).peak;
    const OrderModel piece =
        piece_of(model_, order_, position_, first, last, resident_[at(first)], item_number_);
    work_.spend(last - first);
    const ExactResult found = exact_order(piece, goal_, limit, window_states, work_);
    if (found.order.empty()) return false;
    sequence_.clear();
    for (int t : found.order) sequence_.push_back(order_[at(first + t)]);
    accept(first, sequence_);
    return true;
  }

  const OrderModel& model_;
  TaskOrder& order_;
  const std::int64_t goal_;
  Work& work_;
  std::vector<int> position_, maker_,
      last_;  // per task; per item: its maker and the position of its last user
  std::vector<int> trial_last_, item_number_, mark_;
  std::vector<std::int64_t> during_, resident_, trial_during_, trial_resident_;
  std::vector<int> group_, sequence_, best_sequence_;
  int stamp_ = 0, best_first_ = -1;
  double best_gain_ = 0;
};

}  // namespace

void improve_order(const OrderModel& model, TaskOrder& order, std::int64_t goal, Work& work) {
  Improver(model, order, goal, work).run();
}

}  // namespace tidemark
