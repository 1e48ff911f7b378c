#include "tidemark/engine/workspace.h"

namespace tidemark {

void Workspace::reserve(std::int64_t bytes) {
  if (arena_ && arena_->bytes() >= bytes) return;
  move_results_out();
  arena_.reset();  // before the larger one is asked for: never both
  arena_.emplace(*device_, bytes);
  ++generation_;
}

void Workspace::move_results_out() {
  for (const std::weak_ptr<Storage>& result : lent_) {
    if (const std::shared_ptr<Storage> storage = result.lock()) storage->settle();
  }
  lent_.clear();
}

}  // namespace tidemark
