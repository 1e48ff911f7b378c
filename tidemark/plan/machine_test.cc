#include "tidemark/plan/machine.h"
#include "tests/support/test_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

double last_node_seconds(const Graph& graph) {
  return seconds_of(reference_machine(), test_target(), NodeCall(graph, graph.nodes().back()));
}

std::string rejection(const std::string& text) {
  try {
    machine_from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_machine_file);
    return error.what();
  }
  return "accepted";
}

std::string rejection(const std::function<void(nlohmann::json&)>& change) {
  auto json = nlohmann::json::parse(to_json(reference_machine()));
  change(json);
  return rejection(json.dump());
}

TEST(Curve, PassesThroughItsPointsAndIsLevelBeyond) {
  const Curve curve{{{10, 100}, {1000, 400}}};
  EXPECT_DOUBLE_EQ(curve.at(1), 100);
  EXPECT_DOUBLE_EQ(curve.at(10), 100);
  EXPECT_DOUBLE_EQ(curve.at(100), 200) << "the middle on logarithmic axes";
  EXPECT_DOUBLE_EQ(curve.at(1000), 400);
  EXPECT_DOUBLE_EQ(curve.at(1e9), 400);
}

TEST(Machine, ReadsFilesOfTheTimeWhenThereWasOneMemory) {
  auto json = nlohmann::json::parse(to_json(reference_machine()));
  json["version"] = 1;
  for (const char* field : {"further_memories", "links", "codecs"}) json.erase(field);
  const Machine old = machine_from_json(json.dump());
  EXPECT_TRUE(old.further.empty() && old.links.empty() && old.codecs.empty());
  EXPECT_EQ(old.work, reference_machine().work);
}

TEST(Machine, WhereArithmeticOverlapsTheLongerCounts) {
  Machine machine = reference_machine();
  const Cost cost{.flops = 1e9, .bytes = 1e8, .work = WorkKind::elementwise};
  const double flops = seconds_of(machine, Cost{.flops = 1e9, .work = WorkKind::elementwise});
  const double bytes = seconds_of(machine, Cost{.bytes = 1e8, .work = WorkKind::elementwise});
  EXPECT_DOUBLE_EQ(seconds_of(machine, cost), flops + bytes - machine.overhead);
  EXPECT_FALSE(nlohmann::json::parse(to_json(machine)).contains("overlaps")) << "files are as they were";
  machine.overlaps = true;
  EXPECT_DOUBLE_EQ(seconds_of(machine, cost), std::max(flops, bytes));
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);
  EXPECT_THAT(rejection([](auto& j) { j["overlaps"] = 1; }), HasSubstr("/overlaps"));
}

TEST(Machine, LinksAreFoundAndTimed) {
  const Machine& machine = reference_machine();
  ASSERT_NE(find_link(machine, 0, 1), nullptr);
  EXPECT_EQ(find_link(machine, 1, 1), nullptr);
  const Link& out = *find_link(machine, 0, 1);
  EXPECT_EQ(seconds_of(out, 0, false), out.latency);
  EXPECT_DOUBLE_EQ(seconds_of(out, out.bandwidth, false), out.latency + 1);
  EXPECT_GT(seconds_of(out, 1e9, true), seconds_of(out, 1e9, false));
}

TEST(Machine, RefusesLinksThatCannotBe) {
  EXPECT_THAT(rejection([](auto& j) { j["links"][1]["to"] = 2; }), HasSubstr("/links/1/to"));
  EXPECT_THAT(rejection([](auto& j) { j["links"][1]["bandwidth"] = 0; }), HasSubstr("/links/1/bandwidth"));
  EXPECT_THAT(rejection([](auto& j) { j["links"][2] = j["links"][1]; }), HasSubstr("such a link already"));
  EXPECT_THAT(rejection([](auto& j) { j["further_memories"][0]["bytes"] = 0; }),
              HasSubstr("/further_memories/0/bytes"));
  EXPECT_THAT(rejection([](auto& j) { j["codecs"][0]["encode"] = -1; }), HasSubstr("/codecs/0/encode"));
  EXPECT_THAT(rejection([](auto& j) { j.erase("links"); }), HasSubstr("`links` is missing"));
  EXPECT_THAT(rejection([](auto& j) { j["version"] = 3; }), HasSubstr("/version"));
}

TEST(Machine, KeepsEveryFieldAndEveryBitAsJson) {
  Machine machine = reference_machine();
  machine.name = "a \"quoted\" name";
  machine.overhead = 0.1 + 0.2;
  machine.memory_bytes = (std::int64_t{1} << 60) + 1;
  machine[WorkKind::rows].speed[1] = 1.0 / 3;
  machine[WorkKind::sort].bytes.points = {{1.5, 2.5}};
  const Machine back = machine_from_json(to_json(machine));
  EXPECT_EQ(back, machine);
  EXPECT_EQ(to_json(back), to_json(machine));
}

TEST(Machine, SaysWhereAFileIsWrong) {
  EXPECT_THAT(rejection(std::string("{")), HasSubstr("not JSON"));
  EXPECT_THAT(rejection(std::string("")), HasSubstr("not JSON"));
  EXPECT_THAT(rejection(std::string("[]")), HasSubstr("not an object"));
  EXPECT_THAT(rejection([](auto& j) { j["format"] = "tidemark-plan"; }), HasSubstr("/format: not a machine"));
  EXPECT_THAT(rejection([](auto& j) { j["version"] = 99; }), HasSubstr("/version"));
  EXPECT_THAT(rejection([](auto& j) { j.erase("threads"); }), HasSubstr("the field `threads` is missing"));
  EXPECT_THAT(rejection([](auto& j) { j["colour"] = 1; }), HasSubstr("unknown field `colour`"));
  EXPECT_THAT(rejection([](auto& j) { j["threads"] = 0; }), HasSubstr("/threads: 0 is out of range"));
  EXPECT_THAT(rejection([](auto& j) { j["memory_bytes"] = -1; }), HasSubstr("/memory_bytes"));
  EXPECT_THAT(rejection([](auto& j) { j["memory_bytes"] = 1.5; }), HasSubstr("not a whole number"));
  EXPECT_THAT(rejection([](auto& j) { j["overhead"] = -1e-6; }), HasSubstr("/overhead: -1e-06 is out of"));
  EXPECT_THAT(rejection([](auto& j) { j["overhead"] = 0; }), HasSubstr("/overhead"));
  EXPECT_THAT(rejection([](auto& j) { j["work"].erase("rows"); }), HasSubstr("`rows` is missing"));
  EXPECT_THAT(rejection([](auto& j) { j["work"]["rows"]["speed"]["f64"] = -1; }),
              HasSubstr("/work/rows/speed/f64"));
}

TEST(Machine, RefusesNumbersThatAreNone) {
  // NaN has no JSON: it is written as null.
  EXPECT_THAT(rejection([](auto& j) { j["overhead"] = std::nan(""); }), HasSubstr("/overhead: not a number"));
  std::string text = to_json(reference_machine());
  const auto at = text.find("\"overhead\": ") + 12;
  text.replace(at, text.find(',', at) - at, "NaN");
  EXPECT_THAT(rejection(text), HasSubstr("not JSON"));
  text.replace(at, 3, "1e999");
  EXPECT_THAT(rejection(text), HasSubstr("machine file"));
}

TEST(Machine, RefusesCurvesOnWhichMoreWorkTakesLessTime) {
  const auto with_points = [](const nlohmann::json& points) {
    return rejection([&](nlohmann::json& j) { j["work"]["sort"]["bytes"] = points; });
  };
  EXPECT_THAT(with_points({{10, 1}, {20, 3}}), HasSubstr("/work/sort/bytes/1: the rate grows faster"));
  EXPECT_EQ(with_points({{10, 1}, {20, 2}}), "accepted");
  EXPECT_THAT(with_points({{10, 1}, {10, 1}}), HasSubstr("sizes do not increase"));
  EXPECT_THAT(with_points({{10, 1, 1}}), HasSubstr("not a pair"));
  EXPECT_THAT(with_points({{10, 0}}), HasSubstr("/work/sort/bytes/0/1: 0 is out of range"));
  EXPECT_THAT(with_points(nlohmann::json::array()), HasSubstr("no points"));
}

TEST(Machine, AFileThatIsNotThereIsAnError) {
  EXPECT_EQ(testing::code_of([] { load_machine("/no/such/machine.json"); }), ErrorCode::bad_file);
  EXPECT_EQ(testing::code_of([] { load_machine("/"); }), ErrorCode::bad_file);
}

TEST(Machine, EverySampleOfEveryOpTakesTime) {
  for (const Op* op : all_ops()) {
    if (!op->samples) continue;
    for (const Sample& sample : op->samples()) {
      std::vector<Type> in;
      for (const Sample::Operand& operand : sample.in) in.push_back(operand.type);
      Call call{.op = op, .in = in, .attrs = &sample.attrs};
      const std::vector<Type> out = op->infer(call);
      call.out = out;
      EXPECT_NE(test_target().cost(call).work, WorkKind::by_kind);
      const double seconds = seconds_of(reference_machine(), test_target(), call);
      EXPECT_TRUE(std::isfinite(seconds)) << op->name;
      EXPECT_GE(seconds, reference_machine().overhead) << op->name;
      EXPECT_LT(seconds, 1e-3) << op->name << ": samples are small";
    }
  }
}

TEST(Machine, MoreWorkTakesMoreTime) {
  const std::function<void(Builder&, std::int64_t)> ops[] = {
      [](Builder& b, std::int64_t n) {
        matmul(b.input({DType::f32, {n, n}}), b.input({DType::f32, {n, n}}));
      },
      [](Builder& b, std::int64_t n) {
        matmul(b.input({DType::f32, {4, n}}), b.input({DType::f32, {n, 8}}));
      },
      [](Builder& b, std::int64_t n) {
        exp(b.input({DType::f32, {n, n}}));
      },
      [](Builder& b, std::int64_t n) {
        reduce_sum(b.input({DType::f32, {n, n}}), {1});
      },
      [](Builder& b, std::int64_t n) {
        softmax(b.input({DType::bf16, {n, n}}), 1);
      },
      [](Builder& b, std::int64_t n) {
        transpose(b.input({DType::f64, {n, n}}), {1, 0});
      },
  };
  for (const auto& op : ops) {
    double last = 0;
    for (std::int64_t n = 1; n < 20'000; n += 1 + n / 7) {
      Graph graph;
      Builder builder(graph);
      op(builder, n);
      const double seconds = last_node_seconds(graph);
      EXPECT_GT(seconds, last) << n;
      last = seconds;
    }
  }
}

TEST(Machine, DoubleProductsTakeLongerThanSingleOnes) {
  const auto product = [](DType dtype) {
    Graph graph;
    Builder builder(graph);
    matmul(builder.input({dtype, {512, 512}}), builder.input({dtype, {512, 512}}));
    return last_node_seconds(graph);
  };
  EXPECT_GT(product(DType::f64), 1.5 * product(DType::f32));
}

TEST(Machine, ACostMustSayItsWork) {
  EXPECT_THROW(seconds_of(reference_machine(), Cost{.flops = 1, .bytes = 1}), InternalError);
}

}  // namespace
}  // namespace tidemark
