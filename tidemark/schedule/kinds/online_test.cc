#include "tidemark/schedule/kinds/online.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/verify.h"

namespace tidemark::schedule {
namespace {

TEST(Online, StaysNearTheBestScheduleThatKnowsTheLength) {
  for (const auto& [slots, most] :
       {std::pair<std::int64_t, double>{2, 1.11}, {3, 1.07}, {4, 1.06}, {5, 1.06}, {10, 1.06}, {20, 1.06}}) {
    Online online(slots);
    for (Step n = 1; n <= 1000; ++n) {
      const double total = static_cast<double>(2 * n - 1 + online.advances_to_finish(n));
      EXPECT_LE(total / static_cast<double>(n + least_advances(n, slots)), most)
          << "s " << slots << " n " << n;
      online.visit(n - 1);
    }
  }
}

// The sweep so far and what follows it.
class Whole final : public ActionStream {
 public:
  Whole(std::vector<Action> sweep, std::unique_ptr<ActionStream> rest)
      : sweep_(std::move(sweep)), rest_(std::move(rest)) {}
  bool next(Action& action) override {
    if (at_ == sweep_.size()) return rest_->next(action);
    action = sweep_[at_++];
    return true;
  }

 private:
  std::vector<Action> sweep_;
  std::unique_ptr<ActionStream> rest_;
  std::size_t at_ = 0;
};

TEST(Online, CanBeFinishedAtAnyMoment) {
  for (std::int64_t slots : {1, 2, 3, 5, 9}) {
    Online online(slots);
    std::vector<Action> sweep;
    const auto expect_finished = [&](Step n) {
      const Question question{.steps = n, .levels = {{.slots = slots}}};
      Whole whole(sweep, online.finish(n));
      const Verdict verdict = verify(question, whole);
      EXPECT_FALSE(verdict.fault) << "s " << slots << " n " << n << ": " << verdict.fault->what;
      EXPECT_EQ(verdict.seen.advances, online.visited() + online.advances_to_finish(n));
    };
    for (Step i = 0; i < 90; ++i) {
      expect_finished(i + 1);  // the step from here is the last
      const auto actions = online.visit(i);
      sweep.insert(sweep.end(), actions.begin(), actions.end());
      sweep.push_back({ActionKind::advance, working, 0, i, i + 1});
      expect_finished(i + 1);  // the step was the last, and is taken
    }
  }
}

// Dropping kept states before the reversal never helps: `finish` is the best use of what is there.
TEST(Online, FinishIsTheBestUseOfWhatIsKept) {
  for (std::int64_t slots : {2, 3, 4, 6}) {
    Online online(slots);
    for (Step n = 1; n <= 300; ++n) {
      if (n % 7 == 0 || n < 40) {
        std::vector<Step> kept;
        for (const Online::Kept& k : online.kept()) kept.push_back(k.state);
        Step best = kept.empty() ? 0 : INT64_MAX;
        for (unsigned subset = 1; subset < 1u << kept.size(); subset += 2) {  // state 0 stays
          std::vector<Step> some;
          for (std::size_t i = 0; i < kept.size(); ++i) {
            if (subset >> i & 1) some.push_back(kept[i]);
          }
          some.push_back(n - 1);
          Step sum = 0;
          for (std::size_t i = 0; i + 1 < some.size(); ++i) {
            const Step length = some[i + 1] - some[i];
            if (length > 1) sum += least_advances(length, slots - static_cast<std::int64_t>(i));
          }
          best = std::min(best, sum);
        }
        EXPECT_EQ(online.advances_to_finish(n), best) << "s " << slots << " n " << n;
      }
      online.visit(n - 1);
    }
  }
}

}  // namespace
}  // namespace tidemark::schedule
