#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using tidemark::testing::ScratchFolder;

class ScheduleCommand : public ::testing::Test {
 protected:
  static CommandRun schedule(const std::string& arguments) {
    return run_command(std::string(TIDEMARK_CLI) + " schedule " + arguments);
  }
  static nlohmann::json figures(const std::string& arguments) {
    const CommandRun run = schedule(arguments + " --json");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return nlohmann::json::parse(run.out);
  }
  ScratchFolder folder_;
};

TEST_F(ScheduleCommand, GivesTheFiguresOfOneLevel) {
  const nlohmann::json json = figures("--steps 100 --slots 5 --kind binomial");
  EXPECT_EQ(json["kind"], "binomial");
  EXPECT_EQ(json["steps"], 100);
  EXPECT_EQ(json["slots"], 5);
  EXPECT_EQ(json["advances"], 316);
  EXPECT_EQ(json["recorded"], 100);
  EXPECT_EQ(json["total_forward"], 416);
  EXPECT_DOUBLE_EQ(json["overhead"].get<double>(), 4.16);
  EXPECT_EQ(json["peak_slots"], 5);
  EXPECT_EQ(json["cost"], 416);
}

TEST_F(ScheduleCommand, GivesTheFiguresOfSeveralLevels) {
  const nlohmann::json json =
      figures("--steps 100 --slots 3,5 --write-cost 0,2 --read-cost 0,2 --kind multilevel");
  EXPECT_EQ(json["cost"], 393);
  EXPECT_EQ(json["slots"], nlohmann::json::parse("[3,5]"));
  EXPECT_EQ(json["peak_slots"].size(), 2u);
  EXPECT_EQ(figures("--steps 100 --slots 3,5 --write-cost 2 --read-cost 2")["cost"],
            393);  // the last level's
  EXPECT_EQ(
      figures("--steps 100 --slots 3,5 --write-cost 0,2 --read-cost 0,2 --forward-cost 2 --reverse-cost 0 "
              "--kind multilevel")["recorded"],
      100);
}

TEST_F(ScheduleCommand, PlansInBytes) {
  const nlohmann::json json = figures("--steps 1e6 --memory 1GiB --state 8MiB");
  EXPECT_EQ(json["kind"], "binomial");
  EXPECT_EQ(json["slots"], 128);
  EXPECT_EQ(json["peak_bytes"], 1 << 30);
  EXPECT_EQ(figures("--steps 100 --memory 10kB --state 1kB --record 100B")["kind"], "store-all");
  EXPECT_EQ(figures("--steps 100 --memory 10kB --state 1kB --record 1kB")["total_forward"], 237);
  const nlohmann::json disk =
      figures("--steps 1000 --memory 4MB --disk 40MB --state 1MB --write-cost 5 --read-cost 5");
  EXPECT_EQ(disk["kind"], "multilevel");
  EXPECT_EQ(disk["peak_bytes"].size(), 2u);
}

TEST_F(ScheduleCommand, KnowsEveryKind) {
  for (const char* kind : {"automatic", "store-all", "uniform", "bisection", "binomial", "mixed",
                           "multilevel", "disk", "online", "background"}) {
    const nlohmann::json json = figures(std::string("--steps 20 --slots 19 --kind ") + kind);
    EXPECT_EQ(json["recorded"], 20) << kind;
  }
  EXPECT_EQ(figures("--steps 20 --kind store-all")["advances"], 0);
  EXPECT_EQ(schedule("--steps 20 --slots 3 --kind best").exit_code, 4);
}

TEST_F(ScheduleCommand, AListOfActionsIsWrittenAndVerified) {
  const std::string list = folder_.path("list");
  for (const char* question : {"--steps 60 --slots 4", "--steps 60 --slots 2,3 --write-cost 2 --read-cost 1",
                               "--steps 60 --memory 100 --state 20 --record 7"}) {
    ASSERT_EQ(schedule(question + (" --actions " + list)).exit_code, 0);
    const CommandRun good = schedule("--check " + list + " --json");
    EXPECT_EQ(good.exit_code, 0) << good.err;
    const nlohmann::json seen = nlohmann::json::parse(good.out), promised = figures(question);
    EXPECT_EQ(seen["valid"], true);
    for (const char* figure : {"advances", "recorded", "total_forward", "peak_slots", "cost"})
      EXPECT_EQ(seen[figure], promised[figure]) << figure;
  }
  EXPECT_THAT(schedule("--check " + list).out, HasSubstr("a schedule of 60 steps"));
}

TEST_F(ScheduleCommand, AWrongListIsRefusedWithItsLine) {
  const std::string header = "tidemark-schedule 1 steps=2 slots=1\n";
  const auto refused = [&](const std::string& text) {
    return schedule("--check " + folder_.write("list", text));
  };
  const std::string good =
      "store 0 in 0:0\nadvance 0 to 1\nrecord 1\nreverse 1\nload 0 from 0:0\nrecord 0\nreverse 0\n";
  EXPECT_EQ(refused(header + good).exit_code, 0);
  const CommandRun wrong = refused(header + "store 0 in 0:0\nrecord 1\n");
  EXPECT_EQ(wrong.exit_code, 4);
  EXPECT_THAT(wrong.err, HasSubstr("list:3"));
  EXPECT_THAT(wrong.err, HasSubstr("working state is state 0"));
  EXPECT_EQ(refused(header + "hello\n").exit_code, 4);
  EXPECT_EQ(refused("").exit_code, 4);
  EXPECT_EQ(refused(header).exit_code, 4);
  EXPECT_EQ(schedule("--check " + folder_.path("none")).exit_code, 4);
  const std::string list = folder_.write("list", header + good);
  EXPECT_EQ(schedule("--check " + list + " --slots 0").exit_code, 3);  // it does not fit there
  EXPECT_EQ(schedule("--check " + list + " --steps 2 --slots 2").exit_code, 0);
  EXPECT_EQ(schedule("--check " + list + " --steps 3").exit_code, 4);
}

TEST_F(ScheduleCommand, DrawsTheStaircase) {
  const std::string file = folder_.path("stairs.svg");
  for (const char* question :
       {"--steps 30 --slots 3", "--steps 20000 --slots 3,5 --write-cost 2 --read-cost 2", "--steps 1",
        "--steps 500 --kind store-all"}) {
    const std::string slots = std::string(question) == "--steps 1" ? " --slots 1" : "";
    EXPECT_EQ(schedule(question + slots + " --svg " + file).exit_code, 0);
    const std::string text = folder_.read("stairs.svg");
    EXPECT_THAT(text, HasSubstr("<svg"));
    EXPECT_THAT(text, HasSubstr("</svg>"));
    EXPECT_THAT(text, HasSubstr("action</text>"));
    EXPECT_LT(text.size(), 1u << 20);
  }
}

TEST_F(ScheduleCommand, SaysWhatIsMissingToFit) {
  const CommandRun run = schedule("--steps 100 --memory 1MiB --state 2MiB --json");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("2.00 MiB"));
  EXPECT_EQ(nlohmann::json::parse(run.out)["fits"], false);
  EXPECT_EQ(schedule("--steps 100 --slots 0").exit_code, 3);
  const CommandRun tape = schedule("--steps 100 --slots 10 --kind store-all");
  EXPECT_EQ(tape.exit_code, 3);
  EXPECT_THAT(tape.err, HasSubstr("99 slots"));
}

TEST_F(ScheduleCommand, RefusesNonsense) {
  EXPECT_EQ(schedule("").exit_code, 2);
  EXPECT_EQ(schedule("--steps 10").exit_code, 2);
  EXPECT_EQ(schedule("--slots 10").exit_code, 2);
  EXPECT_EQ(schedule("--steps 10 --memory 1MiB").exit_code, 2);
  EXPECT_EQ(schedule("--steps 10 --slots 3 --memory 1MiB --state 1").exit_code, 2);
  for (const char* wrong :
       {"--steps 0 --slots 3", "--steps -5 --slots 3", "--steps 1e30 --slots 3", "--steps ten --slots 3",
        "--steps 2.5 --slots 3", "--steps 99999999999999999999 --slots 3", "--steps 10 --slots -3",
        "--steps 10 --slots 3,x", "--steps 10 --slots 3,", "--steps 10 --memory 12XB --state 1",
        "--steps 10 --memory 1MiB --state 0", "--steps 10 --slots 3 --write-cost -1",
        "--steps 10 --slots 3,4 --write-cost 1,2,3", "--steps 10 --slots 3 --forward-cost nan",
        "--steps 1e12 --slots 1", "--steps 1e12 --slots 3 --kind mixed"}) {
    const CommandRun run = schedule(wrong);
    EXPECT_EQ(run.exit_code, 4) << wrong << run.err;
    EXPECT_THAT(run.err, HasSubstr("error[TM0106]")) << wrong;
    EXPECT_THAT(run.out, IsEmpty()) << wrong;
  }
}

}  // namespace
}  // namespace tidemark
