#include "tidemark/schedule/run/run_lookahead.h"

#include <algorithm>

namespace tidemark::schedule {

Lookahead::Lookahead(ActionStream& stream, std::vector<bool> files)
    : stream_(stream), files_(std::move(files)) {
  actions_.resize(depth);
}

bool Lookahead::reads_file(const Action& action) const {
  return action.level >= 0 && static_cast<std::size_t>(action.level) < files_.size() &&
         files_[static_cast<std::size_t>(action.level)] &&
         (action.kind == ActionKind::load || action.kind == ActionKind::reverse);
}

// Half of the room at a time, so that at least that much is always in view.
void Lookahead::refill() {
  std::copy(actions_.begin() + static_cast<std::ptrdiff_t>(at_),
            actions_.begin() + static_cast<std::ptrdiff_t>(end_), actions_.begin());
  end_ -= at_;
  at_ = 0;
  const std::size_t got = stream_.fill(std::span(actions_).subspan(end_));
  for (std::size_t i = end_; i < end_ + got; ++i)
    if (reads_file(actions_[i])) reads_.push_back(actions_[i]);
  end_ += got;
}

const Action* Lookahead::peek() {
  if (end_ - at_ < depth / 2) refill();
  return at_ < end_ ? &actions_[at_] : nullptr;
}

bool Lookahead::next(Action& action) {
  const Action* first = peek();
  if (!first) return false;
  action = *first;
  ++at_;
  if (!reads_.empty() && reads_file(action)) {
    reads_.pop_front();
    asked_ = 0;  // the same slot may come again: its buffer is about to be given away
  }
  return true;
}

void Lookahead::prefetch(RunActions& actions) {
  while (asked_ < reads_.size() && asked_ < 8) {
    const Action& read = reads_[asked_];
    const auto& slots = actions.table().slots(read.level);
    const auto slot = static_cast<std::size_t>(read.slot);
    if (slot >= slots.size() || slots[slot].step != read.step) return;  // not stored yet
    if (!actions.store(read.level).prefetch(read.slot)) return;
    ++asked_;
  }
}

}  // namespace tidemark::schedule
