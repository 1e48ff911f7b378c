#include "tidemark/schedule/kinds/mixed.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/kinds/burst.h"
#include "tidemark/schedule/kinds/mixed_table.h"
#include "tidemark/schedule/question.h"
#include "tidemark/schedule/tally.h"

namespace tidemark::schedule {
namespace {

class MixedActions {
 public:
  MixedActions(std::shared_ptr<const MixedTable> table, Step steps)
      : table_(std::move(table)), units_(table_ ? table_->units() : 0), end_(steps) {}

  std::size_t burst(Action* out) {
    Emitter emit(out);
    if (done_) return 0;
    if (returning_) {
      go_back(emit);
      return emit.count();
    }
    if (end_ - at_ == 1) {
      emit.record(at_);
      emit.reverse(at_);
      end_ = at_;
      go_back(emit);
      return emit.count();
    }
    const SlotRef place{0, static_cast<std::int32_t>(kept_.size())};
    if (const Step split = table_->choice(units_, end_ - at_); split == 0) {
      kept_.push_back({at_, units_, true});
      emit.record(at_, place);
      at_ += 1;
      units_ -= table_->record_units();
    } else {
      kept_.push_back({at_, units_, false});
      emit.store(at_, place);
      go_on(emit, split);
    }
    return emit.count();
  }

 private:
  struct Kept {
    Step step = 0;
    std::int64_t units = 0;  // that were left before
    bool record = false;
  };

  void go_on(Emitter& emit, Step split) {
    emit.advance(at_, at_ + split);
    at_ += split;
    units_ -= table_->state_units();
  }

  // All from end_ on is reversed: one record, or a state from which the steps before end_ are done.
  void go_back(Emitter& emit) {
    returning_ = false;
    if (kept_.empty()) {
      done_ = true;
      return;
    }
    const Kept top = kept_.back();
    const SlotRef place{0, static_cast<std::int32_t>(kept_.size() - 1)};
    if (top.record) {
      kept_.pop_back();
      emit.reverse(top.step, place);
      emit.drop(top.step, place);
      end_ = top.step;
      returning_ = true;
      return;
    }
    emit.load(top.step, place);
    at_ = top.step;
    units_ = top.units;
    const Step split = end_ - at_ > 1 ? table_->choice(units_, end_ - at_) : 0;
    if (split > 0) {
      go_on(emit, split);  // the state stays where it is
    } else {
      kept_.pop_back();
      emit.drop(at_, place);
    }
  }

  std::shared_ptr<const MixedTable> table_;
  std::int64_t units_;
  std::vector<Kept> kept_;
  Step at_ = 0, end_;  // the working state; steps from end_ on are reversed
  bool done_ = false, returning_ = false;
};

struct Room {
  std::int64_t state = 1, record = 1, all = 0;
};
Room room_of(const Question& question) {
  const Level& level = question.levels[0];
  const std::int64_t most = std::min(question.steps, most_slots);
  if (level.slots < 0 && level.bytes >= 0) return {question.state_bytes, question.record_bytes, level.bytes};
  Room room{1, 1, level.slots >= 0 ? std::min(level.slots, most) : most};
  if (level.bytes >= 0)
    room.all = std::min(room.all, level.bytes / std::max(question.state_bytes, question.record_bytes));
  return room;
}

[[noreturn]] void too_large(const Question& question) {
  bad_question(fmt::format("{} steps in so many bytes are too many for a mixed schedule", question.steps), "",
               "binomial has no such limit");
}

class Mixed final : public Schedule {
 public:
  explicit Mixed(const Question& question) : promise_(promise_for(question, Kind::mixed)) {
    if (question.record_bytes == 0 && question.levels[0].bytes >= 0)
      bad_question("a mixed schedule keeps records, and their bytes are not known",
                   "record_bytes of 1 or more");
    const Room room = room_of(question);
    if (question.steps > most_mixed_steps) too_large(question);
    if (question.steps > 1) {
      table_ = std::make_shared<MixedTable>(question.steps, room.state, room.record, room.all);
      if (table_->too_large()) too_large(question);
      if (!table_->feasible()) {
        const std::int64_t least = std::min(room.state, (question.steps - 1) * room.record);
        does_not_fit(question, Kind::mixed,
                     question.levels[0].bytes < 0 ? fmt::format("{} slots", least) : to_string(Bytes(least)));
      }
    }
    const std::unique_ptr<ActionStream> actions = this->actions();
    tally(question, *actions, promise_);
    promise_.slots[0] = std::max(promise_.peak_slots[0], room.state == 1 && room.record == 1 ? room.all : 0);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    return std::make_unique<BurstStream<MixedActions>>(table_, promise_.steps);
  }

 private:
  std::shared_ptr<const MixedTable> table_;
  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> mixed_schedule(const Question& question) {
  return std::make_unique<Mixed>(question);
}

}  // namespace tidemark::schedule
