// The units as tasks of a problem of order (solve/order/model.h), for its bound.
#include "tidemark/plan/passes/fuse_state.h"

namespace tidemark {

std::int64_t FuseState::order_bound() const {
  OrderParts parts;
  std::vector<int> task_of(units_.size(), -1), item_number(items_.size(), -1);
  for (int u : at_) {
    if (u >= 0)
      task_of[static_cast<std::size_t>(u)] = static_cast<int>(parts.scratch.size()),
      parts.scratch.push_back(0);
  }
  parts.before.resize(parts.scratch.size());
  parts.uses.resize(parts.scratch.size());
  parts.makes.resize(parts.scratch.size());
  parts.reuses.resize(parts.scratch.size());
  for (int u : at_) {
    if (u < 0) continue;
    const auto t = static_cast<std::size_t>(task_of[static_cast<std::size_t>(u)]);
    std::vector<int> used;
    for (int r : unit(u).runs) {
      parts.scratch[t] += run(r).scratch;
      for (int b : run(r).before) {
        if (unit_of(b) >= 0 && unit_of(b) != u)
          add_once(parts.before[t], task_of[static_cast<std::size_t>(unit_of(b))]);
      }
      for (const Read& read : run(r).reads) {
        const int number = item_number[static_cast<std::size_t>(read.item)];
        if (number < 0 || unit_of(item(read.item).maker) == u) continue;
        add_once(parts.uses[t], number);
        add_once(used, read.item);
      }
    }
    for (int r : unit(u).runs) {
      for (int i : run(r).makes) {
        if (item(i).size == 0 || !life_of(item(i)).counts()) continue;
        const int number = item_number[static_cast<std::size_t>(i)] = static_cast<int>(parts.size.size());
        parts.size.push_back(item(i).size);
        parts.pinned.push_back(item(i).pinned);
        parts.present.push_back(false);
        parts.makes[t].push_back(number);
        // A bound may think more possible than is.
        for (int other : used) {
          if (item(other).size == item(i).size && !wanted_[item(other).root.index])
            parts.reuses[t].push_back({number, item_number[static_cast<std::size_t>(other)]});
        }
      }
    }
  }
  return tidemark::order_bound(make_model(std::move(parts)));
}

}  // namespace tidemark
