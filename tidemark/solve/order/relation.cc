#include "tidemark/solve/order/relation.h"

namespace tidemark {

void TaskRelations::look_from(int task) {
  std::ranges::fill(relation_, Relation::either);
  mark(task, model_.before, Relation::before);
  mark(task, model_.after, Relation::after);
  relation_[static_cast<std::size_t>(task)] = Relation::same;
}

void TaskRelations::mark(int task, const IntLists& next, Relation relation) {
  stack_.assign(1, task);
  while (!stack_.empty()) {
    const int here = stack_.back();
    stack_.pop_back();
    for (int n : next[here]) {
      Relation& known = relation_[static_cast<std::size_t>(n)];
      if (known == relation) continue;
      known = relation;
      stack_.push_back(n);
    }
  }
}

}  // namespace tidemark
