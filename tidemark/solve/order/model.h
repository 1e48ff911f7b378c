// What the search for an order sees: tasks (nodes that run), items (stretches of the arena they make and
// use), and nothing of tensors. Two facts make the search quick:
//
//   * what is resident after a set of tasks has run depends on the set alone, not on the order within it, so
//   a stretch
//     of an order can be improved as a problem of its own (`piece_of`);
//   * a task that is the only one comparable with all others splits the problem in two (`cuts_of`).
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tidemark {

// Lists of ints, one after the other.
class IntLists {
 public:
  IntLists() = default;
  explicit IntLists(const std::vector<std::vector<int>>& lists);
  std::span<const int> operator[](int i) const {
    const auto k = static_cast<std::size_t>(i);
    return {data_.data() + start_[k], data_.data() + start_[k + 1]};
  }

 private:
  std::vector<std::size_t> start_;
  std::vector<int> data_;
};

struct InPlaceReuse {
  int made, used;  // items: the first may be written over the second if the second dies in that step
};

struct OrderModel {
  int tasks = 0, items = 0;
  IntLists before, after;                         // per task: must have run, are waiting; each once
  IntLists uses, makes;                           // per task: items; each once
  IntLists users;                                 // per item: tasks
  std::vector<std::int64_t> scratch;              // per task, bytes
  std::vector<std::vector<InPlaceReuse>> reuses;  // per task, in order of preference
  std::vector<std::int64_t> size;                 // per item, bytes
  std::vector<bool> pinned;                       // per item: alive to the end
  std::vector<bool> present;  // per item: alive from the start (of a piece), made by no task
  std::int64_t base = 0;      // bytes alive throughout, beside the items

  bool lasts(int item) const { return pinned[static_cast<std::size_t>(item)] || !users[item].empty(); }
};

// Bytes that in-place reuses save while `task` runs: pairs in order of preference, each result and operand at
// most once, the operand dying (`dies(item)`) in this step. The in_place pass decides the same way.
template <class Dies>
std::int64_t saved_by_reuse(const OrderModel& model, int task, Dies&& dies) {
  std::array<InPlaceReuse, 64> accepted;
  std::size_t count = 0;
  std::int64_t saved = 0;
  for (const InPlaceReuse& pair : model.reuses[static_cast<std::size_t>(task)]) {
    if (!dies(pair.used) || count == accepted.size()) continue;
    const auto gone = [&](const InPlaceReuse& other) {
      return other.used == pair.used || other.made == pair.made;
    };
    if (std::any_of(accepted.begin(), accepted.begin() + count, gone)) continue;
    accepted[count++] = pair;
    saved += model.size[static_cast<std::size_t>(pair.used)];
  }
  return saved;
}

// The parts of a model, while it is being put together.
struct OrderParts {
  std::vector<std::vector<int>> before, uses, makes;
  std::vector<std::int64_t> scratch, size;
  std::vector<std::vector<InPlaceReuse>> reuses;
  std::vector<bool> pinned, present;
  std::int64_t base = 0;
};
OrderModel make_model(OrderParts parts);

// Bytes alive while each task runs, and before.
struct OrderLoads {
  std::vector<std::int64_t> during, resident;
  std::int64_t peak = 0;
};
OrderLoads loads_of(const OrderModel& model, std::span<const int> order);
bool is_valid_order(const OrderModel& model, std::span<const int> order);

// Positions in `order` whose task is before or after every other task. The tasks between two cuts can be
// ordered on their own.
std::vector<int> cuts_of(const OrderModel& model, std::span<const int> order);

// The tasks order[first, last) as a model of their own, numbered from 0 in that order, everything earlier
// being done. `position` is the inverse of `order`; `item_number` is room for one int per item, all -1 before
// and after.
OrderModel piece_of(const OrderModel& model, std::span<const int> order, std::span<const int> position,
                    int first, int last, std::int64_t resident_before, std::vector<int>& item_number);

// No order has a lower peak (order_bound.cc). Exact at cuts; elsewhere it counts what must be alive at a task
// because it is made before and used after it in every order, for a few hundred tasks of each part between
// cuts.
std::int64_t order_bound(const OrderModel& model);

}  // namespace tidemark
