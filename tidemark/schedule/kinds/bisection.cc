#include "tidemark/schedule/kinds/bisection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/kinds/split_reversal.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

struct Middle {
  Step operator()(Step, Step length, std::int64_t slots) const {
    return slots == 1 ? length - 1 : length / 2;
  }
};

struct Figures {
  __int128 advances = 0;
  std::int64_t stores = 0, peak = 0;
};

// Halving gives two lengths at each depth, so that there are few to count.
class Counter {
 public:
  const Figures& of(Step length, std::int64_t slots) {
    const auto key = std::pair(length, slots);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Figures figures;
    if (length > 1 && slots == 1) {
      figures = {static_cast<__int128>(length) * (length - 1) / 2, 1, 1};
    } else if (length > 1) {
      const Step split = Middle()(0, length, slots);
      const Figures right = of(length - split, slots - 1);
      Figures left = of(split, slots);
      if (split > 1) left.stores -= 1;  // it is stored already
      figures = {split + right.advances + left.advances, 1 + right.stores + left.stores,
                 std::max(1 + right.peak, left.peak)};
    }
    return known_.emplace(key, figures).first->second;
  }

 private:
  std::map<std::pair<Step, std::int64_t>, Figures> known_;
};

class Bisection final : public Schedule {
 public:
  explicit Bisection(const Question& question) : promise_(promise_for(question, Kind::bisection)) {
    const std::int64_t slots = state_slots(question, 0);
    if (question.steps > 1 && slots < 1)
      does_not_fit(question, Kind::bisection,
                   fmt::format("one state, {}", to_string(Bytes(question.state_bytes))));
    const Figures figures = Counter().of(question.steps, slots);
    if (figures.advances > std::numeric_limits<Step>::max())
      bad_question("so few slots take more than 2^63 forward steps", "", "give more slots");
    promise_.slots[0] = slots;
    promise_.advances = static_cast<Step>(figures.advances);
    promise_.peak_slots[0] = figures.peak;
    promise_.peak_bytes[0] = figures.peak * question.state_bytes;
    promise_.writes[0] = figures.stores;
    promise_.reads[0] = question.steps - 1;
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    return std::make_unique<BurstStream<SplitReversal<Middle>>>(promise_.steps, promise_.slots[0], Middle());
  }

 private:
  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> bisection_schedule(const Question& question) {
  return std::make_unique<Bisection>(question);
}

}  // namespace tidemark::schedule
