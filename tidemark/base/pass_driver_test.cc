#include "tidemark/base/pass_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Text = std::string;
constexpr PassRow<Text, char> rows[] = {
    {{"first", true, "it begins"}, [](Text text, const char& c) { return text + "1" + c; }},
    {{"second", false, "it must"}, [](Text text, const char& c) { return text + "2" + c; }},
    {{"third", true, "it ends"}, [](Text text, const char& c) { return text + "3" + c; }},
};
using Driver = PassDriver<Text, char>;

TEST(PassDriver, RunsRowsInOrderAndCountsRuns) {
  Driver driver(rows, {});
  EXPECT_EQ(driver.run("", "first", "", '.'), "1.2.3.");
  EXPECT_EQ(driver.run("", "second", "third", '!'), "2!");
  std::vector<int> runs;
  for (const PassReport& report : driver.reports()) runs.push_back(report.runs);
  EXPECT_THAT(runs, ElementsAre(1, 2, 1));
}

TEST(PassDriver, LeavesOutByName) {
  const std::vector<std::string> skip = {"first"};
  Driver driver(rows, skip);
  driver.leave_out("third");
  EXPECT_EQ(driver.run("", "first", "", '.'), "2.");
  EXPECT_TRUE(driver.reports()[0].skipped);
  EXPECT_FALSE(driver.reports()[1].skipped);
  EXPECT_EQ(driver.reports()[2].runs, 0);
}

TEST(PassDriver, RefusesNamesThatCannotBeSkipped) {
  const auto message = [](std::string name) -> std::string {
    const std::vector<std::string> skip = {std::move(name)};
    try {
      Driver driver(rows, skip);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message("frist"), HasSubstr("there is no pass `frist`"));
  EXPECT_THAT(message("frist"), HasSubstr("first, third"));
  EXPECT_THAT(message("second"), HasSubstr("the pass `second` cannot be skipped"));
  EXPECT_EQ(message("third"), "");
}

TEST(PassDriver, ShowsTheSubjectAroundEachRun) {
  Driver driver(rows, {});
  std::vector<std::string> seen;
  driver.watch([&](const Text& text, PassReport& report) { report.work_units -= std::ssize(text); },
               [&](const Text& text, PassReport& report) {
                 report.work_units += std::ssize(text);
                 seen.push_back(std::string(report.name) + ": " + text);
               });
  driver.run("", "first", "third", '.');
  EXPECT_THAT(seen, ElementsAre("first: 1.", "second: 1.2."));
  EXPECT_EQ(driver.reports()[1].work_units, 2);
}

}  // namespace
}  // namespace tidemark
