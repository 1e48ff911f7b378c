// The updates of a draft: runs whose results end in donated memory and that nothing else waits for, so that
// they can run as a whole as soon as what they read is there.
//
//   gradient ──▶ decayed mean ──▶ step ──▶ parameter      pointwise: mostly one kernel
//   codes ──▶ decoded ──▶ mean ──▶ coded ──▶ codes        moments of few bits, a piece at a time
#pragma once
#include <vector>

#include "tidemark/plan/passes/draft.h"
#include "tidemark/solve/order/model.h"

namespace tidemark {

class Updates {
 public:
  // `joins`: per execution, may it be part of a larger kernel (may_join)?
  Updates(const Draft& draft, const OrderModel& model, const std::vector<bool>& joins);

  std::size_t count() const { return members_.size(); }
  int of(int task) const { return update_of_[static_cast<std::size_t>(task)]; }  // -1: none
  // As the graph lists them, which for moments in pieces is piece by piece; each behind what it reads.
  const std::vector<int>& members(int update) const { return members_[static_cast<std::size_t>(update)]; }
  // A rate or a count, made of nothing else: it runs when an update asks for it.
  bool is_free(int task) const { return free_[static_cast<std::size_t>(task)]; }

 private:
  std::vector<int> update_of_;
  std::vector<std::vector<int>> members_;
  std::vector<bool> free_;
};

}  // namespace tidemark
