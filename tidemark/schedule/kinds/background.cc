#include "tidemark/schedule/kinds/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/binomial_reversal.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

class Intervals {
 public:
  Intervals(Step steps, Step interval, std::int16_t level, std::int64_t slots)
      : steps_(steps), interval_(interval), level_(level), slots_(slots) {}

  std::size_t burst(Action* out) {
    if (const std::size_t count = inner_.burst(out)) return count;
    Emitter emit(out);
    if (done_) return 0;
    if (!turned_) {
      if (steps_ - at_ > interval_) {
        emit.store(at_, place());
        emit.advance(at_, at_ + interval_);
        at_ += interval_;
        return emit.count();
      }
      turned_ = true;
      return reverse(out, steps_);
    }
    if (at_ == 0) {
      done_ = true;
      return 0;
    }
    const Step end = at_;
    at_ -= interval_;
    emit.load(at_, place());
    emit.drop(at_, place());
    return emit.count() + reverse(out + emit.count(), end);
  }

 private:
  SlotRef place() const { return {level_, static_cast<std::int32_t>(at_ / interval_)}; }
  std::size_t reverse(Action* out, Step end) {
    inner_ = BinomialReversal(at_, end, std::int16_t{0}, slots_);
    return inner_.burst(out);
  }

  Step steps_, interval_, at_ = 0;
  std::int16_t level_;
  std::int64_t slots_;
  bool turned_ = false, done_ = false;
  BinomialReversal inner_;
};

class Background final : public Schedule {
 public:
  explicit Background(const Question& question)
      : promise_(promise_for(question, Kind::background)), interval_(background_interval(question)) {
    const Step n = question.steps;
    const std::size_t last = question.levels.size() - 1;
    const std::int64_t room = state_slots(question, last);
    interval_ = std::max(interval_, (n + room) / (room + 1));  // the last interval needs no state there
    const Step whole = (n - 1) / interval_, rest = n - whole * interval_;
    const std::int64_t slots = state_slots(question, 0);
    if (slots < 1 && std::min(n, interval_) > 1)
      does_not_fit(question, Kind::background,
                   fmt::format("one state on level 0, {}", to_string(Bytes(question.state_bytes))));
    __int128 advances = static_cast<__int128>(whole) * interval_;
    const auto add = [&](Step length, Step times) {
      if (length == 1 || times == 0) return;
      const Step least = least_advances(length, slots);
      advances += least < 0 ? std::numeric_limits<Step>::max() : static_cast<__int128>(times) * least;
      promise_.writes[0] += times * stores_of(length, slots);
      promise_.reads[0] += times * (length - 1);
      promise_.peak_slots[0] = std::max(promise_.peak_slots[0], std::min(slots, length - 1));
    };
    add(interval_, whole);
    add(rest, 1);
    if (advances >= std::numeric_limits<Step>::max())
      bad_question("so few slots take more than 2^63 forward steps", "", "give more slots");
    promise_.advances = static_cast<Step>(advances);
    promise_.writes[last] = promise_.reads[last] = promise_.peak_slots[last] = whole;
    for (std::size_t i = 0; i <= last; ++i) {
      promise_.slots[i] = state_slots(question, i);
      promise_.peak_bytes[i] = promise_.peak_slots[i] * question.state_bytes;
    }
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    return std::make_unique<BurstStream<Intervals>>(
        promise_.steps, interval_, static_cast<std::int16_t>(promise_.slots.size() - 1), promise_.slots[0]);
  }

 private:
  Promise promise_;
  Step interval_;
};

}  // namespace

Step background_interval(const Question& question) {
  const Level& last = question.levels.back();
  const double transfer = std::max(last.write_cost, last.read_cost);
  if (transfer <= question.forward_cost) return 1;
  const double steps = std::ceil(transfer / question.forward_cost);
  return steps < static_cast<double>(question.steps) ? static_cast<Step>(steps) : question.steps;
}

std::unique_ptr<Schedule> background_schedule(const Question& question) {
  if (question.levels.size() < 2)
    bad_question("a background schedule has a level that is written behind the steps", "two levels or more");
  return std::make_unique<Background>(question);
}

}  // namespace tidemark::schedule
