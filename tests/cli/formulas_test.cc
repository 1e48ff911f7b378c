// `tidemark plan --by`: the peak as a formula in sizes, held against plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/support/command.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using Json = nlohmann::json;

CommandRun plan(const std::string& arguments) {
  return run_command(std::string(TIDEMARK_CLI) + " plan " + arguments);
}
Json report(const std::string& arguments) {
  const CommandRun run = plan(arguments + " --json");
  EXPECT_EQ(run.exit_code, 0) << arguments << run.err;
  return Json::parse(run.out);
}

double bytes_at(const Json& terms, const std::map<std::string, std::int64_t>& sizes) {
  double sum = 0;
  for (const Json& term : terms) {
    double bytes = term["bytes"];
    for (const auto& [name, power] : term["powers"].items())
      bytes *= std::pow(static_cast<double>(sizes.at(name)), power.get<int>());
    sum += bytes;
  }
  return sum;
}

TEST(FormulasCommand, SayWhatPlansAtAnySizesInRangeTake) {
  const Json by = report("gpt2 --by batch=8:32,context=256:1024,layers=2:6")["by"];
  ASSERT_EQ(by["regimes"].size(), 1u);
  const Json& regime = by["regimes"][0];
  EXPECT_EQ(regime["sizes"]["context"], (Json{256, 1024}));
  EXPECT_EQ(regime["at_peak"].size(), 1u);
  std::minstd_rand random(3);
  for (int trial = 0; trial < 4; ++trial) {
    const std::map<std::string, std::int64_t> sizes = {
        {"batch", 8 + static_cast<std::int64_t>(random() % 25)},
        {"context", 256 + static_cast<std::int64_t>(random() % 25) * 32},
        {"layers", 2 + static_cast<std::int64_t>(random() % 5)}};
    std::string options = "gpt2";
    for (const auto& [name, size] : sizes) options += " --" + name + " " + std::to_string(size);
    const Json planned = report(options);
    const double peak = planned["peak"];
    EXPECT_NEAR(bytes_at(regime["peak"], sizes), peak, 0.005 * peak) << options;
    for (const auto& [role, terms] : regime["peak_holds"].items())
      EXPECT_NEAR(bytes_at(terms, sizes), planned["peak_holds"][role].get<double>(), 0.005 * peak)
          << role << options;
    EXPECT_EQ(std::llround(bytes_at(regime["peak_holds"]["parameters"], sizes)),
              planned["peak_holds"]["parameters"].get<std::int64_t>());
  }
}

TEST(FormulasCommand, AreShownByWhatTheBytesAre) {
  const CommandRun run = plan("gpt2 --layers 2 --context 256 --by batch,width");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("the peak without a budget, as a formula in batch, width\n"),
                             HasSubstr("formula for           batch "), HasSubstr("width 384 to 1536"),
                             HasSubstr("  at the largest      "), HasSubstr("  parameters  "),
                             HasSubstr("  stored activations  "), HasSubstr("  optimizer state     "),
                             HasSubstr(" · width²"), HasSubstr("  checked "), HasSubstr("  at the peak ")));
}

TEST(FormulasCommand, AreNotSpokenOfUnlessAskedFor) {
  const CommandRun run = plan("mlp");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("formula")));
}

TEST(FormulasCommand, ALongerContextThanTheModelsOwnIsAnotherRegime) {
  const Json by = report("gpt --layers 1 --batch 4 --by context=128:512")["by"];
  ASSERT_GE(by["regimes"].size(), 2u);
  EXPECT_EQ(by["regimes"][0]["sizes"]["context"][1], 512);
  for (const Json& regime : by["regimes"]) {
    const std::int64_t least = regime["sizes"]["context"][0], most = regime["sizes"]["context"][1];
    EXPECT_TRUE(least >= 256 || most <= 260) << least << " " << most;  // its table has at least 256 rows
  }
}

TEST(FormulasCommand, RefuseWhatCannotVary) {
  for (const char* by : {"", "depth", "batch,batch", "batch=4", "batch=32:4", "batch=0:4", "layers=1:x"}) {
    const CommandRun run = plan(std::string("gpt --by '") + by + "'");
    EXPECT_EQ(run.exit_code, 4) << by;
  }
  EXPECT_THAT(plan("mobilenet --by layers").err, HasSubstr("mobilenet has no layers that could vary"));
  EXPECT_THAT(plan("gpt --by width=65:70").err, HasSubstr("multiples of 64"));
  EXPECT_THAT(plan("gpt --by batch --memory 50%").err, HasSubstr("whose peak is the budget"));
}

TEST(FormulasCommand, ModelsTakeLayersAndWidths) {
  const Json small = report("gpt --layers 2 --width 128 --batch 1"), large = report("gpt --batch 1");
  EXPECT_LT(small["nodes"], large["nodes"]);
  EXPECT_LT(small["peak_holds"]["parameters"], large["peak_holds"]["parameters"]);
  EXPECT_THAT(plan("gpt --width 100").err, HasSubstr("a multiple of 64"));
  EXPECT_THAT(plan("resnet18 --layers 4").err, HasSubstr("no layers"));
  EXPECT_EQ(plan("gpt --layers 0").exit_code, 4);
}

}  // namespace
}  // namespace tidemark
