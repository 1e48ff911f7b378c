#include "tidemark/engine/plan_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"
#include "tidemark/ops/control/loop_forecast.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;

auto looped() {
  const auto loss = [](Tensor x) {
    return sum(repeat(50, [](Tensor v) { return sin(v) + v * 0.5; }, x, {.memory = 4_KiB}));
  };
  return compile(grad(loss));
}
Tensor start() { return arange(64, DType::f32) * 0.01; }

nlohmann::json page_at(const std::string& html) {
  const std::string mark = "id=\"data\">";
  const std::size_t begin = html.find(mark) + mark.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(PlanPage, OfACompiledFunctionIsOneFile) {
  const testing::ScratchFolder folder;
  auto f = looped();
  f(start());
  f.plan().write_html(folder.path("plan.html"));
  const nlohmann::json page = page_at(folder.read("plan.html"));
  EXPECT_EQ(page["plans"][0]["figures"]["peak"], f.plan().peak().count);
  EXPECT_EQ(page["plans"][0]["figures"]["plan_hash"], hash_text(plan_hash(f.plan().plan)));
  EXPECT_EQ(page["target"], "cpu");
}

TEST(PlanPage, SaysWhatExplainSays) {
  const testing::ScratchFolder folder;
  auto f = looped();
  f(start());
  f.plan().write_html(folder.path("plan.html"));
  EXPECT_EQ(page_at(folder.read("plan.html"))["explanation"],
            nlohmann::json::parse(to_json(f.plan().explain({.top = 0}))));
}

TEST(PlanPage, DrawsTheStepsOfALoopThatAreForecast) {
  auto f = looped();
  const PlannedGraph planned = f.prepare(start());
  const std::vector<LoopForecast> loops = planned.loops();
  const std::vector<std::string> stairs = loop_staircases(planned.graph);
  ASSERT_EQ(stairs.size(), loops.size());
  ASSERT_EQ(loops.size(), 1u);
  ASSERT_LT(loops[0].slots, loops[0].trips);
  const nlohmann::json drawn = nlohmann::json::parse(stairs[0]);
  EXPECT_EQ(drawn["total_forward"].get<std::int64_t>() - 1, loops[0].forward_steps);
  EXPECT_EQ(drawn["steps"].get<std::int64_t>() - 1, loops[0].trips);
  EXPECT_EQ(drawn["peak_slots"][0], loops[0].slots);
}

TEST(PlanPage, SaysWhereItCannotBeWritten) {
  auto f = looped();
  f(start());
  try {
    f.plan().write_html("/no/such/folder/plan.html");
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/no/such/folder/plan.html"));
  }
}

}  // namespace
}  // namespace tidemark
