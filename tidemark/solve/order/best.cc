#include <algorithm>
#include <numeric>

#include "tidemark/base/check.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/order/search.h"

namespace tidemark {
namespace {

constexpr int exact_tasks = 64;  // parts up to this size are tried exactly first
constexpr int exact_states = 20'000;

std::vector<int> ranks(const TaskOrder& order) {
  std::vector<int> rank(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) rank[at(order[p])] = static_cast<int>(p);
  return rank;
}

// The model's own order, but what waits for nothing comes right before its first use.
TaskOrder lazy_order(const OrderModel& model) {
  std::vector<int> first(at(model.tasks));
  for (int t = model.tasks - 1; t >= 0; --t) {
    int earliest = model.tasks;
    for (int s : model.after[t]) earliest = std::min(earliest, first[at(s)]);
    const bool source = model.before[t].empty() && earliest < model.tasks;
    first[at(t)] = source ? earliest : t;
  }
  TaskOrder order(at(model.tasks));
  std::iota(order.begin(), order.end(), 0);
  // A source shares its rank with the reader and goes before it.
  std::ranges::stable_sort(order, {},
                           [&](int t) { return std::pair(first[at(t)], model.before[t].empty() ? 0 : 1); });
  return order;
}

TaskOrder order_of_part(const OrderModel& model, std::int64_t goal, Work& work) {
  TaskOrder best(at(model.tasks));
  std::iota(best.begin(), best.end(), 0);
  std::int64_t best_peak = loads_of(model, best).peak;
  work.spend(model.tasks);
  goal = std::max(goal, order_bound(model));
  if (model.tasks <= 1 || best_peak <= goal) return best;

  if (model.tasks <= exact_tasks) {
    Work half{work.left / 2, work.control};
    work.left -= half.left;
    const ExactResult exact = exact_order(model, goal, best_peak, exact_states, half);
    work.left += half.left;
    if (!exact.order.empty()) return exact.order;
    if (exact.complete) return best;
  }

  const auto offer = [&](TaskOrder order) {
    const std::int64_t peak = loads_of(model, order).peak;
    work.spend(model.tasks);
    if (peak < best_peak) best = std::move(order), best_peak = peak;
    return best_peak <= goal;
  };
  const std::vector<int> lazy = ranks(lazy_order(model));
  if (offer(lazy_order(model))) return best;
  const std::vector<int> late = ranks(backward_greedy_order(model, lazy, 0, 0, work));
  for (const std::vector<int>& priority : {lazy, late}) {
    for (int look_ahead : {24, 6, 0}) {
      if (offer(greedy_order(model, {.priority = priority, .look_ahead = look_ahead}, work))) return best;
    }
    if (offer(greedy_order(model, {.priority = priority, .target = best_peak}, work))) return best;
  }
  if (offer(backward_greedy_order(model, lazy, 0, 0, work))) return best;

  // Half of the work goes into the best start, the rest into starts with noise around it, each improved in
  // turn.
  Work share{work.left / 2, work.control};
  work.left -= share.left;
  improve_order(model, best, goal, share);
  work.left += share.left;
  best_peak = loads_of(model, best).peak;
  constexpr int most_starts = 64;
  for (int start = 1; start <= most_starts && best_peak > goal && work.left > 0; ++start) {
    const std::vector<int> around = start % 2 ? ranks(best) : lazy;
    const double noise = 0.02 * (1 + start % 8);
    TaskOrder order =
        start % 3 == 2
            ? backward_greedy_order(model, around, noise, static_cast<std::uint64_t>(start), work)
            : greedy_order(model,
                           {.priority = around, .noise = noise, .seed = static_cast<std::uint64_t>(start)},
                           work);
    Work turn{std::max<std::int64_t>(work.left / 8, 4 * model.tasks), work.control};
    const std::int64_t given = turn.left;
    improve_order(model, order, goal, turn);
    work.left -= given - turn.left;
    if (offer(std::move(order))) break;
  }
  return best;
}

}  // namespace

TaskOrder best_order(const OrderModel& model, std::int64_t goal, Work& work) {
  TaskOrder order(at(model.tasks));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int> position = order;
  const OrderLoads loads = loads_of(model, order);
  std::vector<int> item_number(at(model.items), -1);

  struct Part {
    int first, last;
    std::int64_t peak;
  };
  std::vector<Part> parts;
  int first = 0;
  const auto add = [&](int last) {
    if (first < last) {
      parts.push_back(
          {first, last, *std::max_element(loads.during.begin() + first, loads.during.begin() + last)});
    }
    first = last;
  };
  for (int cut : cuts_of(model, order)) {
    goal = std::max(goal, loads.during[at(cut)]);  // the same in every order
    add(cut);
    add(cut + 1);
  }
  add(model.tasks);

  // The part with the highest peak first: below what it ends at, the others need no work.
  std::ranges::stable_sort(parts, std::greater(), &Part::peak);
  for (const Part& part : parts) {
    if (part.peak <= goal) break;
    const OrderModel piece =
        piece_of(model, order, position, part.first, part.last, loads.resident[at(part.first)], item_number);
    Work share{work.left * (part.last - part.first) / std::max(1, model.tasks), work.control};
    work.left -= share.left;
    const TaskOrder inner = order_of_part(piece, goal, share);
    work.left += share.left;
    TM_CHECK(is_valid_order(piece, inner));
    goal = std::max(goal, loads_of(piece, inner).peak);
    for (std::size_t k = 0; k < inner.size(); ++k) order[at(part.first) + k] = part.first + inner[k];
  }
  return order;
}

}  // namespace tidemark
