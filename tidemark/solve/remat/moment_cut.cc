#include "tidemark/solve/remat/moment_cut.h"

#include <algorithm>

#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

// The cost of all tasks, in whole numbers: fine enough for tasks of a millionth of it.
constexpr double all_tasks = 1e11;
constexpr double dear = 100;  // in costs of all tasks: no item counts for more, so that sums fit into 64 bits

// What a task leaves of the budget. Its operands are there while it runs, and so `free` to keep; but one that
// it may overwrite only if it does not. What that saves is bounded by the operands that die and by one
// operand per result: both are true, and the smaller one is taken.
std::int64_t room_beside(const RematProblem& problem, int task, std::vector<bool>& free) {
  const OrderModel& model = problem.model;
  std::int64_t own = model.base + model.scratch[at(task)], dying = 0, taken = 0;
  for (int i : model.uses[task]) {
    own += model.size[at(i)];
    free[at(i)] = true;
  }
  for (int i : model.makes[task]) {
    own += model.size[at(i)];
    std::int64_t largest = 0;
    for (const InPlaceReuse& pair : model.reuses[at(task)]) {
      if (pair.made == i) largest = std::max(largest, model.size[at(pair.used)]);
    }
    taken += largest;
  }
  std::vector<int> takeable;
  for (const InPlaceReuse& pair : model.reuses[at(task)]) {
    if (std::ranges::count(takeable, pair.used) == 0) takeable.push_back(pair.used);
  }
  for (int i : takeable) dying += model.size[at(i)];
  if (dying <= taken) {
    for (int i : takeable) free[at(i)] = false;
  }
  return problem.budget - own + std::min(dying, taken);
}

}  // namespace

MomentCut::MomentCut(const RematProblem& problem, const Moment& moment)
    : tasks_(problem.model.tasks),
      unit_(all_tasks / std::max(problem.base_cost(), std::numeric_limits<double>::min())),
      network_(2 + problem.model.tasks + problem.model.items) {
  for (int t = 0; t < tasks_; ++t) {
    if (moment.again[at(t)] == Moment::never) continue;
    const auto cost = static_cast<std::int64_t>(moment.again[at(t)] * unit_);
    if (cost > 0) network_.add_edge(node_of_task(t), sink, cost);
    for (int i : problem.model.uses[t]) {
      if (!moment.given[at(i)]) network_.add_edge(node_of_task(t), node_of_item(i), FlowNetwork::endless);
    }
  }
  std::vector<bool> free(at(problem.model.items), false);
  room_ = room_beside(problem, moment.task, free);
  add_items(problem.model, moment, free);
}

void MomentCut::add_items(const OrderModel& model, const Moment& moment, const std::vector<bool>& free) {
  std::vector<int> maker(at(model.items), -1);
  for (int t = 0; t < tasks_; ++t) {
    for (int i : model.makes[t]) maker[at(i)] = t;
  }
  over_ = -room_;
  for (int i = 0; i < model.items; ++i) {
    if (moment.given[at(i)]) continue;
    if (moment.needed[at(i)]) network_.add_edge(source, node_of_item(i), FlowNetwork::endless);
    if (free[at(i)]) continue;
    const int m = maker[at(i)];
    const int node = m >= 0 && moment.again[at(m)] < Moment::never ? node_of_task(m) : sink;
    items_.push_back({.edge = network_.add_edge(node_of_item(i), node, 0),
                      .node = node_of_item(i),
                      .maker = node,
                      .bytes = model.size[at(i)],
                      .task = m});
    if (moment.needed[at(i)]) over_ += model.size[at(i)];
  }
}

// Any flow is a bound, whether its run came to an end or not; and so are capacities that were rounded down.
void MomentCut::choose(double price, std::int64_t& visits, std::span<const double> weights) {
  for (const Item& item : items_) {
    const double weight = weights.empty() || item.task < 0 ? 1 : weights[at(item.task)];
    const double worth = price * weight * static_cast<double>(item.bytes);
    network_.set_capacity(item.edge, static_cast<std::int64_t>(std::min(worth * unit_, dear * all_tasks)));
  }
  const std::int64_t flow = network_.run(source, sink, visits);
  value_ = static_cast<double>(flow) / unit_ - price * static_cast<double>(room_);
  excess_ = -room_;
  for (const Item& item : items_) {
    const bool made = item.maker != sink && network_.is_taken(item.maker);
    if (network_.is_taken(item.node) && !made) excess_ += item.bytes;
  }
}

// The bound is concave in the price, and its slope is the excess. From a price that is too low and one that
// is too high, the next is where their tangents meet (Eisner & Severance 1976).
MomentCut::Bound MomentCut::bound(double price, std::int64_t& visits) {
  constexpr int most_prices = 30;
  constexpr double first_part = 0.1;  // of the cost of all tasks, for all that is too much: to begin with
  constexpr double factor = 4;        // to find a price that is too high
  constexpr double close = 1e-3;      // what could be gained, as a share
  constexpr double rounding = 1e-9;
  struct Point {
    double price = 0, value = 0, slope = 0;
  };
  Bound best;
  if (over_ <= 0) return best;
  Point low{.slope = static_cast<double>(over_)}, high;
  if (price <= 0) price = first_part * all_tasks / unit_ / static_cast<double>(over_);
  for (int k = 0; k < most_prices && visits > 0; ++k) {
    choose(price, visits);
    if (value_ > best.cost) best = {.cost = value_, .price = price};
    if (excess_ == 0) break;
    (excess_ > 0 ? low : high) = {.price = price, .value = value_, .slope = static_cast<double>(excess_)};
    if (high.price > 0) {
      const double rise = high.value - low.value + low.price * low.slope - high.price * high.slope;
      price = rise / (low.slope - high.slope);
      const double hope = low.value + (price - low.price) * low.slope;
      if (!(hope > best.cost * (1 + close)) || price <= low.price || price >= high.price) break;
    } else {
      price *= factor;
      if (best.cost * unit_ > dear * all_tasks) break;
    }
  }
  best.cost *= 1 - rounding;
  return best;
}

}  // namespace tidemark
