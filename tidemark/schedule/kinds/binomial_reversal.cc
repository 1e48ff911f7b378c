#include "tidemark/schedule/kinds/binomial_reversal.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::schedule {

BinomialReversal::BinomialReversal(Step begin, Step end, std::int16_t level, std::int64_t slots,
                                   bool begin_is_stored)
    : level_(level), slots_(slots) {
  start(begin, end, {}, begin_is_stored);
}

void BinomialReversal::start(Step begin, Step end, std::vector<SlotRef> places, bool begin_is_stored) {
  at_ = begin, end_ = end;
  done_ = begin == end;
  places_ = std::move(places);
  if (!places_.empty()) slots_ = static_cast<std::int64_t>(places_.size());
  if (end - begin > 1) {
    TM_CHECK(slots_ >= 1);
    slots_ = std::min(slots_, end - begin - 1);
    repeats_ = repeats_of(end - begin, slots_);
    shorter_ = longest_segment(slots_, repeats_ - 1, end - begin);
  }
  if (begin_is_stored) push(begin);
}

void BinomialReversal::push(Step state) {
  stored_.push_back({state, repeats_, shorter_, place_at(stored_.size())});
}

std::size_t BinomialReversal::burst(Action* out) {
  Emitter emit(out);
  if (done_) return 0;
  if (end_ - at_ > 1) {
    if (stored_.empty() || stored_.back().state != at_) {
      push(at_);
      emit.store(at_, stored_.back().place);
    }
    Stored& top = stored_.back();
    const std::int64_t slots = slots_ - static_cast<std::int64_t>(stored_.size()) + 1;
    const BinomialSplit split = split_segment(end_ - at_, slots, top.repeats, top.shorter);
    repeats_ = top.repeats, shorter_ = split.right_shorter;
    top.repeats -= 1, top.shorter = split.left_shorter;
    emit.advance(at_, at_ + split.left);
    at_ += split.left;
    if (end_ - at_ > 1) return emit.count();
  } else if (!stored_.empty() && stored_.back().state == at_) {  // a single step whose state came stored
    emit.drop(at_, stored_.back().place);
    stored_.pop_back();
  }
  emit.record(at_);
  emit.reverse(at_);
  end_ = at_;
  if (stored_.empty()) {
    done_ = true;
    return emit.count();
  }
  const Stored& top = stored_.back();
  emit.load(top.state, top.place);
  at_ = top.state;
  if (end_ - at_ == 1) {
    emit.drop(at_, top.place);
    stored_.pop_back();
  }
  return emit.count();
}

}  // namespace tidemark::schedule
