// Minimax search over downward-closed sets of tasks. A set's resident bytes do not depend on how it was
// reached, so a set need be opened only once, by the lowest peak that leads to it.
//
// Safe step: a ready task that does not lift the peak so far and leaves no more bytes than before can go at
// once. Whatever runs in between would only let it free more, so moving it to the front never hurts.
#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tidemark/base/check.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

using Set = std::uint64_t;

Set bit(int t) { return Set{1} << t; }

struct Reached {
  std::int64_t peak, resident;
  Set parent;
  int task;
  bool open = true;
};

class ExactSearch {
 public:
  explicit ExactSearch(const OrderModel& model)
      : model_(model), before_(at(model.tasks)), users_(at(model.items)) {
    for (int t = 0; t < model.tasks; ++t) {
      for (int b : model.before[t]) before_[at(t)] |= bit(b);
      for (int i : model.uses[t]) users_[at(i)] |= bit(t);
    }
    all_ = model.tasks == 64 ? ~Set{0} : bit(model.tasks) - 1;
  }

  ExactResult run(std::int64_t floor, std::int64_t limit, int states, Work& work) {
    std::int64_t resident = model_.base;
    for (int i = 0; i < model_.items; ++i) {
      if (model_.present[at(i)]) resident += model_.size[at(i)];
    }
    reached_.reserve(at(std::min(states, 1 << 14)));
    reached_[0] = {.peak = floor, .resident = resident, .parent = 0, .task = -1};
    queue_.push({floor, model_.tasks, 0});
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      Reached& here = reached_[entry.set];
      if (!here.open || here.peak != entry.peak) continue;
      if (entry.set == all_) return {trace(), true};
      here.open = false;
      const Reached from = here;
      if (!work.spend(model_.tasks)) return {};
      expand(entry.set, from, limit);
      if (static_cast<int>(reached_.size()) > states) return {};
    }
    return {{}, true};
  }

 private:
  struct Entry {
    std::int64_t peak;
    int waiting;  // tasks still to run: among equal peaks go deep first
    Set set;
    bool operator<(const Entry& other) const {
      return std::tuple(peak, waiting, set) > std::tuple(other.peak, other.waiting, other.set);
    }
  };

  struct Effect {
    std::int64_t during, change;
  };
  Effect effect(Set done, int t, std::int64_t resident) const {
    const auto dies = [&](int i) { return !model_.pinned[at(i)] && (users_[at(i)] & ~(done | bit(t))) == 0; };
    std::int64_t made = 0, freed = 0;
    for (int i : model_.makes[t]) {
      made += model_.size[at(i)];
      if (!model_.lasts(i)) freed += model_.size[at(i)];
    }
    for (int i : model_.uses[t]) {
      if (dies(i)) freed += model_.size[at(i)];
    }
    return {resident + made + model_.scratch[at(t)] - saved_by_reuse(model_, t, dies), made - freed};
  }

  void expand(Set done, const Reached& from, std::int64_t limit) {
    struct Choice {
      int task;
      Effect effect;
    };
    std::vector<Choice> choices;
    for (int t = 0; t < model_.tasks; ++t) {
      if ((done & bit(t)) || (before_[at(t)] & ~done)) continue;
      const Effect e = effect(done, t, from.resident);
      if (e.during <= from.peak && e.change <= 0) {
        choices.assign(1, {t, e});
        break;
      }
      if (e.during < limit) choices.push_back({t, e});
    }
    for (const Choice& choice : choices) {
      const Set next = done | bit(choice.task);
      const std::int64_t peak = std::max(from.peak, choice.effect.during);
      const auto [it, fresh] = reached_.try_emplace(next, Reached{});
      if (!fresh && (!it->second.open || it->second.peak <= peak)) continue;
      it->second = {.peak = peak,
                    .resident = from.resident + choice.effect.change,
                    .parent = done,
                    .task = choice.task};
      queue_.push({peak, std::popcount(all_ & ~next), next});
    }
  }

  TaskOrder trace() const {
    TaskOrder order;
    for (Set set = all_; set != 0;) {
      const Reached& r = reached_.at(set);
      order.push_back(r.task);
      set = r.parent;
    }
    std::ranges::reverse(order);
    return order;
  }

  const OrderModel& model_;
  std::vector<Set> before_, users_;
  Set all_ = 0;
  std::unordered_map<Set, Reached> reached_;
  std::priority_queue<Entry> queue_;
};

}  // namespace

ExactResult exact_order(const OrderModel& model, std::int64_t floor, std::int64_t limit, int states,
                        Work& work) {
  TM_CHECK(model.tasks <= 64);
  if (model.tasks == 0) return {{}, true};
  return ExactSearch(model).run(floor, limit, states, work);
}

}  // namespace tidemark
