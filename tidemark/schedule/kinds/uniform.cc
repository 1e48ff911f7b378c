#include "tidemark/schedule/kinds/uniform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/kinds/split_reversal.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

struct Segments {
  Step steps = 0, count = 1;
  Step begin(Step i) const { return static_cast<Step>(static_cast<__int128>(i) * steps / count); }
  Step longest() const { return (steps + count - 1) / count; }
  Step at(Step state) const {  // the segment that holds it
    return static_cast<Step>((static_cast<__int128>(state + 1) * count - 1) / steps);
  }
};

// Each segment's records are kept while it is reversed.
class Taped {
 public:
  explicit Taped(Segments segments) : segments_(segments), segment_(0) {}

  std::size_t burst(Action* out) {
    Emitter emit(out);
    const Step last = segments_.count - 1;
    if (segment_ < 0) return 0;
    if (!turned_ && segment_ < last) {
      emit.store(at_, state_place());
      const Step end = segments_.begin(segment_ + 1);
      emit.advance(at_, end);
      at_ = end;
      ++segment_;
      return emit.count();
    }
    const Step begin = segments_.begin(segment_), end = segments_.begin(segment_ + 1);
    turned_ = true;
    if (up_ && at_ < end - 1) {
      emit.record(at_, record_place(begin));
      ++at_;
      return emit.count();
    }
    if (up_) {
      emit.record(at_);
      emit.reverse(at_);
      up_ = false;
    } else {
      emit.reverse(at_, record_place(begin));
      emit.drop(at_, record_place(begin));
    }
    if (at_-- > begin) return emit.count();
    if (--segment_ >= 0) {
      at_ = segments_.begin(segment_);
      emit.load(at_, state_place());
      emit.drop(at_, state_place());
      up_ = true;
    }
    return emit.count();
  }

 private:
  SlotRef state_place() const { return {0, static_cast<std::int32_t>(segment_)}; }
  SlotRef record_place(Step begin) const {
    return {0, static_cast<std::int32_t>(segments_.count - 1 + at_ - begin)};
  }

  Segments segments_;
  Step segment_, at_ = 0;
  bool turned_ = false, up_ = true;
};

// To the next segment's begin, and within the last one to its last step.
struct NextSegment {
  Segments segments;
  Step operator()(Step begin, Step length, std::int64_t) const {
    const Step next = segments.begin(segments.at(begin) + 1) - begin;
    return next < length ? next : length - 1;
  }
};

class Uniform final : public Schedule {
 public:
  explicit Uniform(const Question& question) : promise_(promise_for(question, Kind::uniform)) {
    segments_.steps = question.steps;
    taped_ = find_taped(question);
    if (taped_) {
      count_taped(question);
    } else {
      count_untaped(question);
    }
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    if (taped_) return std::make_unique<BurstStream<Taped>>(segments_);
    return std::make_unique<BurstStream<SplitReversal<NextSegment>>>(promise_.steps, promise_.slots[0],
                                                                     NextSegment{segments_});
  }

 private:
  // The fewest segments whose states fit with the records of the longest; false: none.
  bool find_taped(const Question& question) {
    const Level& level = question.levels[0];
    const auto fits = [&] {
      const __int128 states = segments_.count - 1, records = segments_.longest() - 1;
      if (states + records > (level.slots >= 0 ? std::min(level.slots, most_slots) : most_slots))
        return false;
      return level.bytes < 0 ||
             (question.record_bytes > 0 &&
              states * question.state_bytes + records * question.record_bytes <= level.bytes);
    };
    // The least sum of states and records is near this many segments, and more only cost more.
    const double ratio = level.bytes < 0 ? 1
                                         : static_cast<double>(question.record_bytes) /
                                               static_cast<double>(question.state_bytes);
    const auto most =
        static_cast<Step>(2 * std::sqrt(static_cast<double>(question.steps) * std::max(ratio, 1e-9))) + 2;
    for (Step count = 1; count <= std::min({most, question.steps, Step{10'000'000}}); ++count) {
      segments_.count = count;
      if (fits()) return true;
    }
    return false;
  }

  void count_taped(const Question& question) {
    const Step n = question.steps, states = segments_.count - 1, records = segments_.longest() - 1;
    promise_.advances = segments_.begin(states);
    promise_.peak_slots[0] = promise_.slots[0] = states + records;
    promise_.peak_bytes[0] = states * question.state_bytes + records * question.record_bytes;
    promise_.writes[0] = promise_.reads[0] = states + n - segments_.count;
  }

  void count_untaped(const Question& question) {
    const Step n = question.steps;
    const std::int64_t slots = state_slots(question, 0);
    if (n > 1 && slots < 1)
      does_not_fit(question, Kind::uniform,
                   fmt::format("one state, {}", to_string(Bytes(question.state_bytes))));
    segments_.count = std::min(n, slots);
    const Step count = segments_.count, length = n / count, longer = n % count;
    const auto within = [](__int128 l) { return l * (l - 1) / 2; };
    const __int128 advances =
        segments_.begin(count - 1) + longer * within(length + 1) + (count - longer) * within(length);
    if (advances > std::numeric_limits<Step>::max())
      bad_question("so few slots take more than 2^63 forward steps", "", "give more slots");
    promise_.advances = static_cast<Step>(advances);
    promise_.slots[0] = slots;
    promise_.peak_slots[0] = promise_.writes[0] = segments_.longest() == 1 ? count - 1 : count;
    promise_.peak_bytes[0] = promise_.peak_slots[0] * question.state_bytes;
    promise_.reads[0] = n - 1;
  }

  Segments segments_;
  bool taped_ = false;
  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> uniform_schedule(const Question& question) {
  return std::make_unique<Uniform>(question);
}

}  // namespace tidemark::schedule
