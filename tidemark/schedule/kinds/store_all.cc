#include "tidemark/schedule/kinds/store_all.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/kinds/burst.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

// How many records fit a level.
std::int64_t record_slots(const Question& question, std::size_t level) {
  const Level& at = question.levels[level];
  std::int64_t slots = std::min(question.steps, most_slots);
  if (at.slots >= 0) slots = std::min(slots, at.slots);
  if (at.bytes >= 0) slots = std::min(slots, at.bytes / std::max<std::int64_t>(question.record_bytes, 1));
  return slots;
}

// Up all steps, then down.
class Tape {
 public:
  Tape(Step steps, std::vector<std::int64_t> records) : steps_(steps), records_(std::move(records)) {}

  std::size_t burst(Action* out) {
    Emitter emit(out);
    if (turned_ && at_ < 0) return 0;
    if (at_ == steps_ - 1) {
      turned_ = true;
      emit.record(at_);
      emit.reverse(at_);
      --at_;
    } else if (!turned_) {
      emit.record(at_, place_of(at_));
      ++at_;
    } else {
      const SlotRef place = place_of(at_);
      emit.reverse(at_, place);
      emit.drop(at_, place);
      --at_;
    }
    return emit.count();
  }

 private:
  SlotRef place_of(Step step) const {
    std::size_t level = 0;
    while (step >= records_[level]) step -= records_[level++];
    return {static_cast<std::int16_t>(level), static_cast<std::int32_t>(step)};
  }

  Step steps_, at_ = 0;
  bool turned_ = false;
  std::vector<std::int64_t> records_;  // by level
};

class StoreAll final : public Schedule {
 public:
  explicit StoreAll(const Question& question) : promise_(promise_for(question, Kind::store_all)) {
    if (question.record_bytes == 0 && question.levels[0].bytes >= 0)
      bad_question("store-all keeps records, and their bytes are not known", "record_bytes of 1 or more");
    Step left = question.steps - 1;
    for (std::size_t i = 0; i < question.levels.size(); ++i) {
      promise_.slots[i] = record_slots(question, i);
      const std::int64_t used = std::min(left, promise_.slots[i]);
      left -= used;
      promise_.peak_slots[i] = promise_.writes[i] = promise_.reads[i] = used;
      promise_.peak_bytes[i] = used * question.record_bytes;
    }
    if (left > 0) {
      const Step all = question.steps - 1;
      const bool in_bytes = question.levels[0].slots < 0 && all <= most_slots;
      does_not_fit(question, Kind::store_all,
                   in_bytes ? fmt::format("{} bytes for {} records",
                                          static_cast<__int128>(all) * question.record_bytes, all)
                            : fmt::format("{} slots", all));
    }
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    return std::make_unique<BurstStream<Tape>>(promise_.steps, promise_.peak_slots);
  }

 private:
  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> store_all_schedule(const Question& question) {
  if (!question.levels.empty()) return std::make_unique<StoreAll>(question);
  Question roomy = question;
  roomy.levels.emplace_back();
  return std::make_unique<StoreAll>(roomy);
}

}  // namespace tidemark::schedule
