#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"
#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/csv.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using tidemark::testing::ScratchFolder;

const std::string head = "id,lower,upper,size\n";
const std::string three = head + "a,0,3,10\nb,1,4,20\nc,4,6,30\n";

class LayoutCommand : public ::testing::Test {
 protected:
  CommandRun layout(const std::string& arguments) const {
    return run_command(std::string(TIDEMARK_CLI) + " layout " + arguments);
  }
  ScratchFolder folder_;
};

TEST_F(LayoutCommand, ReportsPeakAndBound) {
  const CommandRun run = layout(folder_.write("in.csv", three));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("peak         30 bytes"));
  EXPECT_THAT(run.out, HasSubstr("lower bound  30 bytes"));
  EXPECT_THAT(run.out, HasSubstr("yes, proved"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(LayoutCommand, ReportsTheSameAsJson) {
  const CommandRun run = layout(folder_.write("in.csv", three) + " --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["peak"], 30);
  EXPECT_EQ(report["lower_bound"], 30);
  EXPECT_EQ(report["optimal"], true);
  EXPECT_EQ(report["status"], "fits");
  EXPECT_EQ(report["buffers"], 3);
  EXPECT_TRUE(report["capacity"].is_null());
  EXPECT_GE(report["seconds"].get<double>(), 0);
}

TEST_F(LayoutCommand, WritesOffsetsThatAreValid) {
  const CommandRun run = layout(folder_.write("in.csv", three) + " --capacity 30 --timeout 5 --output " +
                                folder_.path("out.csv"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string text = folder_.read("out.csv");
  EXPECT_THAT(text, HasSubstr("id,lower,upper,size,offset\n"));
  std::vector<std::int64_t> offsets;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) offsets.push_back(std::stoll(line.substr(line.rfind(',') + 1)));
  EXPECT_FALSE(check_packing(parse_pack_table(text, "out.csv").items, offsets));
}

TEST_F(LayoutCommand, TakesCapacitiesWithUnits) {
  const std::string in = folder_.write("in.csv", head + "a,0,3,1024\nb,1,4,1024\n");
  EXPECT_EQ(layout(in + " --capacity 2KiB").exit_code, 0);
  EXPECT_EQ(layout(in + " --capacity 1.5KiB").exit_code, 3);
  EXPECT_EQ(layout(in + " --capacity 2furlongs").exit_code, 4);
  EXPECT_EQ(layout(in + " --capacity 9223372036854775808").exit_code, 4);
}

TEST_F(LayoutCommand, WhatCannotFitIsProvedAndNotWritten) {
  const std::string in = folder_.write("in.csv", three);
  const CommandRun run = layout(in + " --capacity 29 --json --output " + folder_.path("out.csv"));
  EXPECT_EQ(run.exit_code, 4) << "the third buffer alone is larger";
  const CommandRun tight = layout(folder_.write("two.csv", head + "a,0,3,10\nb,1,4,20\n") +
                                  " --capacity 29 --json --output " + folder_.path("out.csv"));
  EXPECT_EQ(tight.exit_code, 3);
  EXPECT_EQ(nlohmann::json::parse(tight.out)["status"], "infeasible");
  EXPECT_THAT(tight.err, HasSubstr("error[TM0101]: a capacity of 29 bytes is 1 bytes below"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out.csv")));
}

TEST_F(LayoutCommand, BadTablesNameTheLine) {
  const std::pair<std::string, std::string> cases[] = {
      {head + "a,0,3,10\nb,1,4,-20\n", "bad.csv:3"},
      {head + "a,3,0,10\n", "bad.csv:2"},
      {head + "a,0,3,10\na,0,3,10\n", "bad.csv:3"},
      {head + "a,0,3,99999999999999999999\n", "bad.csv:2"},
      {"id,lower,upper\na,0,3\n", "bad.csv:1"},
      {head + "a,0,3,ten\n", "bad.csv:2"},
      {"", "bad.csv:1"},
  };
  for (const auto& [text, place] : cases) {
    const CommandRun run = layout(folder_.write("bad.csv", text));
    EXPECT_EQ(run.exit_code, 4) << text;
    EXPECT_THAT(run.err, HasSubstr("error[TM0103]"));
    EXPECT_THAT(run.err, HasSubstr("--> " + place));
    EXPECT_THAT(run.out, IsEmpty());
  }
}

TEST_F(LayoutCommand, LoadsThatOverflowAreAnError) {
  std::string text = head;
  for (int i = 0; i < 8; ++i) text += std::to_string(i) + ",0,3,1152921504606846976\n";
  const CommandRun run = layout(folder_.write("bad.csv", text));
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("overflow"));
  EXPECT_THAT(run.err, HasSubstr("--> bad.csv:4"));
}

TEST_F(LayoutCommand, MisuseIsNotBadInput) {
  EXPECT_EQ(layout("").exit_code, 2);
  EXPECT_EQ(layout("--no-such-option x.csv").exit_code, 2);
  EXPECT_EQ(layout(folder_.write("in.csv", three) + " --timeout soon").exit_code, 4);
  EXPECT_EQ(layout(folder_.write("in.csv", three) + " --timeout=-1").exit_code, 4);
  EXPECT_EQ(layout("--help").exit_code, 0);
  EXPECT_EQ(layout(folder_.path("none.csv")).exit_code, 4);
  EXPECT_EQ(layout(folder_.write("in.csv", three) + " --output " + folder_.path("no/such/out.csv")).exit_code,
            4);
}

}  // namespace
}  // namespace tidemark
