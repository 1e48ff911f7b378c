#include "tidemark/solve/order/model.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/solve/at.h"

namespace tidemark {

IntLists::IntLists(const std::vector<std::vector<int>>& lists) {
  start_.reserve(lists.size() + 1);
  start_.push_back(0);
  for (const auto& list : lists) {
    data_.insert(data_.end(), list.begin(), list.end());
    start_.push_back(data_.size());
  }
}

OrderModel make_model(OrderParts parts) {
  OrderModel model;
  model.tasks = static_cast<int>(parts.makes.size());
  model.items = static_cast<int>(parts.size.size());
  std::vector<std::vector<int>> after(parts.makes.size()), users(parts.size.size());
  for (int t = 0; t < model.tasks; ++t) {
    auto& list = parts.before[at(t)];
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (int p : list) after[at(p)].push_back(t);
    for (int i : parts.uses[at(t)]) users[at(i)].push_back(t);
  }
  model.before = IntLists(parts.before);
  model.after = IntLists(after);
  model.uses = IntLists(parts.uses);
  model.makes = IntLists(parts.makes);
  model.users = IntLists(users);
  model.scratch = std::move(parts.scratch);
  model.reuses = std::move(parts.reuses);
  model.size = std::move(parts.size);
  model.pinned = std::move(parts.pinned);
  model.present = std::move(parts.present);
  model.base = parts.base;
  return model;
}

OrderLoads loads_of(const OrderModel& model, std::span<const int> order) {
  OrderLoads loads;
  loads.during.reserve(order.size());
  loads.resident.reserve(order.size());
  std::vector<int> left(at(model.items));
  std::int64_t resident = model.base;
  for (int i = 0; i < model.items; ++i) {
    left[at(i)] = static_cast<int>(model.users[i].size());
    if (model.present[at(i)]) resident += model.size[at(i)];
  }
  const auto dies = [&](int i) { return left[at(i)] == 0 && !model.pinned[at(i)]; };
  for (int t : order) {
    loads.resident.push_back(resident);
    for (int i : model.uses[t]) --left[at(i)];
    for (int i : model.makes[t]) resident += model.size[at(i)];
    loads.during.push_back(resident - saved_by_reuse(model, t, dies) + model.scratch[at(t)]);
    loads.peak = std::max(loads.peak, loads.during.back());
    for (int i : model.uses[t]) {
      if (dies(i)) resident -= model.size[at(i)];
    }
    for (int i : model.makes[t]) {
      if (!model.lasts(i)) resident -= model.size[at(i)];
    }
  }
  return loads;
}

bool is_valid_order(const OrderModel& model, std::span<const int> order) {
  if (order.size() != at(model.tasks)) return false;
  std::vector<bool> done(order.size(), false);
  for (int t : order) {
    if (t < 0 || t >= model.tasks || done[at(t)]) return false;
    for (int p : model.before[t]) {
      if (!done[at(p)]) return false;
    }
    done[at(t)] = true;
  }
  return true;
}

std::vector<int> cuts_of(const OrderModel& model, std::span<const int> order) {
  const int n = static_cast<int>(order.size());
  std::vector<int> position(order.size());
  for (int p = 0; p < n; ++p) position[at(order[at(p)])] = p;
  // Sole sink of what is before it: everyone earlier has a successor no later than it. Sole source likewise.
  std::vector<int> first_after(order.size(), n), last_before(order.size(), -1);
  for (int t = 0; t < n; ++t) {
    for (int s : model.after[t]) {
      first_after[at(position[at(t)])] = std::min(first_after[at(position[at(t)])], position[at(s)]);
      last_before[at(position[at(s)])] = std::max(last_before[at(position[at(s)])], position[at(t)]);
    }
  }
  std::vector<int> need(order.size() + 1, n);  // over tasks after p: the earliest "latest predecessor"
  for (int p = n - 1; p >= 0; --p) need[at(p)] = std::min(need[at(p) + 1], last_before[at(p)]);
  std::vector<int> cuts;
  int reach = 0;
  for (int p = 0; p < n; ++p) {
    if (reach <= p && need[at(p) + 1] >= p) cuts.push_back(p);
    reach = std::max(reach, first_after[at(p)]);
  }
  return cuts;
}

OrderModel piece_of(const OrderModel& model, std::span<const int> order, std::span<const int> position,
                    int first, int last, std::int64_t resident_before, std::vector<int>& item_number) {
  OrderParts parts;
  parts.base = resident_before;
  std::vector<int> numbered;
  const auto number = [&](int item, bool present) {
    int& n = item_number[at(item)];
    if (n >= 0) return n;
    n = static_cast<int>(parts.size.size());
    numbered.push_back(item);
    bool survives = model.pinned[at(item)];
    for (int user : model.users[item]) survives |= position[at(user)] >= last;
    parts.size.push_back(model.size[at(item)]);
    parts.pinned.push_back(survives);
    parts.present.push_back(present);
    if (present) parts.base -= model.size[at(item)];
    return n;
  };
  for (int p = first; p < last; ++p) {
    const int t = order[at(p)];
    auto& before = parts.before.emplace_back();
    for (int b : model.before[t]) {
      if (position[at(b)] >= first) before.push_back(position[at(b)] - first);
    }
    auto& makes = parts.makes.emplace_back();
    for (int i : model.makes[t]) makes.push_back(number(i, false));
    auto& uses = parts.uses.emplace_back();
    for (int i : model.uses[t]) uses.push_back(number(i, true));
    parts.scratch.push_back(model.scratch[at(t)]);
    auto& pairs = parts.reuses.emplace_back();
    for (const InPlaceReuse& pair : model.reuses[at(t)]) {
      pairs.push_back({item_number[at(pair.made)], item_number[at(pair.used)]});
    }
  }
  for (int item : numbered) item_number[at(item)] = -1;
  return make_model(std::move(parts));
}

}  // namespace tidemark
