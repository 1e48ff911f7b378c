#include "tidemark/schedule/kinds/binomial.h"

#include <gtest/gtest.h>

#include <array>

#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/verify.h"

namespace tidemark::schedule {
namespace {

Question slots_question(Step steps, std::int64_t slots) {
  return {.steps = steps, .kind = Kind::binomial, .levels = {{.slots = slots}}};
}

TEST(Binomial, KeepsItsPromiseAtEverySmallSize) {
  for (Step n = 1; n <= 140; ++n) {
    for (std::int64_t s = 1; s <= 24; ++s) {
      const Question question = slots_question(n, s);
      const std::unique_ptr<Schedule> schedule = make_schedule(question);
      EXPECT_EQ(schedule->promise().advances, least_advances(n, s));
      const std::optional<std::string> fault = verify(question, *schedule);
      ASSERT_FALSE(fault) << "n " << n << " s " << s << ": " << *fault;
    }
  }
}

TEST(Binomial, KeepsItsPromiseOfManySteps) {
  for (const auto& [n, s] :
       {std::pair<Step, std::int64_t>{1000, 2}, {5000, 3}, {20000, 5}, {20000, 19'999}, {30000, 200}}) {
    const Question question = slots_question(n, s);
    const std::optional<std::string> fault = verify(question, *make_schedule(question));
    EXPECT_FALSE(fault) << "n " << n << " s " << s << ": " << *fault;
  }
}

TEST(Binomial, CountsWithOneSlotUpToSixtyThreeBits) {
  EXPECT_EQ(least_advances(3'000'000'000, 1), 4'499'999'998'500'000'000);
  EXPECT_EQ(least_advances(3'100'000'000, 1), 4'804'999'998'450'000'000);
  EXPECT_EQ(least_advances(4'294'967'296, 1), 9'223'372'034'707'292'160);
  EXPECT_EQ(least_advances(5'000'000'000, 1), -1);
}

TEST(Binomial, AnswersForABillionStepsAtOnce) {
  const std::unique_ptr<Schedule> schedule = make_schedule(slots_question(1'000'000'000, 100));
  EXPECT_EQ(schedule->promise().advances, 5'898'659'124);  // 6·10⁹ − C(106, 101)
  const std::unique_ptr<ActionStream> actions = schedule->actions();
  std::array<Action, 4096> batch;
  Step reversed = 1'000'000'000;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(actions->fill(batch), batch.size());
    for (const Action& action : batch) {
      if (action.kind == ActionKind::reverse) {
        EXPECT_EQ(action.step, --reversed);
      }
      EXPECT_LT(action.slot, 100);
    }
  }
}

TEST(Binomial, NextAndFillGiveTheSameActions) {
  const std::unique_ptr<Schedule> schedule = make_schedule(slots_question(57, 4));
  const std::unique_ptr<ActionStream> one_by_one = schedule->actions(), many = schedule->actions();
  std::array<Action, 11> batch;
  Action action;
  for (std::size_t count; (count = many->fill(batch)) > 0;) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(one_by_one->next(action));
      EXPECT_EQ(action, batch[i]);
    }
  }
  EXPECT_FALSE(one_by_one->next(action));
  EXPECT_FALSE(one_by_one->next(action));
}

TEST(Binomial, RefusesWhatCannotBe) {
  EXPECT_THROW(make_schedule(slots_question(0, 3)), Error);
  EXPECT_THROW(make_schedule(slots_question(-4, 3)), Error);
  EXPECT_THROW(make_schedule(slots_question(10, -7)), Error);
  EXPECT_THROW(make_schedule(slots_question(most_steps, 1)), Error);  // more forward steps than 63 bits count
  try {
    make_schedule({.steps = 10, .kind = Kind::binomial, .levels = {{.bytes = 1000}}, .state_bytes = 1001});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::infeasible_budget);
    EXPECT_NE(std::string(error.what()).find("1001 B"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::schedule
