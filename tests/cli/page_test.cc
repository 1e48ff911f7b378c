// `--html`: what is written, and when not. What the page shows is tried in a browser (tests/page/).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace tidemark::testing {
namespace {

CommandRun run_tidemark(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " " + arguments);
}

nlohmann::json page_in(const ScratchFolder& folder, const std::string& name) {
  const std::string html = folder.read(name), mark = "id=\"data\">";
  const std::size_t begin = html.find(mark) + mark.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(CliPage, HasTheFiguresOfTheJson) {
  const ScratchFolder folder;
  const std::string html = folder.path("plan.html");
  const CommandRun ran = run_tidemark("plan transformer --memory 80% --json --html-plans 4 --html " + html);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto figures = nlohmann::json::parse(ran.out);
  const auto page = page_in(folder, "plan.html");
  const auto& current = page["plans"][page["current"].get<std::size_t>()]["figures"];
  for (const auto& [name, value] : current.items()) {
    if (name == "choices") continue;  // the command adds how the batch is cut
    EXPECT_EQ(value, figures[name]) << name;
  }
  EXPECT_EQ(page["title"], "transformer");
  std::int64_t before = 0;
  for (const auto& plan : page["plans"]) {  // by peaks, and each within its budget
    EXPECT_GE(plan["figures"]["peak"], before);
    before = plan["figures"]["peak"];
    EXPECT_TRUE(plan["figures"]["fits"]);
  }
}

TEST(CliPage, SaysOfEachValueWhatExplainSays) {
  const ScratchFolder folder;
  const std::string model = "gpt --context 64 --memory 80% --effort quick";
  const CommandRun ran = run_tidemark("plan " + model + " --html-plans 1 --html " + folder.path("plan.html"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const CommandRun explained = run_tidemark("explain " + model + " --top 0 --json");
  const auto why = nlohmann::json::parse(explained.out);
  const auto page = page_in(folder, "plan.html");
  ASSERT_GT(why["values"].size(), 10u);
  EXPECT_EQ(page["explanation"]["plan_hash"], why["plan_hash"]);
  EXPECT_EQ(page["explanation"]["values"], why["values"]);
}

TEST(CliPage, OfABudgetThatNothingMeetsIsThatOfTheSmallestPlan) {
  const ScratchFolder folder;
  const CommandRun ran = run_tidemark("plan mlp --memory 1KiB --json --html " + folder.path("plan.html"));
  EXPECT_EQ(ran.exit_code, 3);
  const auto page = page_in(folder, "plan.html");
  EXPECT_EQ(page["plans"][0]["figures"]["fits"], false);
  EXPECT_EQ(page["plans"][0]["figures"]["peak"], nlohmann::json::parse(ran.out)["floor"]);
}

TEST(CliPage, IsRefusedWhereItCanHaveNoEffectOrNoPlace) {
  const CommandRun nowhere = run_tidemark("plan mlp --html-plans 1 --html /no/such/folder/x.html");
  EXPECT_EQ(nowhere.exit_code, 4);
  EXPECT_NE(nowhere.err.find("/no/such/folder/x.html"), std::string::npos) << nowhere.err;
  EXPECT_EQ(run_tidemark("plan mlp --html-plans 4").exit_code, 2);
  EXPECT_EQ(run_tidemark("plan mlp --html ''").exit_code, 4);
  EXPECT_EQ(run_tidemark("schedule --steps 10 --slots 3 --html /no/such/folder/x.html").exit_code, 4);
}

TEST(CliPage, OfAScheduleIsItsStaircase) {
  const ScratchFolder folder;
  const CommandRun ran =
      run_tidemark("schedule --steps 100 --slots 5 --json --html " + folder.path("stairs.html"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto page = page_in(folder, "stairs.html");
  EXPECT_EQ(page["kind"], "schedule");
  EXPECT_EQ(page["staircases"][0]["total_forward"], nlohmann::json::parse(ran.out)["total_forward"]);
}

}  // namespace
}  // namespace tidemark::testing
