#include <algorithm>
#include <numeric>

#include "tidemark/solve/at.h"
#include "tidemark/solve/order/relation.h"

namespace tidemark {
namespace {

constexpr int probes = 512;  // tasks looked at per part

class PartBound {
 public:
  explicit PartBound(const OrderModel& model) : model_(model), maker_(at(model.items), -1), relation_(model) {
    for (int t = 0; t < model.tasks; ++t) {
      for (int i : model.makes[t]) maker_[at(i)] = t;
    }
  }

  // Bytes alive while `t` runs, in any order: its own, and what is made before it and needed after.
  std::int64_t load(int t) {
    relation_.look_from(t);
    const auto needed_after = [&](int item) {
      return model_.pinned[at(item)] ||
             std::ranges::any_of(model_.users[item], [&](int u) { return relation_[u] == Relation::after; });
    };
    std::int64_t sum = own_load(t, needed_after);
    for (int i = 0; i < model_.items; ++i) {
      const int m = maker_[at(i)];
      const bool there = m < 0 ? model_.present[at(i)] : relation_[m] == Relation::before;
      if (there && std::ranges::count(model_.uses[t], i) == 0 && needed_after(i)) sum += model_.size[at(i)];
    }
    return sum;
  }
  std::int64_t own_load(int t) const {
    return own_load(t, [&](int item) { return model_.pinned[at(item)]; });
  }

 private:
  // Operands, results and scratch, less the most that in-place reuses could save: each result once.
  template <class F>
  std::int64_t own_load(int t, F&& needed_after) const {
    std::int64_t sum = model_.base + model_.scratch[at(t)];
    for (int i : model_.uses[t]) sum += model_.size[at(i)];
    for (int i : model_.makes[t]) sum += model_.size[at(i)];
    int last_made = -1;
    for (const InPlaceReuse& pair : model_.reuses[at(t)]) {
      if (pair.made == last_made || needed_after(pair.used)) continue;
      sum -= model_.size[at(pair.made)];
      last_made = pair.made;
    }
    return sum;
  }

  const OrderModel& model_;
  std::vector<int> maker_;
  TaskRelations relation_;  // to the probe
};

std::int64_t bound_of_part(const OrderModel& model, std::span<const std::int64_t> during) {
  std::int64_t start = model.base, end = model.base, best = 0;
  for (int i = 0; i < model.items; ++i) {
    if (model.present[at(i)]) start += model.size[at(i)];
    if (model.pinned[at(i)]) end += model.size[at(i)];
  }
  // The highest task of every stretch of the given order.
  PartBound part(model);
  for (int t = 0; t < model.tasks; ++t) best = std::max(best, part.own_load(t));
  const int stretch = (model.tasks + probes - 1) / probes;
  for (int first = 0; first < model.tasks; first += stretch) {
    const auto from = during.begin() + first, to = during.begin() + std::min(first + stretch, model.tasks);
    best = std::max(best, part.load(static_cast<int>(std::max_element(from, to) - during.begin())));
  }
  return std::max({start, end, best});
}

}  // namespace

std::int64_t order_bound(const OrderModel& model) {
  std::vector<int> order(at(model.tasks)), item_number(at(model.items), -1);
  std::iota(order.begin(), order.end(), 0);
  const OrderLoads loads = loads_of(model, order);
  std::int64_t bound = 0;
  int first = 0;
  const auto part = [&](int last) {
    if (first >= last) return;
    const OrderModel piece =
        piece_of(model, order, order, first, last, loads.resident[at(first)], item_number);
    bound =
        std::max(bound, bound_of_part(piece, std::span(loads.during).subspan(at(first), at(last - first))));
  };
  for (int cut : cuts_of(model, order)) {
    part(cut);
    bound = std::max(bound, loads.during[at(cut)]);  // the same in every order
    first = cut + 1;
  }
  part(model.tasks);
  return bound;
}

}  // namespace tidemark
