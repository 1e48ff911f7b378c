// How tasks stand to one of them in every order: what must run before it, what after it.
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/solve/order/model.h"

namespace tidemark {

enum class Relation : std::uint8_t { either, before, same, after };

class TaskRelations {
 public:
  explicit TaskRelations(const OrderModel& model)
      : model_(model), relation_(static_cast<std::size_t>(model.tasks)) {}

  // From now on, the relations to this task.
  void look_from(int task);
  Relation operator[](int task) const { return relation_[static_cast<std::size_t>(task)]; }

 private:
  void mark(int task, const IntLists& next, Relation relation);

  const OrderModel& model_;
  std::vector<Relation> relation_;  // per task
  std::vector<int> stack_;
};

}  // namespace tidemark
