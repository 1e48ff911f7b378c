#include "tidemark/schedule/kinds/multilevel.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/binomial_reversal.h"
#include "tidemark/schedule/kinds/split_table.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

// Follows the table from segment to segment. A move is an action on a level of the table, or a leaf: a
// segment that the lowest level reverses alone.
class Walk {
 public:
  enum class Moved : std::uint8_t { store, advance, load, drop, leaf, end };
  struct Move {
    Moved kind = Moved::end;
    Step from = 0, to = 0;  // leaf and advance: half open
    SlotRef place;
  };

  Walk(std::shared_ptr<const SplitTable> table, std::vector<std::int64_t> slots, Step steps)
      : table_(std::move(table)), slots_(std::move(slots)), used_(slots_.size()), end_(steps) {
    open(0, slots_.size());
  }

  Move next() {
    switch (state_) {
      case State::unstored: {
        while (end_ - at_ > 1 && level_ >= table_->first()) {
          if (table_->choice(at(level_), free_, at_, end_ - at_).store) return store();
          descend();
        }
        const Move leaf{Moved::leaf, at_, end_, {}};
        end_ = at_;
        state_ = State::reversed;
        return leaf;
      }
      case State::stored: {
        Stored& top = stored_.back();
        const Step split =
            end_ - at_ == 1 ? 0 : table_->choice(at(top.place.level), top.free, at_, end_ - at_).split;
        if (split == 0) {
          const Move drop{Moved::drop, at_, at_, top.place};
          level_ = top.place.level;
          --used_[at(level_)];
          stored_.pop_back();
          descend();
          state_ = State::unstored;
          return drop;
        }
        const Move advance{Moved::advance, at_, at_ + split, {}};
        at_ += split;
        level_ = top.place.level;
        free_ = top.free < 0 ? -1 : top.free - 1;
        state_ = State::unstored;
        return advance;
      }
      case State::reversed: {
        if (stored_.empty()) return {};
        at_ = stored_.back().state;
        state_ = State::stored;
        return {Moved::load, at_, at_, stored_.back().place};
      }
    }
    return {};
  }

 private:
  enum class State : std::uint8_t { unstored, stored, reversed };
  struct Stored {
    Step state = 0;
    std::int64_t free = 0;  // slots of the level, this one included
    SlotRef place;
  };
  static std::size_t at(int level) { return static_cast<std::size_t>(level); }

  void open(Step begin, std::size_t above) {
    at_ = begin;
    level_ = static_cast<int>(above);
    descend();
  }
  void descend() {
    --level_;
    free_ = level_ >= 0 ? slots_[at(level_)] : 0;
  }
  Move store() {
    const SlotRef place{static_cast<std::int16_t>(level_), static_cast<std::int32_t>(used_[at(level_)]++)};
    stored_.push_back({at_, free_, place});
    state_ = State::stored;
    return {Moved::store, at_, at_, place};
  }

  std::shared_ptr<const SplitTable> table_;
  std::vector<std::int64_t> slots_, used_;  // by level; -1: any number
  std::vector<Stored> stored_;
  Step at_ = 0, end_;      // the working state; steps from end_ on are reversed
  int level_ = 0;          // the highest that the segment at at_ may use, and
  std::int64_t free_ = 0;  // how many slots of it
  State state_ = State::unstored;
};

class WalkActions {
 public:
  WalkActions(Walk walk, std::int16_t bottom, std::int64_t bottom_slots)
      : walk_(std::move(walk)), bottom_(bottom), bottom_slots_(bottom_slots) {}

  std::size_t burst(Action* out) {
    if (const std::size_t count = leaf_.burst(out)) return count;
    Emitter emit(out);
    const Walk::Move move = walk_.next();
    switch (move.kind) {
      case Walk::Moved::store:
        emit.store(move.from, move.place);
        break;
      case Walk::Moved::advance:
        emit.advance(move.from, move.to);
        break;
      case Walk::Moved::load:
        emit.load(move.from, move.place);
        break;
      case Walk::Moved::drop:
        emit.drop(move.from, move.place);
        break;
      case Walk::Moved::leaf:
        leaf_ = BinomialReversal(move.from, move.to, bottom_, bottom_slots_);
        return leaf_.burst(out);
      case Walk::Moved::end:
        break;
    }
    return emit.count();
  }

 private:
  Walk walk_;
  BinomialReversal leaf_;
  std::int16_t bottom_;
  std::int64_t bottom_slots_;
};

class Multilevel final : public Schedule {
 public:
  Multilevel(const Question& question, Kind kind) : promise_(promise_for(question, kind)) {
    const std::size_t levels = question.levels.size();
    for (std::size_t i = 0; i < levels; ++i) {
      promise_.slots[i] = state_slots(question, i);
      slots_.push_back(promise_.slots[i] >= question.steps - 1 ? -1 : promise_.slots[i]);
    }
    if (question.steps > 1 &&
        std::all_of(slots_.begin(), slots_.end(), [](auto count) { return count == 0; }))
      does_not_fit(question, kind, fmt::format("one state, {}", to_string(Bytes(question.state_bytes))));
    if (question.steps > 1) {
      table_ = std::make_shared<SplitTable>(question, slots_);
      count(question);
    }
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    if (!table_)
      return std::make_unique<BurstStream<BinomialReversal>>(Step{0}, Step{1}, std::int16_t{0},
                                                             std::int64_t{0});
    return std::make_unique<BurstStream<WalkActions>>(walk(), bottom(), bottom_slots());
  }

 private:
  Walk walk() const { return Walk(table_, slots_, promise_.steps); }
  std::int16_t bottom() const { return static_cast<std::int16_t>(table_->bottom()); }
  std::int64_t bottom_slots() const {
    const std::int64_t slots = slots_[table_->bottom()];
    return slots < 0 ? promise_.steps : slots;
  }

  void count(const Question& question) {
    Walk walk = this->walk();
    const auto bottom = static_cast<std::size_t>(this->bottom());
    std::vector<std::int64_t> used(slots_.size());
    __int128 advances = 0;
    const auto peak = [&](std::size_t level, std::int64_t states) {
      promise_.peak_slots[level] = std::max(promise_.peak_slots[level], states);
    };
    for (Walk::Move move = walk.next(); move.kind != Walk::Moved::end; move = walk.next()) {
      const auto level = static_cast<std::size_t>(move.place.level);
      switch (move.kind) {
        case Walk::Moved::store:
          ++promise_.writes[level];
          peak(level, ++used[level]);
          break;
        case Walk::Moved::drop:
          --used[level];
          break;
        case Walk::Moved::load:
          ++promise_.reads[level];
          break;
        case Walk::Moved::advance:
          advances += move.to - move.from;
          break;
        case Walk::Moved::leaf: {
          const Step length = move.to - move.from;
          if (length == 1) break;
          const Step least = least_advances(length, bottom_slots());
          if (least < 0)
            bad_question("so few slots take more than 2^63 forward steps", "", "give more slots");
          advances += least;
          promise_.writes[bottom] += stores_of(length, bottom_slots());
          promise_.reads[bottom] += length - 1;
          peak(bottom, std::min(bottom_slots(), length - 1));
          break;
        }
        case Walk::Moved::end:
          break;
      }
    }
    promise_.advances = static_cast<Step>(advances);
    for (std::size_t i = 0; i < slots_.size(); ++i)
      promise_.peak_bytes[i] = promise_.peak_slots[i] * question.state_bytes;
  }

  std::vector<std::int64_t> slots_;  // -1: any number
  std::shared_ptr<const SplitTable> table_;
  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> multilevel_schedule(const Question& question) {
  return std::make_unique<Multilevel>(question, Kind::multilevel);
}

std::unique_ptr<Schedule> disk_schedule(const Question& question) {
  Question roomy = question;
  roomy.levels.back().slots = roomy.levels.back().bytes = -1;
  auto schedule = std::make_unique<Multilevel>(roomy, Kind::disk);
  const std::int64_t used = schedule->promise().peak_slots.back();
  if (used > state_slots(question, question.levels.size() - 1))
    does_not_fit(
        question, Kind::disk,
        fmt::format("{} slots on the last level, {}", used, to_string(Bytes(used * question.state_bytes))));
  return schedule;
}

}  // namespace tidemark::schedule
