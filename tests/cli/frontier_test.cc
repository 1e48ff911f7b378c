#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using tidemark::testing::ScratchFolder;

// A chain of 8 layers and its backward, of which the k-th reads the (9 - k)-th.
std::string layers() {
  std::string nodes, edges;
  for (int i = 0; i < 16; ++i) {
    nodes += std::string(i == 0 ? "" : ",\n") + R"({"name": "n)" + std::to_string(i) +
             R"(", "cost": 10, "bytes": 100})";
    if (i > 0) edges += (i == 1 ? "[" : ", [") + std::to_string(i - 1) + ", " + std::to_string(i) + "]";
    if (i > 8) edges += ", [" + std::to_string(15 - i) + ", " + std::to_string(i) + "]";
  }
  return "{\"nodes\": [" + nodes + "], \"edges\": [" + edges + "]}";
}

class FrontierCommand : public ::testing::Test {
 protected:
  CommandRun frontier(const std::string& arguments) const {
    return run_command(std::string(TIDEMARK_CLI) + " frontier " + arguments);
  }
  ScratchFolder folder_;
  const std::string graph_ = folder_.write("layers <8>.dag.json", layers());
  const std::string quoted_ = "'" + graph_ + "'";
};

TEST_F(FrontierCommand, TimesFallAsBudgetsRise) {
  for (const char* order : {"", " --fixed-order"}) {
    const CommandRun run = frontier(quoted_ + " --json --points 7" + order);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto points = nlohmann::json::parse(run.out)["points"];
    ASSERT_EQ(points.size(), 7u);
    EXPECT_EQ(points.back()["overhead_percent"], 0);
    EXPECT_GT(points.front()["overhead_percent"], 0);
    EXPECT_EQ(points.front()["peak"], nlohmann::json::parse(run.out)["floor"]);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_LE(points[i]["peak"], points[i]["budget"]);
      EXPECT_LE(points[i]["lower_bound_percent"], points[i]["overhead_percent"]);
      if (i == 0) continue;
      EXPECT_GT(points[i]["budget"], points[i - 1]["budget"]);
      EXPECT_LE(points[i]["cost"], points[i - 1]["cost"]);
    }
  }
}

TEST_F(FrontierCommand, PrintsATableAndDrawsAPlot) {
  const CommandRun run = frontier(quoted_ + " --effort quick --svg " + folder_.path("plot.svg"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("budget"), HasSubstr("recomputed"), HasSubstr("0.000%")));
  const std::string svg = folder_.read("plot.svg");
  EXPECT_THAT(svg, AllOf(StartsWith("<svg "), HasSubstr("<title>layers &lt;8&gt;.dag.json</title>"),
                         HasSubstr("</svg>"), HasSubstr("memory, bytes")));
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 16u);
}

TEST_F(FrontierCommand, DrawsACurveForEachSetOfChoices) {
  const std::string sets =
      "gpt --batch 2 --context 64 --effort quick --points 4 --allow recompute --allow recompute,disk "
      "--allow recompute,compress --lossy 0.004 --tier disk=1GiB";
  const CommandRun run = frontier(sets + " --json --svg " + folder_.path("plot.svg"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto curves = nlohmann::json::parse(run.out)["curves"];
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[1]["allow"], (nlohmann::json{"recompute", "disk"}));
  const auto time_within = [](const nlohmann::json& curve, const nlohmann::json& budget) {
    double time = 1e9;
    for (const auto& point : curve["points"])
      if (point["budget"] <= budget) time = std::min(time, point["predicted_seconds"].get<double>());
    return time;
  };
  for (const auto& curve : curves) {
    for (std::size_t i = 1; i < curve["points"].size(); ++i) {
      EXPECT_GT(curve["points"][i]["budget"], curve["points"][i - 1]["budget"]);
      EXPECT_LE(curve["points"][i]["predicted_seconds"], curve["points"][i - 1]["predicted_seconds"]);
    }
    // Who may do more is nowhere slower.
    for (const auto& point : curves[0]["points"])
      EXPECT_LE(time_within(curve, point["budget"]), point["predicted_seconds"].get<double>());
  }
  EXPECT_THAT(folder_.read("plot.svg"),
              AllOf(HasSubstr("recompute, disk"), HasSubstr("recompute, compress")));
  EXPECT_THAT(frontier("mlp --effort quick --points 2 --allow keep --allow recompute").out,
              AllOf(StartsWith("keep\n"), HasSubstr("\nrecompute\n")));
}

TEST_F(FrontierCommand, AFurtherMemoryIsASecondCurve) {
  const CommandRun run = frontier(
      "gpt --batch 2 --context 64 --layers 2 --effort quick --points 4 --tier disk=1GiB --json --svg " +
      folder_.path("plot.svg"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto curves = nlohmann::json::parse(run.out)["curves"];
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_TRUE(curves[0]["tiers"].empty());
  EXPECT_EQ(curves[1]["tiers"]["disk"], 1 << 30);
  EXPECT_LE(curves[1]["floor"], curves[0]["floor"]);
  EXPECT_THAT(folder_.read("plot.svg"), AllOf(HasSubstr("memory alone"), HasSubstr("with 1.00 GiB disk")));
}

// The curve's ends and what lies between, held against `tidemark plan` at the same budgets.
TEST_F(FrontierCommand, EveryPointIsAPlanThatCanBeHad) {
  const std::string model = "gpt --batch 4 --context 64 --layers 3 ";
  const CommandRun run = frontier(model + "--points 6 --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto points = nlohmann::json::parse(run.out)["points"];
  ASSERT_EQ(points.size(), 6u);
  const auto plan = [&](const std::string& options) {
    const CommandRun planned =
        run_command(std::string(TIDEMARK_CLI) + " plan " + model + options + " --json");
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    return nlohmann::json::parse(planned.out);
  };
  const auto free = plan("");
  EXPECT_EQ(points.back()["budget"], free["peak"]);
  EXPECT_EQ(points.back()["peak"], free["peak"]);
  EXPECT_EQ(points.back()["predicted_seconds"], free["predicted_seconds"]);
  for (const auto& point : points) {
    const auto planned = plan("--memory " + std::to_string(point["budget"].get<std::int64_t>()));
    EXPECT_LE(planned["peak"], point["budget"]);
    EXPECT_LE(point["peak"], point["budget"]);
    // Both are searches for the same: neither is a bound of the other.
    const double seconds = planned["predicted_seconds"];
    EXPECT_NEAR(point["predicted_seconds"].get<double>(), seconds, 0.02 * seconds) << point["budget"];
    EXPECT_LE(planned["lower_bound_percent"], point["overhead_percent"].get<double>() + 1e-6);
  }
}

TEST_F(FrontierCommand, OneSetIsOneCurve) {
  const CommandRun run = frontier("mlp --effort quick --points 3 --allow keep --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_TRUE(json["allow"].empty());
  for (const auto& point : json["points"]) EXPECT_EQ(point["recomputed"], 0);
}

TEST_F(FrontierCommand, WhatCannotBeAllowedIsRefused) {
  for (const char* arguments :
       {"mlp --allow tape", "mlp --allow disk", "mlp --allow split", "mlp --split 4", "mlp --lossy 2"}) {
    EXPECT_EQ(frontier(arguments).exit_code, 4) << arguments;
  }
  EXPECT_EQ(frontier(quoted_ + " --allow recompute").exit_code, 4);
}

TEST_F(FrontierCommand, AGraphThatCannotBeSqueezedIsOnePoint) {
  const std::string one =
      folder_.write("one.dag.json", R"({"nodes": [{"name": "a", "cost": 0, "bytes": 0}], "edges": []})");
  const CommandRun run = frontier(one + " --json --svg " + folder_.path("plot.svg"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["points"].size(), 1u);
  EXPECT_THAT(folder_.read("plot.svg"), ::testing::Not(HasSubstr("nan")));
}

TEST_F(FrontierCommand, ShowsBuiltInModels) {
  const CommandRun run = frontier("mlp --batch 64 --points 4 --effort quick --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto points = nlohmann::json::parse(run.out)["points"];
  ASSERT_GE(points.size(), 1u);
  EXPECT_EQ(points.back()["overhead_percent"], 0) << "a constant may be made twice at no cost";
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_GT(points[i]["budget"], points[i - 1]["budget"]);
    EXPECT_LE(points[i]["predicted_seconds"], points[i - 1]["predicted_seconds"]);
  }
  EXPECT_EQ(frontier("mlp --batch 64 --points 4 --effort 0.3").exit_code, 0);
}

TEST_F(FrontierCommand, BadInputAndMisuse) {
  EXPECT_EQ(frontier("").exit_code, 2);
  EXPECT_EQ(frontier(quoted_ + " --points 1").exit_code, 4);
  EXPECT_EQ(frontier(quoted_ + " --effort soon").exit_code, 4);
  EXPECT_EQ(frontier(quoted_ + " --batch 3").exit_code, 4);
  EXPECT_EQ(frontier(quoted_ + " --svg " + folder_.path("no/such/plot.svg")).exit_code, 4);
  const CommandRun bad = frontier(folder_.write("bad.dag.json", "{"));
  EXPECT_EQ(bad.exit_code, 4);
  EXPECT_THAT(bad.err, HasSubstr("bad.dag.json:1"));
  EXPECT_THAT(bad.out, IsEmpty());
  EXPECT_EQ(frontier("no_such_model").exit_code, 4);
}

}  // namespace
}  // namespace tidemark
