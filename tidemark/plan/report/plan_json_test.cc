#include "tidemark/plan/report/plan_json.h"
#include "tests/support/test_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/fake_ops.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

class PlanJson : public testing::Test {
 protected:
  PlanJson() {
    const Var a = s.node({s.input(4, 64, "x")}, 8, 64, 100);
    s.output(s.reads({s.transposed(a)}, 1));
    plan = make_plan(s.graph, test_target());
  }
  void expect_rejected(std::string_view says, const std::function<void(nlohmann::json&)>& change) const {
    auto json = nlohmann::json::parse(to_json(plan));
    change(json);
    expect_text_rejected(says, json.dump());
  }
  void expect_text_rejected(std::string_view says, const std::string& text) const {
    try {
      plan_from_json(text);
      ADD_FAILURE() << "accepted; expected " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_plan_file);
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string(says)));
    }
  }
  fake::Sketch s;
  Plan plan;
};

TEST_F(PlanJson, KeepsEveryFieldAndEveryBit) {
  plan.flops = 0.1 + 0.2;
  plan.bytes_moved = 1e300;
  const Plan back = plan_from_json(to_json(plan));
  EXPECT_EQ(to_json(back), to_json(plan));
  EXPECT_EQ(back.flops, plan.flops);
  EXPECT_EQ(back.bytes_moved, plan.bytes_moved);
  EXPECT_EQ(back.peak(), plan.peak());
  ASSERT_EQ(back.steps.size(), 2u);
  EXPECT_EQ(back.steps[1].in[0].strides, plan.steps[1].in[0].strides);
  EXPECT_FALSE(back.steps[1].scratch.valid());
  EXPECT_TRUE(back.steps[0].scratch.valid());
}

TEST_F(PlanJson, WhereAPlanComesFromIsKeptAndNoPartOfTheHash) {
  const std::string without = to_json(plan);
  EXPECT_EQ(without.find("origin"), std::string::npos);
  EXPECT_FALSE(plan_file_from_json(without).origin.known());
  const PlanOrigin all{.traced = "00ff",
                       .prepared = "11ee",
                       .function = "(f32[8]) -> (f32[8]), 3 nodes",
                       .micro_batches = 4,
                       .undone = 2,
                       .drift = 0.25,
                       .forms = {"", "int8", ""},
                       .loops = {{}, {.own = 0, .inside = 7, .segments = 8, .again = 3, .on_disk = true}},
                       .several_steps = true,
                       .undonated = {0, 5}};
  for (const PlanOrigin& origin : {all, PlanOrigin{.traced = "1", .prepared = "2"}}) {
    const PlanFile back = plan_file_from_json(to_json(plan, origin));
    EXPECT_EQ(back.origin, origin);
    EXPECT_EQ(to_json(back.plan), without);
  }
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = to_json(plan, all);
    text.replace(text.find(from), from.size(), to);
    EXPECT_THROW(plan_file_from_json(text), Error) << from << " to " << to;
  };
  refused("\"00ff\"", "\"\"");
  refused("\"00ff\"", "7");
  refused("\"drift\": 0.25", "\"drift\": 1.5");
  refused("\"undone\": 2", "\"undone\": -2");
  refused("\"segments\": 8", "\"segments\": 0");
  refused("\"several_steps\": true", "\"several_steps\": 4");
  refused("\"segments\": 8", "\"segments\": 100000000");
  refused("\"again\": 3", "\"again\": 9");
  refused("\"micro_batches\": 4", "\"micro_batches\": 0");
  refused("\"undonated\"", "\"undonatd\"");
  refused("\"int8\"", "\"\"");
}

TEST_F(PlanJson, AlgorithmsThatADeviceChoseAreKeptAndNoPartOfTheHash) {
  const std::string without = to_json(plan);
  EXPECT_EQ(without.find("algorithms"), std::string::npos);
  const std::uint64_t hash = plan_hash(plan);
  plan.algorithms = {.machine = "a GPU", .entries = {{"f32: 8x8", "00ff"}, {"f64: 8x8", "1"}}};
  EXPECT_EQ(plan_from_json(to_json(plan)).algorithms, plan.algorithms);
  EXPECT_EQ(plan_hash(plan), hash);
}

TEST_F(PlanJson, SaysWhereAFileIsWrong) {
  expect_text_rejected("not JSON", "{");
  expect_text_rejected("not JSON", "");
  expect_text_rejected("not an object", "[]");
  expect_rejected("/format", [](auto& j) { j["format"] = "other"; });
  expect_rejected("/version", [](auto& j) { j["version"] = 99; });
  expect_rejected("`steps` is missing", [](auto& j) { j.erase("steps"); });
  expect_rejected("unknown field `extra`", [](auto& j) { j["extra"] = 1; });
  expect_rejected("/memories/0/arena_bytes", [](auto& j) { j["memories"][0]["arena_bytes"] = -1; });
  expect_rejected("/memories/0/arena_bytes", [](auto& j) { j["memories"][0]["arena_bytes"] = 1.5; });
  expect_rejected("/memories/0/arena_bytes",
                  [](auto& j) { j["memories"][0]["arena_bytes"] = 18446744073709551615u; });
  expect_rejected("/flops", [](auto& j) { j["flops"] = "many"; });
  expect_rejected("/memories", [](auto& j) { j["memories"].clear(); });
  expect_rejected("/memories/0/name", [](auto& j) { j["memories"][0]["name"] = "cloud"; });
  expect_rejected("/memories/0/alignment", [](auto& j) { j["memories"][0]["alignment"] = 0; });
  expect_rejected("/lanes/0/computes", [](auto& j) { j["lanes"][0]["computes"] = "often"; });
  expect_rejected("/buffers/0/binding", [](auto& j) { j["buffers"][0]["binding"] = "cloud"; });
  expect_rejected("/buffers/1/codec", [](auto& j) { j["buffers"][1]["codec"] = "shorthand"; });
  expect_rejected("/steps/1/waits/0", [](auto& j) { j["steps"][1]["waits"] = {-1}; });
  expect_rejected("/buffers/1/begin", [](auto& j) { j["buffers"][1]["begin"] = 1ll << 40; });
  expect_rejected("/buffers/1: the field `end`", [](auto& j) { j["buffers"][1].erase("end"); });
  expect_rejected("/steps/1/in/0/strides/0", [](auto& j) { j["steps"][1]["in"][0]["strides"][0] = nullptr; });
  expect_rejected("/steps/1/in/0/strides/8",
                  [](auto& j) { j["steps"][1]["in"][0]["strides"] = std::vector(9, 1); });
  expect_rejected("/steps/0/node", [](auto& j) { j["steps"][0]["node"] = -3; });
  expect_rejected("/steps/0/kind", [](auto& j) { j["steps"][0]["kind"] = "dance"; });
  expect_rejected("/steps: not a list", [](auto& j) { j["steps"] = 3; });
  expect_rejected("/outputs/0", [](auto& j) { j["outputs"][0] = "y"; });
}

// Any text is a plan or a clean error, and any plan, however wrong, can be put before the verifier.
TEST_F(PlanJson, SurvivesMutation) {
  const std::string good = to_json(plan);
  std::mt19937_64 random(3);
  const std::string numbers[] = {"0",
                                 "1",
                                 "-1",
                                 "7",
                                 "64",
                                 "null",
                                 "4294967294",
                                 "9223372036854775807",
                                 "-9223372036854775808",
                                 "1152921504606846976",
                                 "1e300",
                                 "\"x\"",
                                 "[]"};
  int accepted = 0, refused = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::string text = good;
    const std::size_t from = text.find_first_of("0123456789", random() % text.size());
    if (from == std::string::npos) continue;
    const std::size_t to = text.find_first_not_of("0123456789.", from);
    text.replace(from, to - from, numbers[random() % std::size(numbers)]);
    if (random() % 8 == 0) text.resize(random() % text.size());
    try {
      const Plan back = plan_from_json(text);
      accepted += problems(s.graph, back, test_target()).empty();
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.code(), ErrorCode::bad_plan_file) << text;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(accepted, 1000);  // a number replaced by itself, a stride that does not matter, a looser figure
}

TEST_F(PlanJson, SummaryTellsThePeakAndWhatLivesThere) {
  s.graph[s.graph.outputs()[0]].name = "answer";
  const std::string text = summary(s.graph, plan);
  for (const char* part :
       {"peak", "lower bound", "store everything", "at the peak", "`x`", "scratch", "1 nodes are views"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

// As the page does: the second function writes over what the first one made.
TEST(Summary, CallsABufferAtThePeakAfterWhatItHoldsThere) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {300}}), first = tanh(x), second = sin(first);
  graph[first.id()].name = "first";
  graph[second.id()].name = "second";
  graph.add_output(concat(std::array{second, second, x}, 0).id());
  const Plan plan = make_plan(graph, test_target(), {.skip = {"fuse"}});
  const std::string text = summary(graph, plan);
  EXPECT_THAT(text, testing::HasSubstr("1 results in place"));
  EXPECT_THAT(text, testing::HasSubstr("`second`"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("`first`")));
}

}  // namespace
}  // namespace tidemark
