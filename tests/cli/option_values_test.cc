// Values of options that nobody meant. Each is refused by name with a code the page knows (docs/cli.md), or
// is what it says; none becomes something else in silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/command.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;

CommandRun run_tidemark(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}

const std::vector<std::string> odd_values = {"nan",  "-nan", "inf", "-inf", "-1",   "1e400",
                                             "",     " 5",   "5 ",  "5 %",  "1.5",  "0x10",
                                             "010",  "5x",   "+5",  "--5",  "1e99", "99999999999999999999",
                                             "five", "5,",   ",5",  "-0.5"};

struct NumberOption {
  std::string command, option;
  std::set<std::string> taken;  // odd values that are what they say
};

TEST(OptionValues, NumbersThatAreNoneAreRefusedByEveryOption) {
  const ScratchFolder folder;
  const std::string table = folder.write("in.csv", "id,lower,upper,size\n1,0,2,8\n2,1,3,8\n");
  const std::string schedule = "schedule --steps 20 --slots 3 ", sized = "schedule --steps 20 --state 1kB ";
  const std::vector<NumberOption> options = {
      {"demo --json --batch 1 --width 4 --memory 90%", "--steps", {"010"}},
      {"demo --json --steps 1 --width 4 --memory 90%", "--batch", {"010"}},
      {"demo --json --steps 1 --batch 1 --memory 90%", "--width", {"010"}},
      {"demo --json --steps 1 --batch 1 --width 4 --memory 90%", "--threads", {"010"}},
      {"demo --json --steps 1 --batch 1 --width 4", "--memory", {"5 %"}},
      {"plan mlp --json --effort quick", "--batch", {"010"}},
      {"plan transformer --json --effort quick", "--context", {"010"}},
      {"plan mlp --json --effort quick", "--memory", {"5 %"}},
      {"frontier mlp --json --effort quick", "--batch", {"010"}},
      {"frontier mlp --json --effort quick", "--points", {"010"}},
      {"layout " + table, "--capacity", {}},
      {"layout " + table, "--timeout", {"1.5", "010", "1e99", "99999999999999999999"}},
      {"machine --json --effort quick --show /no/such/file", "--threads", {"010"}},
      {"schedule --slots 3", "--steps", {"010"}},
      {"schedule --steps 20", "--slots", {"010"}},
      {sized, "--memory", {}},
      {sized + " --memory 4kB", "--disk", {}},
      {"schedule --steps 20 --memory 4kB", "--state", {}},
      {sized + " --memory 4kB", "--record", {}},
      {schedule, "--write-cost", {"1.5", "010"}},
      {schedule, "--read-cost", {"1.5", "010"}},
      {schedule, "--forward-cost", {"1.5", "010"}},
      {schedule, "--reverse-cost", {"1.5", "010"}}};
  for (const NumberOption& number : options) {
    for (const std::string& value : odd_values) {
      if (number.taken.contains(value)) continue;
      // Sizes may have blanks around them and zeros in front.
      const bool is_size =
          std::set<std::string>{"--memory", "--capacity", "--disk", "--state", "--record"}.contains(
              number.option);
      if (is_size && (value == " 5" || value == "5 " || value == "010")) continue;
      const std::string command =
          number.command + " " + number.option + (value.starts_with("-") ? "=" : " ") + "'" + value + "'";
      const CommandRun ran = run_tidemark(command);
      EXPECT_EQ(ran.exit_code, 4) << command << "\n" << ran.out.substr(0, 200) << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("error[TM0")) << command;
    }
  }
}

TEST(OptionValues, FractionsOfAByteAreRefusedAndPercentMayStandApart) {
  EXPECT_EQ(run_tidemark("plan mlp --memory 1.5").exit_code, 4);
  EXPECT_THAT(run_tidemark("plan mlp --memory 1.5").err, HasSubstr("fraction of a byte"));
  EXPECT_EQ(run_tidemark("plan mlp --memory 0.0001KiB").exit_code, 4);
  EXPECT_EQ(run_tidemark("schedule --steps 20 --memory 1.5 --state 1").exit_code, 4);
  EXPECT_EQ(run_tidemark("layout no.csv --capacity 0.5").exit_code, 4);
  const std::string close = run_tidemark("plan mlp --json --memory 95%").out;
  EXPECT_THAT(close, HasSubstr("budget"));
  const auto budget = [](const std::string& text) { return text.substr(text.find("\"budget\""), 25); };
  EXPECT_EQ(budget(run_tidemark("plan mlp --json --memory '95 %'").out), budget(close));
  EXPECT_EQ(budget(run_tidemark("plan mlp --json --memory ' 95% '").out), budget(close));
  EXPECT_EQ(run_tidemark("plan mlp --json --memory '5 GiB'").exit_code, 0);
}

TEST(OptionValues, NamesThatAreEmptyAreRefused) {
  const ScratchFolder folder;
  const std::string table = folder.write("in.csv", "id,lower,upper,size\n1,0,2,8\n");
  for (const std::string command : {"plan mlp --schedule",
                                    "plan mlp --check",
                                    "plan mlp --machine",
                                    "plan mlp --output",
                                    "plan mlp --dump-after",
                                    "plan mlp --disable",
                                    "plan mlp --dtype",
                                    "plan mlp --optimizer",
                                    "plan mlp --memory",
                                    "plan mlp --effort",
                                    "frontier mlp --svg",
                                    "frontier mlp --machine",
                                    "layout in.csv --output",
                                    "layout in.csv --capacity",
                                    "machine --show",
                                    "machine --output",
                                    "machine --effort",
                                    "schedule --steps 9 --slots 3 --actions",
                                    "schedule --steps 9 --slots 3 --svg",
                                    "schedule --check",
                                    "schedule --slots 3 --steps",
                                    "schedule --steps 9 --slots",
                                    "schedule --steps 9 --memory 9 --state",
                                    "schedule --steps 9 --slots 3 --kind",
                                    "plan",
                                    "frontier",
                                    "layout"}) {
    const CommandRun ran = run_tidemark(command + " ''");
    EXPECT_EQ(ran.exit_code, 4) << command << "\n" << ran.out.substr(0, 200) << ran.err;
    EXPECT_NE(ran.err, "") << command;
  }
}

TEST(OptionValues, LevelsThatAKindOfScheduleDoesNotHaveAreRefused) {
  for (const char* kind : {"uniform", "bisection", "binomial", "mixed", "online"}) {
    const CommandRun ran = run_tidemark(std::string("schedule --steps 20 --slots 3,5 --kind ") + kind);
    EXPECT_EQ(ran.exit_code, 4) << kind << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(std::string("2 levels for a ") + kind));
    EXPECT_EQ(
        run_tidemark(std::string("schedule --steps 20 --memory 4kB --disk 9kB --state 1kB --kind ") + kind)
            .exit_code,
        4);
  }
  for (const char* kind : {"automatic", "store-all", "multilevel", "disk", "background"})
    EXPECT_EQ(run_tidemark(std::string("schedule --steps 20 --slots 30,50 --kind ") + kind).exit_code, 0)
        << kind;
}

TEST(OptionValues, ADemoLargerThanTheMachineSaysHowManyBytesItWouldNeed) {
  const CommandRun ran = run_tidemark("demo --batch 1000000 --width 16384");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("TM0604"));
  EXPECT_THAT(ran.err, HasSubstr("bytes)"));
  EXPECT_THAT(ran.err, HasSubstr("smaller --batch or --width"));
}

}  // namespace
}  // namespace tidemark::testing
