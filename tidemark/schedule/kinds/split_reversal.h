// Reverses a run of steps with the slots of one level, splitting each segment where a rule says: what
// bisection and uniform segments have in common.
#pragma once
#include <vector>

#include "tidemark/schedule/kinds/burst.h"

namespace tidemark::schedule {

// Rule: Step operator()(Step begin, Step length, std::int64_t slots), how far to advance before the next
// state is stored; 1 to length − 1, and length − 1 with one slot.
template <class Rule>
class SplitReversal {
 public:
  SplitReversal(Step steps, std::int64_t slots, Rule rule) : rule_(rule), end_(steps), slots_(slots) {}

  std::size_t burst(Action* out) {
    Emitter emit(out);
    if (end_ == 0) return 0;
    if (end_ - at_ > 1) {
      if (stored_.empty() || stored_.back() != at_) {
        emit.store(at_, SlotRef{0, static_cast<std::int32_t>(stored_.size())});
        stored_.push_back(at_);
      }
      const Step split = rule_(at_, end_ - at_, slots_ - static_cast<std::int64_t>(stored_.size()) + 1);
      emit.advance(at_, at_ + split);
      at_ += split;
      return emit.count();
    }
    emit.record(at_);
    emit.reverse(at_);
    end_ = at_;
    if (stored_.empty()) return emit.count();
    at_ = stored_.back();
    const SlotRef place{0, static_cast<std::int32_t>(stored_.size() - 1)};
    emit.load(at_, place);
    if (end_ - at_ == 1) {
      emit.drop(at_, place);
      stored_.pop_back();
    }
    return emit.count();
  }

 private:
  Rule rule_;
  Step at_ = 0, end_;  // the working state; steps from end_ on are reversed
  std::int64_t slots_;
  std::vector<Step> stored_;
};

}  // namespace tidemark::schedule
