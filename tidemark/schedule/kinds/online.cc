#include "tidemark/schedule/kinds/online.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/binomial_reversal.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

constexpr Step most_online_steps = 1'000'000'000;  // each is looked at

// The i-th kept state has all slots but i: those of the states before it are taken.
double cost(Step length, std::int64_t slots) {
  if (length <= 1) return 0;
  const Step advances = least_advances(length, slots);
  return advances < 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(advances);
}

// The segments between kept states, last first, each with the slots that are free by then.
class Finish {
 public:
  Finish(std::vector<Online::Kept> kept, std::int64_t slots, std::int16_t level, Step steps,
         bool last_is_taken)
      : kept_(std::move(kept)), level_(level), end_(steps), record_last_(!last_is_taken) {
    std::vector<bool> taken(static_cast<std::size_t>(std::min(slots, steps)));
    for (const Online::Kept& k : kept_) taken[static_cast<std::size_t>(k.slot)] = true;
    for (std::size_t slot = taken.size(); slot-- > 0;) {
      if (!taken[slot]) free_.push_back(static_cast<std::int32_t>(slot));
    }
  }

  std::size_t burst(Action* out) {
    if (const std::size_t count = segment_.burst(out)) return count;
    Emitter emit(out);
    if (record_last_) {
      record_last_ = false;
      end_ -= 1;
      emit.record(end_);
      emit.reverse(end_);
      return emit.count();
    }
    if (kept_.empty()) return 0;
    const Online::Kept top = kept_.back();
    kept_.pop_back();
    std::vector<SlotRef> places = {{level_, top.slot}};
    for (auto slot = free_.rbegin(); slot != free_.rend() && std::ssize(places) < end_ - top.state; ++slot)
      places.push_back({level_, *slot});
    segment_ = BinomialReversal(top.state, end_, std::move(places), true);
    end_ = top.state;
    free_.push_back(top.slot);
    emit.load(top.state, {level_, top.slot});
    return emit.count();
  }

 private:
  std::vector<Online::Kept> kept_;
  std::vector<std::int32_t> free_;
  BinomialReversal segment_;
  std::int16_t level_;
  Step end_;
  bool record_last_;
};

}  // namespace

Online::Online(std::int64_t slots, std::int16_t level, std::pmr::memory_resource* memory)
    : slots_(std::min(slots, most_slots)), level_(level), kept_(memory), before_(memory) {
  if (slots < 1) bad_question(fmt::format("an online schedule with {} slots", slots), "at least 1");
}

void Online::reserve() {
  kept_.reserve(static_cast<std::size_t>(slots_));
  before_.reserve(static_cast<std::size_t>(slots_));
}

std::int64_t Online::room_for(std::int64_t slots) {
  constexpr std::int64_t for_alignment = 64;
  return std::min(slots, most_slots) * static_cast<std::int64_t>(sizeof(Kept) + sizeof(double)) +
         for_alignment;
}

void Online::keep(Step step, std::int32_t slot) {
  kept_.push_back({step, slot});
  actions_[action_count_++] = {ActionKind::store, level_, slot, step, step};
  if (std::ssize(kept_) == slots_) weigh();
}

// With all slots full and kept states p_0 … p_{s−1}. Without p_k the segment before it reaches to p_{k+1},
// and those behind it have one slot more.
void Online::weigh() {
  const std::size_t s = kept_.size();
  const auto segment = [&](std::size_t i) { return kept_[i + 1].state - kept_[i].state; };
  const auto slots = [&](std::size_t i) { return slots_ - static_cast<std::int64_t>(i); };
  before_.assign(s, 0);  // the cost of the segments before p_k
  for (std::size_t k = 1; k < s; ++k) before_[k] = before_[k - 1] + cost(segment(k - 1), slots(k - 1));
  all_ = before_[s - 1];
  all_but_last_ = s > 1 ? before_[s - 2] : 0;
  without_ = std::numeric_limits<double>::infinity();
  double behind = 0;
  for (std::size_t k = s - 1; k-- > 1;) {
    const double sum = before_[k - 1] + cost(kept_[k + 1].state - kept_[k - 1].state, slots(k - 1)) + behind;
    if (sum <= without_) without_ = sum, dispensable_ = k;  // of equals the first
    behind += cost(segment(k), slots(k) + 1);
  }
}

std::span<const Action> Online::visit(Step step) {
  TM_CHECK(step == visited_, "state {} comes after state {}", step, visited_ - 1);
  ++visited_;
  action_count_ = 0;
  const std::size_t s = kept_.size();
  if (static_cast<std::int64_t>(s) < slots_) {
    keep(step, static_cast<std::int32_t>(s));
    return {actions_.data(), action_count_};
  }
  if (s == 1) return {};
  // If the step after this one is the last.
  const Step since = step - kept_.back().state;
  const double keep_all = all_ + cost(since + 1, 1);
  const double without_inner = without_ + cost(since, 2);
  const double without_last = all_but_last_ + cost(step - kept_[s - 2].state, 2);
  std::size_t leaves = 0;
  if (without_inner < keep_all && without_inner <= without_last) {
    leaves = dispensable_;
  } else if (without_last < keep_all) {
    leaves = s - 1;
  }
  if (leaves == 0) return {};
  const Kept gone = kept_[leaves];
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(leaves));
  actions_[action_count_++] = {ActionKind::drop, level_, gone.slot, gone.state, gone.state};
  keep(step, gone.slot);
  return {actions_.data(), action_count_};
}

std::unique_ptr<ActionStream> Online::finish(Step steps) const {
  const bool last_is_taken = steps == visited_;
  TM_CHECK(steps >= 1 && (last_is_taken || steps == visited_ + 1), "{} steps after {} visits", steps,
           visited_);
  return std::make_unique<BurstStream<Finish>>(std::vector<Kept>(kept_.begin(), kept_.end()), slots_, level_,
                                               steps, last_is_taken);
}

Step Online::advances_to_finish(Step steps) const {
  __int128 advances = 0;
  Step end = steps == visited_ ? steps : steps - 1;
  for (std::size_t i = kept_.size(); i-- > 0; end = kept_[i].state) {
    const Step length = end - kept_[i].state;
    const Step least = length > 1 ? least_advances(length, slots_ - static_cast<std::int64_t>(i)) : 0;
    if (least < 0) return -1;
    advances += least;
  }
  return advances <= std::numeric_limits<Step>::max() ? static_cast<Step>(advances) : -1;
}

namespace {

// The sweep, as if the end were not known, and the reversal.
class OnlineActions {
 public:
  OnlineActions(Step steps, std::int64_t slots) : steps_(steps), online_(slots) {}

  std::size_t burst(Action* out) {
    Emitter emit(out);
    if (finish_) {
      std::size_t count = 0;
      while (count < max_burst && finish_->next(out[count])) ++count;
      return count;
    }
    while (at_ < steps_ - 1) {
      const Step here = at_++;
      const std::span<const Action> actions = online_.visit(here);
      if (actions.empty()) continue;
      if (here > from_) emit.advance(from_, here);
      from_ = here;
      std::size_t count = emit.count();
      for (const Action& action : actions) out[count++] = action;
      return count;
    }
    if (at_ > from_) emit.advance(from_, at_);
    finish_ = online_.finish(steps_);
    if (emit.count() == 0) return burst(out);
    return emit.count();
  }

 private:
  Step steps_, at_ = 0, from_ = 0;
  Online online_;
  std::unique_ptr<ActionStream> finish_;
};

class OnlineSchedule final : public Schedule {
 public:
  explicit OnlineSchedule(const Question& question) : promise_(promise_for(question, Kind::online)) {
    const Step n = question.steps;
    const std::int64_t slots = state_slots(question, 0);
    if (n > 1 && slots < 1)
      does_not_fit(question, Kind::online,
                   fmt::format("one state, {}", to_string(Bytes(question.state_bytes))));
    promise_.slots[0] = slots;
    if (n > 1) count(n, slots);
    promise_.peak_bytes[0] = promise_.peak_slots[0] * question.state_bytes;
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    return std::make_unique<BurstStream<OnlineActions>>(promise_.steps,
                                                        std::max<std::int64_t>(promise_.slots[0], 1));
  }

 private:
  void count(Step n, std::int64_t slots) {
    Online online(slots);
    for (Step i = 0; i < n - 1; ++i) {
      if (!online.visit(i).empty()) ++promise_.writes[0];
    }
    const Step back = online.advances_to_finish(n);
    if (back < 0 || back > std::numeric_limits<Step>::max() - n)
      bad_question("so few slots take more than 2^63 forward steps", "", "give more slots");
    promise_.advances = n - 1 + back;
    promise_.reads[0] = n - 1;
    const auto kept = online.kept();
    promise_.peak_slots[0] = std::ssize(kept);
    Step end = n - 1;
    for (std::size_t i = kept.size(); i-- > 0;) {
      const Step length = end - kept[i].state;
      const std::int64_t own = slots - static_cast<std::int64_t>(i);
      if (length > 1) {
        promise_.writes[0] += stores_of(length, own) - 1;
        promise_.peak_slots[0] =
            std::max(promise_.peak_slots[0], static_cast<std::int64_t>(i) + std::min(own, length - 1));
      }
      end = kept[i].state;
    }
  }

  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> online_schedule(const Question& question) {
  if (question.steps > most_online_steps)
    bad_question(fmt::format("{} steps are too many to be looked at one by one", question.steps),
                 fmt::format("at most {} steps", most_online_steps));
  return std::make_unique<OnlineSchedule>(question);
}

}  // namespace tidemark::schedule
