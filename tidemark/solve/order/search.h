// The searches behind the order pass. All are deterministic: effort is counted in task visits, never in
// seconds.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/solve/order/model.h"
#include "tidemark/solve/work.h"

namespace tidemark {

using TaskOrder = std::vector<int>;

// Best-first search over sets of tasks (SERENITY, MLSys 2020, with safe steps taken at once), for up to 64
// tasks: an order with a peak below `limit` that no other beats; peaks up to `floor` count as equal. Empty:
// there is none below the limit, or `states` sets were not enough to tell (then `complete` is false).
struct ExactResult {
  TaskOrder order;
  bool complete = false;
};
ExactResult exact_order(const OrderModel& model, std::int64_t floor, std::int64_t limit, int states,
                        Work& work);

// One list schedule. Runs first whatever gives memory back, looking a few tasks ahead; else goes on by
// priority.
struct GreedyOptions {
  std::span<const int> priority = {};  // per task: smaller first; the base order
  double noise = 0;                    // 0: by priority alone; else mixes in size, at random
  std::uint64_t seed = 0;
  int look_ahead = 24;
  std::int64_t target = 0;  // releases that would lift the peak above this wait
};
TaskOrder greedy_order(const OrderModel& model, const GreedyOptions& options, Work& work);
// The same from the end: every task as late as its successors allow, what makes much first.
TaskOrder backward_greedy_order(const OrderModel& model, std::span<const int> priority, double noise,
                                std::uint64_t seed, Work& work);

// Moves at the peak until none helps, `goal` is reached or the work is spent: groups of tasks past the peak,
// either way, and exact reordering of windows around it.
void improve_order(const OrderModel& model, TaskOrder& order, std::int64_t goal, Work& work);

// All of the above on the parts between cuts; never worse than the model's own numbering.
TaskOrder best_order(const OrderModel& model, std::int64_t goal, Work& work);

}  // namespace tidemark
