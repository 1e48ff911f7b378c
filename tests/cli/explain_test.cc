// `tidemark explain`, as a person or a script uses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/command.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using tidemark::testing::ScratchFolder;

CommandRun command(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}
nlohmann::json report(const std::string& arguments, int exit_code = 0) {
  const CommandRun run = command(arguments + " --json");
  EXPECT_EQ(run.exit_code, exit_code) << arguments << "\n" << run.err;
  return nlohmann::json::parse(run.out, nullptr, false);
}
const std::string gpt = "gpt --context 64 --memory 85% --effort quick";

TEST(ExplainCommand, FiguresAreThoseOfThePlan) {
  const nlohmann::json plan = report("plan " + gpt), why = report("explain " + gpt);
  for (const char* same :
       {"model", "budget", "peak", "lower_bound", "order_free_bound", "predicted_seconds", "least_seconds",
        "overhead_percent", "lower_bound_percent", "plan_hash", "device", "peak_holds", "micro_batches"})
    EXPECT_EQ(plan[same], why[same]) << same;
  EXPECT_EQ(why["free_peak"], report("plan gpt --context 64 --effort quick")["peak"]);
  EXPECT_LE(why["smallest"], why["peak"]);
  ASSERT_EQ(why["prices"].size(), 2u);
  EXPECT_EQ(why["prices"][0]["change"], -(1 << 20));
  EXPECT_LE(why["prices"][1]["seconds_change"], 0);
}

TEST(ExplainCommand, EachOfTheLargestSaysWhyAndWhatIfNot) {
  const nlohmann::json why = report("explain " + gpt);
  ASSERT_EQ(why["values"].size(), 10u);
  EXPECT_GT(why["left_out"], 0);
  int kept = 0;
  for (const nlohmann::json& value : why["values"]) {
    EXPECT_NE(value["why"], "") << value;
    EXPECT_TRUE(value["crosses"]) << value;
    EXPECT_THAT(std::string(value["producer"]["where"]), HasSubstr(".cc:")) << value;
    ASSERT_EQ(value["alternatives"].size(), 1u) << value;
    const nlohmann::json& other = value["alternatives"][0];
    kept += value["decision"] == "kept";
    if (other["basis"] == "none") continue;
    EXPECT_EQ(other["basis"], "edited");
    EXPECT_EQ(other["peak"].get<std::int64_t>() - why["peak"].get<std::int64_t>(), other["peak_change"]);
    EXPECT_EQ(other["fits"], other["peak"] <= why["budget"]);
    if (value["decision"] == "kept") {
      EXPECT_GT(other["seconds_change"], 0) << value;
    }
  }
  EXPECT_GT(kept, 0);
  const nlohmann::json again = report("explain " + gpt + " --match recomputed --top 100");
  ASSERT_GT(again["values"].size(), 0u);
  for (const nlohmann::json& value : again["values"]) {
    EXPECT_EQ(value["decision"], "recomputed");
    EXPECT_GT(value["runs"], 1);
    EXPECT_EQ(value["alternatives"][0]["decision"], "kept");
  }
}

TEST(ExplainCommand, ShowsATableWithUnitsAndLines) {
  const CommandRun run = command("explain " + gpt);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part : {"budget ", "without a budget", "peak holds", "stored activations", "1.00 MiB less",
                           "1.00 MiB more", "if recomputed", "transformer.cc:", "MiB", "--top N"})
    EXPECT_THAT(run.out, HasSubstr(part));
}

TEST(ExplainCommand, MatchAndTopChooseValues) {
  const nlohmann::json some = report("explain " + gpt + " --match 'transformer.cc:[0-9]+' --top 3");
  ASSERT_EQ(some["values"].size(), 3u);
  for (const nlohmann::json& value : some["values"])
    EXPECT_THAT(std::string(value["producer"]["where"]), HasSubstr("transformer.cc"));
  // By either name of what a value is.
  const std::string stored = "explain " + gpt + " --top 0 --match ";
  EXPECT_EQ(report(stored + "'stored activations'")["values"], report(stored + "activations")["values"]);
  EXPECT_GT(report(stored + "'stored activations'")["values"].size(), 0u);
  EXPECT_EQ(report("explain " + gpt + " --match nothing-is-called-this")["values"].size(), 0u);
  const nlohmann::json all = report("explain gpt --context 32 --effort quick --top 0");
  EXPECT_EQ(all["left_out"], 0);
  std::set<int> numbers;
  for (const nlohmann::json& value : all["values"]) numbers.insert(value["value"].get<int>());
  EXPECT_EQ(numbers.size(), all["values"].size()) << "a value has one line";
}

TEST(ExplainCommand, WithoutABudgetEverythingIsKept) {
  const nlohmann::json why = report("explain gpt --context 32 --effort quick");
  EXPECT_TRUE(why["budget"].is_null());
  EXPECT_TRUE(why["prices"].empty());
  EXPECT_EQ(why["free_peak"], why["peak"]);
  for (const nlohmann::json& value : why["values"]) EXPECT_NE(value["decision"], "recomputed") << value;
}

TEST(ExplainCommand, ABudgetThatDoesNotFitIsTheErrorOfPlan) {
  const std::string tight = "gpt --context 64 --memory 5% --effort quick";
  const CommandRun plan = command("plan " + tight), why = command("explain " + tight);
  EXPECT_EQ(plan.exit_code, 3);
  EXPECT_EQ(why.exit_code, 3);
  EXPECT_EQ(plan.err, why.err);
  EXPECT_EQ(report("explain " + tight, 3)["fits"], false);
}

TEST(ExplainCommand, MisuseIsToldBeforeAnythingIsPlanned) {
  ScratchFolder folder;
  const std::string dag = folder.write("a.dag.json", "{}");
  struct Misuse {
    std::string arguments, says;
    int exit_code = 4;
  };
  for (const Misuse& misuse : {Misuse{"gpt2-1.5b --match '(('", "'((' is no regular expression"},
                               Misuse{"gpt --match ''", "--match"}, Misuse{"gpt --top -1", "--top"},
                               Misuse{"gpt --top many", "--top"}, Misuse{dag, "has no operations to explain"},
                               Misuse{"gpt --solver beam", "no effect on a plan without --memory"},
                               Misuse{"no-such-model", "neither a file nor a built-in model"},
                               Misuse{"gpt --prices", "--prices", 2}}) {
    const CommandRun run = command("explain " + misuse.arguments);
    EXPECT_EQ(run.exit_code, misuse.exit_code) << misuse.arguments;
    EXPECT_THAT(run.err + run.out, HasSubstr(misuse.says)) << misuse.arguments;
  }
}

TEST(ExplainCommand, WithADiskTheFiguresSayThatTheyAreEstimates) {
  const nlohmann::json why =
      report("explain gpt --context 64 --memory 60% --effort quick --tier disk=1GiB --top 40");
  bool moved = false;
  // Nothing can save more than the plan takes for want of memory.
  const double extra = why["predicted_seconds"].get<double>() - why["least_seconds"].get<double>();
  for (const nlohmann::json& value : why["values"]) {
    moved |= value["decision"] == "disk";
    for (const nlohmann::json& other : value["alternatives"]) {
      if (other["basis"] != "estimate") continue;
      EXPECT_TRUE(other["peak"].is_null());
      if (other["decision"] == "kept") EXPECT_GE(other["seconds_change"].get<double>(), -extra - 1e-12);
      EXPECT_THAT(std::string(other["why"]), HasSubstr("by the cost model"));
    }
  }
  EXPECT_EQ(
      moved,
      report("plan gpt --context 64 --memory 60% --effort quick --tier disk=1GiB")["choices"]["disk"] > 0);
}

TEST(ExplainCommand, ForAGpuThatIsNotThere) {
  const nlohmann::json why = report("explain gpt --context 32 --effort quick --device cuda --top 2");
  EXPECT_EQ(why["device"], "cuda");
  EXPECT_EQ(why["values"].size(), 2u);
}

}  // namespace
}  // namespace tidemark
