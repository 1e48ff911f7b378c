#include "tidemark/schedule/run.h"

#include <gtest/gtest.h>

namespace tidemark::schedule {
namespace {

// Carries a list of actions as a schedule.
class Written final : public Schedule {
 public:
  Written(Step steps, std::vector<Action> actions) : actions_(std::move(actions)) {
    promise_.steps = steps;
    promise_.slots = {8};
  }
  const Promise& promise() const override { return promise_; }
  std::unique_ptr<ActionStream> actions() const override {
    struct Stream : ActionStream {
      explicit Stream(const std::vector<Action>& list) : actions(list) {}
      bool next(Action& action) override {
        if (at == actions.size()) return false;
        action = actions[at++];
        return true;
      }
      const std::vector<Action>& actions;
      std::size_t at = 0;
    };
    return std::make_unique<Stream>(actions_);
  }

 private:
  Promise promise_;
  std::vector<Action> actions_;
};

struct Logistic {
  void advance(double& x, Steps range) {
    for (Step i = range.begin; i < range.end; ++i) x = 3.7 * x * (1 - x);
  }
  double record(double& x, Step i) {
    const double before = x;
    advance(x, {i, i + 1});
    return before;
  }
  void reverse(double x, double& adjoint, Step) { adjoint *= 3.7 * (1 - 2 * x); }
};

TEST(Run, ReversesTwoStepsFromOneSlot) {
  using enum ActionKind;
  const Written schedule(2, {{store, 0, 0, 0, 0},
                             {advance, working, 0, 0, 1},
                             {record, working, 0, 1, 1},
                             {reverse, working, 0, 1, 1},
                             {load, 0, 0, 0, 0},
                             {record, working, 0, 0, 0},
                             {reverse, working, 0, 0, 0},
                             {drop, 0, 0, 0, 0}});
  Logistic stepper;
  double x = 0.3, adjoint = 1;
  const Report report = run(stepper, x, adjoint, schedule, {.verify = Verify::replay});
  const double x1 = 3.7 * 0.3 * (1 - 0.3);
  EXPECT_EQ(adjoint, 1 * (3.7 * (1 - 2 * x1)) * (3.7 * (1 - 2 * 0.3)));
  EXPECT_EQ(report.advances, 1);
  EXPECT_EQ(report.recorded, 2);
  EXPECT_EQ(report.compared, 2);
  EXPECT_EQ(report.levels[0].peak_bytes, Bytes(8));
}

TEST(Run, GivesTheSameBitsOnEverySchedule) {
  Logistic stepper;
  double x = 0.3, expected = 1;
  run(stepper, x, expected, 100, {.kind = Kind::store_all});
  for (const std::int64_t slots : {1, 3, 10, 200}) {
    double y = 0.3, adjoint = 1;
    const Report report =
        run(stepper, y, adjoint, 100,
            {.levels = {{.slots = slots}}, .kind = Kind::binomial, .verify = Verify::replay});
    EXPECT_EQ(adjoint, expected) << slots;
    EXPECT_EQ(report.actual_forward(), report.predicted_forward()) << slots;
    EXPECT_LE(report.levels[0].peak_slots, slots);
    EXPECT_EQ(report.hashed, 101);
  }
}

}  // namespace
}  // namespace tidemark::schedule
