// Reverses a run of steps with the slots of one level at the least number of advances: the generator that the
// binomial schedule is, and that others use for their innermost parts.
#pragma once
#include <vector>

#include "tidemark/schedule/kinds/burst.h"

namespace tidemark::schedule {

class BinomialReversal {
 public:
  BinomialReversal() = default;  // of no steps
  // The working state is state `begin`. Places are taken in order; with `begin_is_stored`, the first holds it
  // already. Every place is empty at the end. Two or more steps need a place.
  BinomialReversal(Step begin, Step end, std::vector<SlotRef> places, bool begin_is_stored = false) {
    start(begin, end, std::move(places), begin_is_stored);
  }
  // The first `slots` slots of a level, counted, not listed.
  BinomialReversal(Step begin, Step end, std::int16_t level, std::int64_t slots,
                   bool begin_is_stored = false);

  std::size_t burst(Action* out);

 private:
  struct Stored {
    Step state = 0;
    std::int64_t repeats = 0, shorter = 0;  // of the segment it starts, as in binomial_count.h
    SlotRef place;
  };
  void start(Step begin, Step end, std::vector<SlotRef> places, bool begin_is_stored);
  SlotRef place_at(std::size_t depth) const {
    return places_.empty() ? SlotRef{level_, static_cast<std::int32_t>(depth)} : places_[depth];
  }
  void push(Step state);

  Step at_ = 0, end_ = 0;  // the working state; steps from end_ on are reversed
  bool done_ = true;
  std::int16_t level_ = 0;
  std::int64_t slots_ = 0;
  std::int64_t repeats_ = 0, shorter_ = 0;  // of the segment at_ starts, while it is not stored
  std::vector<SlotRef> places_;
  std::vector<Stored> stored_;
};

}  // namespace tidemark::schedule
