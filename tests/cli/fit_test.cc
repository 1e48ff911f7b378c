// `tidemark fit`: the largest sizes within a budget, held against `tidemark plan`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using Json = nlohmann::json;

CommandRun tidemark_command(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}

const Json* row_of(const Json& json, const std::string& size) {
  for (const Json& row : json["rows"]) {
    if (row["size"] == size) return &row;
  }
  return nullptr;
}

TEST(FitCommand, AnswersArePlansWithinTheBudget) {
  const std::string budget = " --memory 32MiB ";
  // The model with one of its sizes changed.
  const auto model = [](const std::string& name = "", std::int64_t size = 0) {
    std::map<std::string, std::int64_t> sizes = {
        {"layers", 2}, {"context", 64}, {"width", 128}, {"batch", 4}};
    if (!name.empty()) sizes.at(name) = size;
    std::string text = "gpt";
    for (const auto& [option, value] : sizes) text += " --" + option + " " + std::to_string(value);
    return text;
  };
  const CommandRun run = tidemark_command("fit " + model() + budget + "--json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["budget"], 32 << 20);
  ASSERT_EQ(json["rows"].size(), 4u);
  for (const Json& row : json["rows"]) {
    const std::string name = row["size"];
    std::int64_t last = 0;
    for (const char* limit : {"no_extra_time", "up_to_25_percent", "at_all"}) {
      ASSERT_FALSE(row[limit].is_null()) << name << limit;
      EXPECT_LE(row[limit]["peak"], 32 << 20);
      EXPECT_GE(row[limit]["largest"], last) << name << limit;
      last = row[limit]["largest"];
    }
    EXPECT_LE(row["no_extra_time"]["overhead_percent"], 0.1);
    EXPECT_LE(row["up_to_25_percent"]["overhead_percent"], 25);
    const CommandRun planned =
        tidemark_command("plan " + model(name, last) + " --effort quick --json" + budget);
    EXPECT_EQ(planned.exit_code, 0) << name << planned.err;
  }
  const Json& micro = json["micro_batch"];
  ASSERT_FALSE(micro["at_all"].is_null());
  const std::int64_t examples = micro["at_all"]["largest"];
  const CommandRun cut =
      tidemark_command("plan " + model("batch", 8 * examples) + " --split 8 --effort quick" + budget);
  EXPECT_EQ(cut.exit_code, 0) << cut.err;
}

TEST(FitCommand, ATableSaysWhatIsLargest) {
  const CommandRun run = tidemark_command("fit mlp --batch 64 --memory 32MiB");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("the largest mlp that fits 32.00 MiB"), HasSubstr("no extra time"),
                             HasSubstr("\nbatch  "), HasSubstr("\nwidth  "), HasSubstr("\nlayers  "),
                             HasSubstr("micro-batch")));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("context")));
}

TEST(FitCommand, ThePlanThatItNamesIsThere) {
  const CommandRun run = tidemark_command("fit mlp --layers 2 --memory '32 MiB'");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string lead = "to see one: tidemark ";
  const std::size_t begin = run.out.find(lead);
  ASSERT_NE(begin, std::string::npos) << run.out;
  const std::size_t end = run.out.find('\n', begin);
  const std::string named = run.out.substr(begin + lead.size(), end - begin - lead.size());
  EXPECT_THAT(named, AllOf(HasSubstr("plan mlp --batch "), HasSubstr(" --memory 32MiB")));
  const CommandRun planned = tidemark_command(named + " --layers 2 --effort quick");
  EXPECT_EQ(planned.exit_code, 0) << named << planned.err;
}

TEST(FitCommand, OneSizeMayFitWhereOthersDoNot) {
  // The model as given does not fit, its parameters alone take more; fewer layers do.
  const CommandRun run = tidemark_command("fit mlp --layers 12 --memory 24MiB --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_TRUE((*row_of(json, "batch"))["at_all"].is_null());
  EXPECT_FALSE((*row_of(json, "layers"))["at_all"].is_null());
  EXPECT_LT((*row_of(json, "layers"))["at_all"]["largest"], 12);
}

// The batch itself takes memory, so not any number of such parts would fit.
TEST(FitCommand, MicroBatchesAreOfSoManyParts) {
  const CommandRun run = tidemark_command("fit mlp --memory 40MiB");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("micro-batch: the examples of each of 8 parts"));
  EXPECT_THAT(run.out, Not(HasSubstr("a batch of any size")));
}

TEST(FitCommand, WhatFitsAtNoSizeIsTheErrorOfPlan) {
  const CommandRun run = tidemark_command("fit resnet18 --memory 1MiB --json");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("error[TM0101]: a budget of 1.00 MiB"));
  EXPECT_EQ(Json::parse(run.out)["fits"], false);
}

TEST(FitCommand, MisuseAndBadInput) {
  EXPECT_EQ(tidemark_command("fit mlp").exit_code, 2);
  EXPECT_EQ(tidemark_command("fit no_such_model --memory 1GiB").exit_code, 4);
  EXPECT_EQ(tidemark_command("fit mlp --memory lots").exit_code, 4);
  EXPECT_EQ(tidemark_command("fit mlp --memory 50%").exit_code, 4);
  EXPECT_EQ(tidemark_command("fit gpt --width 100 --memory 1GiB").exit_code, 4);
}

}  // namespace
}  // namespace tidemark
