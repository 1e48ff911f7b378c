#include "tidemark/engine/workspace.h"

#include <algorithm>

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
    const std::shared_ptr<Storage> storage = result.lock();
    if (!storage) continue;
    storage->settle();
    moved_.push_back(result);
  }
  lent_.clear();
}

Workspace::Held Workspace::held(std::span<const Tensor> inputs) {
  std::erase_if(moved_, [](const std::weak_ptr<Storage>& result) { return result.expired(); });
  Held held;
  const auto add = [&](const std::weak_ptr<Storage>& result) {
    const std::shared_ptr<Storage> storage = result.lock();
    if (!storage ||
        std::ranges::any_of(inputs, [&](const Tensor& input) { return input.storage() == storage; }))
      return;
    ++held.count;
    held.bytes += storage->bytes();
    if (!storage->settled()) held.in_arena += storage->bytes();
  };
  std::ranges::for_each(lent_, add);
  std::ranges::for_each(moved_, add);
  return held;
}

}  // namespace tidemark
