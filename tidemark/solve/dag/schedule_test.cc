#include "tidemark/solve/dag/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// a → b → c, a → d
Dag small() {
  return {.names = {"a", "b", "c", "d"},
          .cost = {1, 2, 4, 8},
          .bytes = {1, 10, 100, 1000},
          .backward = {false, false, true, true},
          .edges = {{0, 1}, {1, 2}, {0, 3}}};
}

Dag random_dag(std::mt19937_64& random, int nodes) {
  Dag dag;
  for (int i = 0; i < nodes; ++i) {
    dag.names.push_back(std::to_string(i));
    dag.cost.push_back(static_cast<double>(random() % 10));
    dag.bytes.push_back(static_cast<std::int64_t>(random() % 100));
    dag.backward.push_back(false);
    for (int j = 0; j < i; ++j) {
      if (random() % 4 == 0) dag.edges.push_back({j, i});
    }
  }
  return dag;
}

TEST(DagSchedule, CountsPeakAndCost) {
  const ScheduleCheck base = check_schedule(small(), Sequence{0, 1, 2, 3});
  EXPECT_FALSE(base.fault);
  EXPECT_EQ(base.peak, 1001);
  EXPECT_EQ(base.peak_at, 3);
  EXPECT_EQ(base.cost, 15);
  EXPECT_EQ(base.repeats, 0);
  EXPECT_TRUE(base.in_order);
  const ScheduleCheck again = check_schedule(small(), Sequence{0, 3, 0, 1, 0, 2});
  EXPECT_FALSE(again.fault);
  EXPECT_EQ(again.cost, 17);
  EXPECT_EQ(again.repeats, 2);
  EXPECT_FALSE(again.in_order);
  EXPECT_EQ(again.peak_at, 1);
}

TEST(DagSchedule, FaultsNameEntryAndNodes) {
  EXPECT_THAT(check_schedule(small(), Sequence{0, 4}).fault, Optional(HasSubstr("entry 1 is 4")));
  EXPECT_THAT(check_schedule(small(), Sequence{-1}).fault, Optional(HasSubstr("entry 0 is -1")));
  EXPECT_THAT(check_schedule(small(), Sequence{0, 2}).fault,
              Optional(HasSubstr("entry 1 runs node 2 `c` before its input node 1 `b`")));
  EXPECT_THAT(check_schedule(small(), Sequence{0, 1, 3}).fault, Optional(HasSubstr("node 2 `c` never runs")));
  EXPECT_THAT(check_schedule(small(), Sequence{}).fault, Optional(HasSubstr("node 0 `a` never runs")));
}

// Two ways of counting that share no code.
TEST(DagSchedule, AgreesWithTheFiguresOfTheProblem) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const Dag dag = random_dag(random, 1 + static_cast<int>(random() % 12));
    const RematProblem problem = problem_of(dag);
    Sequence sequence;
    for (int i = 0; i < dag.size(); ++i) {
      sequence.push_back(i);
      while (random() % 3 == 0) sequence.push_back(static_cast<int>(random() % static_cast<unsigned>(i + 1)));
    }
    ASSERT_TRUE(is_valid_sequence(problem, sequence));
    const SequenceFigures figures = figures_of(problem, sequence);
    const ScheduleCheck check = check_schedule(dag, sequence);
    ASSERT_FALSE(check.fault) << *check.fault;
    EXPECT_EQ(check.peak, figures.peak);
    EXPECT_EQ(check.cost, figures.cost);
    if (figures.peak > 0) {
      EXPECT_EQ(check.peak_at, figures.peak_at);
    }
    std::int64_t alive = 0;
    for (int node : alive_at(dag, sequence, check.peak_at))
      alive += dag.bytes[static_cast<std::size_t>(node)];
    EXPECT_EQ(alive, check.peak);
  }
}

TEST(DagSchedule, WhatIsAliveIsToldLargestFirst) {
  EXPECT_THAT(alive_at(small(), Sequence{0, 1, 2, 3}, 2), ElementsAre(2, 1, 0));
  EXPECT_THAT(alive_at(small(), Sequence{0, 1, 2, 0, 3}, 2), ElementsAre(2, 1)) << "a is made again";
  EXPECT_THAT(alive_at(small(), Sequence{0, 1, 2, 0, 3}, 4), ElementsAre(3, 0));
}

TEST(DagSchedule, TextIsReadAsWritten) {
  Sequence schedule;
  for (int i = 0; i < 45; ++i) schedule.push_back(i * 7 % 11);
  EXPECT_EQ(schedule_from_text(schedule_text(schedule), "s"), schedule);
  EXPECT_THAT(schedule_from_text(" 3\t1\r\n\n2", "s"), ElementsAre(3, 1, 2));
  EXPECT_TRUE(schedule_from_text("", "s").empty());
}

TEST(DagSchedule, BadTextNamesLineAndEntry) {
  for (const char* word : {"x", "1.5", "1,2", "99999999999", "+1", "0x1", "\xff"}) {
    try {
      schedule_from_text("0 1\n2 " + std::string(word) + " 3", "dir/run.txt");
      ADD_FAILURE() << word;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("run.txt:2"), HasSubstr("entry 3 is no index")));
    }
  }
}

}  // namespace
}  // namespace tidemark
