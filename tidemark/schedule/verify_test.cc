#include "tidemark/schedule/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tidemark/schedule/action_text.h"

namespace tidemark::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Verdict judged(const std::string& header, const std::string& lines) {
  std::istringstream in("tidemark-schedule 1 " + header + "\n" + lines);
  ActionReader reader(in, "list");
  return verify(reader.question(), reader);
}

const std::string good =
    "store 0 in 0:0\nadvance 0 to 2\nrecord 2\nreverse 2\nload 0 from 0:0\nrecord 0 in 1:1\nrecord "
    "1\nreverse 1\n"
    "reverse 0 from 1:1\n";

TEST(Verify, CountsForItself) {
  const Verdict verdict =
      judged("steps=3 slots=1,2 write=1,10 read=100,1000 state=5 record=7 forward=0.5 reverse=2", good);
  EXPECT_FALSE(verdict.fault) << verdict.fault->what;
  EXPECT_EQ(verdict.actions, 9);
  EXPECT_EQ(verdict.seen.advances, 2);
  EXPECT_EQ(verdict.seen.recorded, 3);
  EXPECT_THAT(verdict.seen.peak_slots, ElementsAre(1, 1));
  EXPECT_THAT(verdict.seen.peak_bytes, ElementsAre(5, 7));
  EXPECT_THAT(verdict.seen.writes, ElementsAre(1, 1));
  EXPECT_THAT(verdict.seen.reads, ElementsAre(1, 1));
  EXPECT_EQ(verdict.seen.cost, 1 + 6 + 11 + 1100);
}

std::string fault_in(const std::string& header, const std::string& lines) {
  const Verdict verdict = judged(header, lines);
  return verdict.fault ? verdict.fault->what : "";
}

TEST(Verify, FindsEveryKindOfFault) {
  const std::string one = "steps=3 slots=1";
  EXPECT_THAT(fault_in(one, "record 1\n"), HasSubstr("working state is state 0"));
  EXPECT_THAT(fault_in(one, "advance 1 to 2\n"), HasSubstr("working state is state 0"));
  EXPECT_THAT(fault_in(one, "advance 0 to 4\n"), HasSubstr("not beyond 3"));
  EXPECT_THAT(fault_in(one, "advance 0 to 0\n"), HasSubstr("must go beyond 0"));
  EXPECT_THAT(fault_in(one, "record 7\n"), HasSubstr("no step 7"));
  EXPECT_THAT(fault_in(one, "reverse 2\n"), HasSubstr("no working record"));
  EXPECT_THAT(fault_in(one, "record 0\nreverse 0\n"), HasSubstr("next to be reversed is step 2"));
  EXPECT_THAT(fault_in(one, "record 0\nrecord 1\nrecord 2\nreverse 2\nreverse 1\n"), HasSubstr("of step 2"));
  EXPECT_THAT(fault_in(one, "store 0 in 0:1\n"), HasSubstr("1 slots"));
  EXPECT_THAT(fault_in(one, "store 0 in 1:0\n"), HasSubstr("no level 1"));
  EXPECT_THAT(fault_in(one, "store 0 in 0:0\nstore 0 in 0:0\n"), HasSubstr("taken by step 0"));
  EXPECT_THAT(fault_in(one, "load 0 from 0:0\n"), HasSubstr("empty"));
  EXPECT_THAT(fault_in(one, "drop 0 from 0:0\n"), HasSubstr("empty"));
  EXPECT_THAT(fault_in(one, "store 0 in 0:0\ndrop 1 from 0:0\n"), HasSubstr("of step 0"));
  EXPECT_THAT(fault_in(one, "store 0 in 0:0\nload 1 from 0:0\n"), HasSubstr("of step 0"));
  EXPECT_THAT(fault_in(one, "record 0 in 0:0\nload 0 from 0:0\n"), HasSubstr("holds no state"));
  EXPECT_THAT(fault_in("steps=1 slots=1", "store 0 in 0:0\nreverse 0 from 0:0\n"),
              HasSubstr("holds no record"));
  EXPECT_THAT(fault_in("steps=1", "record 0\nreverse 0\nreverse 0\n"), HasSubstr("already"));
  EXPECT_THAT(fault_in("steps=3 bytes=9 state=5 record=5", "store 0 in 0:0\nrecord 0 in 0:1\n"),
              HasSubstr("10 of its 9 bytes"));
  const Verdict early = judged(one, "store 0 in 0:0\nadvance 0 to 2\nrecord 2\nreverse 2\n");
  ASSERT_TRUE(early.fault);
  EXPECT_EQ(early.fault->index, 4);
  EXPECT_THAT(early.fault->what, HasSubstr("step 1 is not reversed"));
}

class Lying final : public Schedule {
 public:
  explicit Lying(std::unique_ptr<Schedule> honest) : honest_(std::move(honest)), lie(honest_->promise()) {}
  const Promise& promise() const override { return lie; }
  std::unique_ptr<ActionStream> actions() const override { return honest_->actions(); }

 private:
  std::unique_ptr<Schedule> honest_;

 public:
  Promise lie;
};

TEST(Verify, HoldsASchedulesToItsPromise) {
  const Question question{.steps = 20, .kind = Kind::binomial, .levels = {{.slots = 3}}};
  const auto caught = [&](auto&& change) {
    Lying schedule(make_schedule(question));
    change(schedule.lie);
    return verify(question, schedule).value_or("");
  };
  EXPECT_EQ(caught([](Promise&) {}), "");
  EXPECT_THAT(caught([](Promise& p) { --p.advances; }), HasSubstr("advances"));
  EXPECT_THAT(caught([](Promise& p) { ++p.recorded; }), HasSubstr("recorded"));
  EXPECT_THAT(caught([](Promise& p) { ++p.peak_slots[0]; }), HasSubstr("peak slots"));
  EXPECT_THAT(caught([](Promise& p) { ++p.peak_bytes[0]; }), HasSubstr("peak bytes"));
  EXPECT_THAT(caught([](Promise& p) { ++p.writes[0]; }), HasSubstr("writes"));
  EXPECT_THAT(caught([](Promise& p) { ++p.reads[0]; }), HasSubstr("reads"));
  EXPECT_THAT(caught([](Promise& p) { p.slots[0] = 2; }), HasSubstr("number 2 is used"));
  EXPECT_THAT(caught([](Promise& p) { p.cost += 1; }), HasSubstr("cost"));
}

}  // namespace
}  // namespace tidemark::schedule
