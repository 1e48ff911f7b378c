// The shape of a generator: it makes a few actions at a time, and a stream hands them out one by one or many
// at once.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

inline constexpr std::size_t max_burst = 8;

// Where a state or a record is kept.
struct SlotRef {
  std::int16_t level = 0;
  std::int32_t slot = 0;
  friend bool operator==(const SlotRef&, const SlotRef&) = default;
};

// Writes actions one after another.
class Emitter {
 public:
  explicit Emitter(Action* out) : begin_(out), out_(out) {}
  void advance(Step from, Step to) { *out_++ = {ActionKind::advance, working, 0, from, to}; }
  void record(Step step) { *out_++ = {ActionKind::record, working, 0, step, step}; }
  void record(Step step, SlotRef place) {
    *out_++ = {ActionKind::record, place.level, place.slot, step, step};
  }
  void reverse(Step step) { *out_++ = {ActionKind::reverse, working, 0, step, step}; }
  void reverse(Step step, SlotRef place) {
    *out_++ = {ActionKind::reverse, place.level, place.slot, step, step};
  }
  void store(Step step, SlotRef place) { *out_++ = {ActionKind::store, place.level, place.slot, step, step}; }
  void load(Step step, SlotRef place) { *out_++ = {ActionKind::load, place.level, place.slot, step, step}; }
  void drop(Step step, SlotRef place) { *out_++ = {ActionKind::drop, place.level, place.slot, step, step}; }
  std::size_t count() const { return static_cast<std::size_t>(out_ - begin_); }

 private:
  Action *begin_, *out_;
};

// A stream over a generator with `std::size_t burst(Action*)`: at most max_burst actions, none at the end.
template <class Generator>
class BurstStream final : public ActionStream {
 public:
  template <class... Args>
  explicit BurstStream(Args&&... args) : generator_(std::forward<Args>(args)...) {}

  bool next(Action& action) override {
    if (taken_ == made_) {
      taken_ = 0;
      made_ = generator_.burst(ready_.data());
      if (made_ == 0) return false;
    }
    action = ready_[taken_++];
    return true;
  }

  std::size_t fill(std::span<Action> out) override {
    std::size_t count = std::min(made_ - taken_, out.size());
    std::copy_n(ready_.data() + taken_, count, out.data());
    taken_ += count;
    while (count + max_burst <= out.size()) {
      const std::size_t more = generator_.burst(out.data() + count);
      if (more == 0) return count;
      count += more;
    }
    while (count < out.size() && next(out[count])) ++count;
    return count;
  }

 private:
  Generator generator_;
  std::array<Action, max_burst> ready_;
  std::size_t taken_ = 0, made_ = 0;
};

}  // namespace tidemark::schedule
