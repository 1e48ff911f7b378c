#include "tidemark/schedule/action_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tidemark/base/error.h"
#include "tidemark/schedule/verify.h"

namespace tidemark::schedule {
namespace {

using ::testing::HasSubstr;

TEST(ActionText, IsReadable) {
  const Question question{.steps = 3, .kind = Kind::binomial, .levels = {{.slots = 1}}};
  std::ostringstream out;
  write_actions(out, question, *make_schedule(question));
  EXPECT_EQ(
      out.str(),
      "tidemark-schedule 1 kind=binomial steps=3 slots=1 bytes=- write=0 read=0 state=1 record=1 forward=1 "
      "reverse=1\n"
      "store 0 in 0:0\n"
      "advance 0 to 2\n"
      "record 2\n"
      "reverse 2\n"
      "load 0 from 0:0\n"
      "advance 0 to 1\n"
      "record 1\n"
      "reverse 1\n"
      "load 0 from 0:0\n"
      "drop 0 from 0:0\n"
      "record 0\n"
      "reverse 0\n");
}

TEST(ActionText, ReadsBackWhatItWrote) {
  for (const Question& question : {Question{.steps = 40,
                                  .kind = Kind::binomial,
                                  .levels = {{.bytes = 40'000, .write_cost = 0.1}},
                                  .state_bytes = 9000},
                                   Question{.steps = 9,
                                   .kind = Kind::store_all,
                                   .levels = {{.slots = 3}, {.slots = 100, .read_cost = 1e-7}}}}) {
    const std::unique_ptr<Schedule> schedule = make_schedule(question);
    std::stringstream text;
    write_actions(text, question, *schedule);
    ActionReader reader(text, "list");
    EXPECT_EQ(header_text(reader.question()), header_text(question));
    const std::unique_ptr<ActionStream> actions = schedule->actions();
    Action expected, read;
    while (actions->next(expected)) {
      ASSERT_TRUE(reader.next(read));
      EXPECT_EQ(read, expected) << to_text(expected);
    }
    EXPECT_FALSE(reader.next(read));
  }
}

std::string complaint(const std::string& text) {
  try {
    std::istringstream in(text);
    ActionReader reader(in, "list.txt");
    Action action;
    while (reader.next(action)) {
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::syntax);
    return error.what();
  }
  return "";
}

TEST(ActionText, SaysWhatIsWrongAndWhere) {
  const std::string header = "tidemark-schedule 1 steps=3 slots=1\n";
  EXPECT_EQ(complaint(header + "record 0\n"), "");
  EXPECT_THAT(complaint(""), HasSubstr("no header"));
  EXPECT_THAT(complaint("record 0\n"), HasSubstr("no header"));
  EXPECT_THAT(complaint("tidemark-schedule 2 steps=3\n"), HasSubstr("version '2'"));
  EXPECT_THAT(complaint("tidemark-schedule 1 slots=3\n"), HasSubstr("no steps="));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=0\n"), HasSubstr("at least 1"));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=3 steps=4\n"), HasSubstr("twice"));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=99999999999999999999\n"), HasSubstr("no whole number"));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=3 slots=1,2 write=1\n"), HasSubstr("lists 1 levels"));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=3 kind=best\n"), HasSubstr("'best'"));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=3 shots=best\n"), HasSubstr("'shots'"));
  EXPECT_THAT(complaint(header + "record 0\nrecrod 1\n"), HasSubstr("list.txt:3"));
  EXPECT_THAT(complaint(header + "\n"), HasSubstr("an empty line"));
  EXPECT_THAT(complaint(header + "store 0\n"), HasSubstr("store"));
  EXPECT_THAT(complaint(header + "store 0 in 0\n"), HasSubstr("LEVEL:SLOT"));
  EXPECT_THAT(complaint(header + "store 0 in -1:0\n"), HasSubstr("no place"));
  EXPECT_THAT(complaint(header + "advance 0 to two\n"), HasSubstr("'two'"));
  EXPECT_THAT(complaint(header + "load 0 in 0:0\n"), HasSubstr("does not go on"));
}

TEST(ActionText, RefusesNumbersThatNoScheduleHas) {
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=9223372036854775807\n"),
              HasSubstr("at most 1000000000000"));
  for (const char* cost : {"nan", "inf", "-1", "1e300"})
    for (const char* key : {"forward", "reverse", "write", "read"})
      EXPECT_THAT(complaint(std::string("tidemark-schedule 1 steps=3 ") + key + "=" + cost + "\n"),
                  HasSubstr("a cost of"))
          << key << cost;
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=3 state=0\n"), HasSubstr("of no bytes"));
  EXPECT_THAT(complaint("tidemark-schedule 1 steps=3 record=-1\n"), HasSubstr("of no bytes"));
  EXPECT_THAT(complaint(std::string(10'000'000, 'x')), HasSubstr("too long"));
}

// What a list of a few lines says may not take more memory than lines, nor overflow.
TEST(ActionText, ListsOfHugeNumbersAreJudged) {
  std::string text = "tidemark-schedule 1 steps=3 slots=-,-,-,- state=9223372036854775807\n";
  for (const char* place : {"0:2147483647", "1:999999", "2:99999", "3:65535"})
    text += std::string("store 0 in ") + place + "\n";
  std::istringstream in(text + "store 0 in 0:0\n");
  ActionReader reader(in, "list.txt");
  const Verdict verdict = verify(reader.question(), reader);
  ASSERT_TRUE(verdict.fault);
  EXPECT_THAT(verdict.fault->what, HasSubstr("more bytes than can be counted"));
}

}  // namespace
}  // namespace tidemark::schedule
