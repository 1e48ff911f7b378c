#include "tidemark/schedule/kinds/binomial.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/binomial_reversal.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

class Binomial final : public Schedule {
 public:
  explicit Binomial(const Question& question) : promise_(promise_for(question, Kind::binomial)) {
    const Step n = question.steps;
    const std::int64_t slots = state_slots(question, 0);
    if (n > 1 && slots < 1)
      does_not_fit(question, Kind::binomial,
                   fmt::format("one state, {}", to_string(Bytes(question.state_bytes))));
    promise_.slots[0] = slots;
    promise_.advances = n > 1 ? least_advances(n, slots) : 0;
    if (promise_.advances < 0)
      bad_question(fmt::format("{} steps with {} slots take more than 2^63 forward steps", n, slots), "",
                   "give more slots");
    promise_.peak_slots[0] = std::min(slots, n - 1);
    promise_.peak_bytes[0] = promise_.peak_slots[0] * question.state_bytes;
    promise_.writes[0] = n > 1 ? stores_of(n, slots) : 0;
    promise_.reads[0] = n - 1;  // one for each split of a binary tree with n leaves
    promise_.cost = cost_of(question, promise_);
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    return std::make_unique<BurstStream<BinomialReversal>>(Step{0}, promise_.steps, std::int16_t{0},
                                                           promise_.slots[0]);
  }

 private:
  Promise promise_;
};

}  // namespace

std::unique_ptr<Schedule> binomial_schedule(const Question& question) {
  return std::make_unique<Binomial>(question);
}

}  // namespace tidemark::schedule
