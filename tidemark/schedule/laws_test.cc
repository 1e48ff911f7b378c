// Every kind over a grid of questions: the verifier finds each plan sound, within its budget after every
// action, and as costly as promised; and no kind beats one that claims to be the best.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/action_text.h"
#include "tidemark/schedule/plan.h"
#include "tidemark/schedule/verify.h"

namespace tidemark::schedule {
namespace {

class Laws : public ::testing::Test {
 protected:
  // The cost, or -1 where nothing fits; negative too for points that a sanitizer's run leaves out.
  double check(const Question& question) {
    if (++asked_ % sanitizer_share != 0) return -1;
    std::unique_ptr<Schedule> schedule;
    try {
      schedule = make_schedule(question);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::infeasible_budget) << error.what();
      return -1;
    }
    ++planned_;
    const Promise& promise = schedule->promise();
    const std::optional<std::string> fault = verify(question, *schedule);
    EXPECT_FALSE(fault) << header_text(question) << ": " << *fault;
    EXPECT_NE(promise.kind, Kind::automatic);
    EXPECT_GE(promise.recorded, question.steps);
    for (std::size_t i = 0; i < question.levels.size(); ++i) {
      if (question.levels[i].slots >= 0) {
        EXPECT_LE(promise.peak_slots[i], question.levels[i].slots) << header_text(question);
      }
      if (question.levels[i].bytes >= 0) {
        EXPECT_LE(promise.peak_bytes[i], question.levels[i].bytes) << header_text(question);
      }
    }
    return promise.cost;
  }

  // Of two costs, where both are there.
  static void expect_at_most(double cost, double other, const Question& question) {
    if (cost >= 0 && other >= 0) {
      EXPECT_LE(cost, other * (1 + 1e-12)) << header_text(question);
    }
  }

  // Plans that were made and verified.
  void expect_points(unsigned points) const { EXPECT_GE(planned_ * sanitizer_share * (few ? 2 : 1), points); }

 private:
  unsigned asked_ = 0, planned_ = 0;
};

TEST_F(Laws, OneLevelOfSlots) {
  for (Step n = 1; n <= 200; n += n < 60 ? 1 : 4) {
    for (std::int64_t s = 0; s <= 60; s += s < 24 ? 1 : 4) {
      Question question{.steps = n, .kind = Kind::binomial, .levels = {{.slots = s}}};
      const double best = check(question);
      for (Kind kind : {Kind::uniform, Kind::bisection, Kind::online, Kind::multilevel}) {
        question.kind = kind;
        const double cost = check(question);
        if (kind == Kind::multilevel) expect_at_most(cost, best, question);
        if (kind != Kind::uniform) expect_at_most(best, cost, question);  // which keeps records
      }
      question.kind = Kind::automatic;
      expect_at_most(check(question), best, question);
    }
  }
  expect_points(15'000);
}

TEST_F(Laws, StatesAndRecordsInBytes) {
  for (Step n = 1; n <= 36; ++n) {
    for (std::int64_t state : {1, 3, 10}) {
      for (std::int64_t record : {1, 2, 7, 25}) {
        double before = -1;
        for (std::int64_t bytes = 0; bytes <= 60; bytes += 4) {
          Question question{.steps = n,
                            .kind = Kind::mixed,
                            .levels = {{.bytes = bytes}},
                            .state_bytes = state,
                            .record_bytes = record};
          const double mixed = check(question);
          expect_at_most(mixed, before, question);  // more room never costs more
          before = mixed;
          for (Kind kind : {Kind::store_all, Kind::uniform, Kind::binomial}) {
            question.kind = kind;
            expect_at_most(mixed, check(question), question);
          }
          question.kind = Kind::automatic;
          expect_at_most(check(question), mixed, question);
        }
      }
    }
  }
  expect_points(25'000);
}

struct Costs {
  double write, read;
};

TEST_F(Laws, TwoLevels) {
  for (Step n = 1; n <= 60; n += n < 24 ? 1 : 4) {
    for (std::int64_t ram = 0; ram <= 5; ++ram) {
      for (std::int64_t disk = 0; disk <= 5; ++disk) {
        for (const Costs& slow : {Costs{2, 2}, {0.5, 0.5}, {1, 8}, {8, 1}, {1.0 / 3, 20}, {0, 0}}) {
          for (const Costs& fast : {Costs{0, 0}, {0.25, 0.5}}) {
            Question question{.steps = n,
                              .kind = Kind::multilevel,
                              .levels = {{.slots = ram, .write_cost = fast.write, .read_cost = fast.read},
                                         {.slots = disk, .write_cost = slow.write, .read_cost = slow.read}}};
            const double cost = check(question);
            Question one_level = question;
            one_level.kind = Kind::binomial;
            one_level.levels.resize(1);
            expect_at_most(cost, check(one_level), question);
            question.kind = Kind::automatic;
            expect_at_most(check(question), cost, question);
            question.kind = Kind::disk;
            question.levels[1].slots = -1;
            expect_at_most(check(question), cost, question);
            question.levels[1].slots = disk;
            question.forward_cost = 2, question.reverse_cost = 3.5;
            question.kind = Kind::multilevel;
            check(question);
          }
        }
      }
    }
  }
  expect_points(55'000);
}

TEST_F(Laws, ThreeLevelsAndFour) {
  for (Step n = 1; n <= 45; n += n < 12 ? 1 : 6) {
    for (std::int64_t a = 0; a <= 2; ++a) {
      for (std::int64_t b = 0; b <= 3; ++b) {
        for (std::int64_t c = 0; c <= 3; ++c) {
          for (const Costs& last : {Costs{4, 4}, {1, 10}, {10, 1}}) {
            Question question{.steps = n,
                              .kind = Kind::multilevel,
                              .levels = {{.slots = a},
                                         {.slots = b, .write_cost = 1, .read_cost = 1},
                                         {.slots = c, .write_cost = last.write, .read_cost = last.read}}};
            const double three = check(question);
            question.levels.push_back({.slots = 2, .write_cost = 15, .read_cost = 15});
            const double four = check(question);
            expect_at_most(four, three, question);
            question.kind = Kind::disk;
            question.levels.back().slots = -1;
            expect_at_most(check(question), four, question);
          }
        }
      }
    }
  }
  expect_points(7'000);
}

TEST_F(Laws, BackgroundWrites) {
  for (Step n = 1; n <= 120; n += n < 40 ? 1 : 7) {
    for (std::int64_t slots = 0; slots <= 6; ++slots) {
      for (std::int64_t far : {-1, 0, 1, 2, 5, 12}) {
        for (double transfer : {0.0, 0.5, 1.0, 1.5, 4.0, 13.0, 1000.0}) {
          check({.steps = n,
                 .kind = Kind::background,
                 .levels = {{.slots = slots},
                            {.slots = far, .write_cost = transfer, .read_cost = transfer / 2}}});
        }
      }
    }
  }
  expect_points(13'000);
}

TEST_F(Laws, BytesOnEveryLevel) {
  for (Step n = 1; n <= 60; n += n < 20 ? 1 : 8) {
    for (std::int64_t state : {7, 100}) {
      for (std::int64_t ram : {0, 6, 50, 99, 350, 1000}) {
        for (std::int64_t disk : {-1, 0, 100, 500, 5000}) {
          for (Kind kind : {Kind::automatic, Kind::multilevel, Kind::background, Kind::disk, Kind::online,
                            Kind::store_all}) {
            Question question{.steps = n,
                              .kind = kind,
                              .levels = {{.bytes = ram}, {.bytes = disk, .write_cost = 3, .read_cost = 2}},
                              .state_bytes = state,
                              .record_bytes = 3 * state};
            if (kind == Kind::online) question.levels.resize(1);  // it knows no more
            check(question);
          }
        }
      }
    }
  }
  expect_points(6'000);
}

}  // namespace
}  // namespace tidemark::schedule
