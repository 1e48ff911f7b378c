// What to keep over one moment of a recomputation problem, chains of operands included.
//
// Whatever runs after the moment finds each operand in one of two ways: it was kept, and counts at the
// moment, or it is made later, again at the cost of its maker, whose operands are to be found in the same
// way.
//
//         moment                  later
//   kept x ──┼──────────────────────●  read          bytes at the moment
//   y, gone  ┼ - - - -  z ──▶ y ────●  read          cost of y's maker; z is kept, or made again in turn
//
// With a price on bytes the cheapest choice is a cheapest cut of a network (closures: Picard 1976; what to
// keep for the way back as a cut: He & Yu, MLSys 2023): an item on the source's side is needed later, a task
// there runs again later.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tidemark/solve/flow.h"
#include "tidemark/solve/remat/problem.h"

namespace tidemark {

struct Moment {
  static constexpr double never = std::numeric_limits<double>::infinity();

  int task = 0;               // that runs then
  std::vector<double> again;  // per task: cost of making its results later; `never`: they cannot be
  std::vector<bool> needed;   // per item: read later, or pinned
  std::vector<bool>
      given;  // per item: made by the task or later for the first time, so that it need not be kept
};

class MomentCut {
 public:
  MomentCut(const RematProblem& problem, const Moment& moment);
  // What that takes, in visits of edges.
  static std::int64_t visits_to_make(const OrderModel& model) {
    return std::int64_t{20} * (model.tasks + model.items);
  }

  // Bytes over the budget if all that is needed later is kept.
  std::int64_t over() const { return over_; }

  // The cheapest choice at a price. Per task, a weight of the bytes that it makes, so that items that are
  // alike part ways at prices of their own; all the same if empty. Spends `visits` of edges, some 5 ns each;
  // when they are used up, the choice is none.
  void choose(double price, std::int64_t& visits, std::span<const double> weights = {});
  // Of the choice: bytes over the budget; which tasks run later.
  std::int64_t excess() const { return excess_; }
  bool is_needed(int item) const { return network_.is_taken(node_of_item(item)); }
  bool runs_later(int task) const { return network_.is_taken(node_of_task(task)); }

  struct Bound {
    double cost = 0;   // of all that runs later: no choice within the budget costs less
    double price = 0;  // at which that was found
  };
  // At any price, the cost of the choice and the price of its excess are no more than the cost of any choice
  // that has none (Lagrange): the best over all prices. `price`: the first to try, if positive.
  Bound bound(double price, std::int64_t& visits);

 private:
  struct Item {             // counts at the moment if it is needed later and not made there
    int edge, node, maker;  // nodes; the sink as maker: it cannot be made later
    std::int64_t bytes;
    int task;  // that makes it; -1: none
  };
  static constexpr int source = 0, sink = 1;
  int node_of_task(int task) const { return 2 + task; }
  int node_of_item(int item) const { return 2 + tasks_ + item; }
  void add_items(const OrderModel& model, const Moment& moment, const std::vector<bool>& free);

  const int tasks_;
  const double unit_;  // costs in whole numbers
  FlowNetwork network_;
  std::vector<Item> items_;
  std::int64_t room_ = 0, over_ = 0, excess_ = 0;
  double value_ = 0;
};

}  // namespace tidemark
