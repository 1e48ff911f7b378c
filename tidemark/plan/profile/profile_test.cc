#include "tidemark/plan/profile/profile.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/errors.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

// Two lanes and a disk: a product, its copy to the disk, a loop with a body, the copy back, and the product
// once more, in a group.
Profile sample() {
  Profile profile{.plan_hash = "0123456789abcdef",
                  .target = "cpu",
                  .machine = "a machine",
                  .predicted = 6e-3,
                  .lanes = {"compute", "to disk", "from disk"}};
  profile.memories = {
      {.name = "ram",
       .input_bytes = 64,
       .arena_bytes = 1024,
       .high_water = 1024,
       .curve = {{0, 64}, {1e-3, 576}, {7e-3, 64}}},
      {.name = "disk", .arena_bytes = 512, .high_water = 512, .curve = {{0, 0}, {2e-3, 512}, {7e-3, 512}}}};
  ProfileStep product{.op = "matmul", .name = "h", .file = "train.cc", .line = 7, .kernel = 0};
  product.work = WorkKind::contraction, product.flops = 1e6, product.bytes = 3e4;
  ProfileStep out{.kind = StepKind::copy, .op = "copy", .name = "h", .kernel = 1, .bytes = 512, .to = 1};
  ProfileStep loop{.op = "loop", .file = "train.cc", .line = 9, .kernel = 2, .declared = 1e-3};
  ProfileStep in{.kind = StepKind::copy, .op = "copy", .kernel = 3, .origin = 1, .bytes = 512, .from = 1};
  ProfileStep again = product;
  again.kernel = 4, again.origin = 0;
  ProfileStep sum{.op = "add", .kernel = 4, .work = WorkKind::elementwise, .flops = 128, .bytes = 512};
  profile.body.steps = {product, out, loop, in, again, sum};
  profile.body.kernels = {{0, 1, 0, 1e-3, 1e-3},
                          {1, 2, 1, 1e-3, 1e-3},
                          {2, 3, 0, 1e-3, 2e-3},
                          {3, 4, 2, 1e-3, 1e-3},
                          {4, 6, 0, 1e-3, 1e-3}};
  ProfileBody body{.step = 2, .iterations = 10};
  body.steps = {{.op = "tanh", .kernel = 0, .work = WorkKind::elementwise, .flops = 5},
                {.op = "mul", .kernel = 1, .work = WorkKind::elementwise, .flops = 5}};
  body.kernels = {{0, 1, 0, 5e-5, 9e-4},
                  {1, 2, 0, 5e-5, 2e-3}};  // more than the loop took in the typical run
  profile.body.bodies = {body};
  const ProfileRun run{.begin = 0,
                       .seconds = 7e-3,
                       .kernel_begin = {1e-3, 2e-3, 2e-3, 4e-3, 5e-3},
                       .kernel_end = {2e-3, 3e-3, 4e-3, 5e-3, 7e-3}};
  ProfileRun slow = run, fast = run;
  slow.begin = 1, slow.seconds = 9e-3;
  fast.begin = 2, fast.seconds = 6e-3;
  for (double& end : fast.kernel_end) end = std::min(end, 6e-3);
  profile.runs = {slow, run, fast};
  return profile;
}

TEST(Profile, TheTypicalRunIsTheOneInTheMiddle) {
  Profile profile = sample();
  EXPECT_EQ(profile.measured(), 7e-3);
  EXPECT_EQ(&profile.typical(), &profile.runs[1]);
  profile.runs.pop_back();
  EXPECT_EQ(profile.measured(), 7e-3);  // of two the faster
}

TEST(Profile, IsReadBackAsItWasWritten) {
  const std::string text = to_json(sample());
  const Profile read = profile_from_json(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.body.steps[4].origin, 0);
  EXPECT_EQ(read.body.steps[5].kernel, 4);
  EXPECT_EQ(read.body.steps[2].declared, 1e-3);
  EXPECT_EQ(read.body.bodies[0].kernels[1].measured, 2e-3);
  EXPECT_EQ(read.memories[1].curve[1], (ProfileMemory::Point{2e-3, 512}));
  EXPECT_EQ(read.runs[1].kernel_end[4], 7e-3);
}

TEST(Profile, SaysWhatTookTheTimeAndWhetherMemoryWasAsPlanned) {
  const std::string text = sample().summary();
  EXPECT_NE(text.find("3 runs: 7.000 ms measured (median), 6.000 ms predicted"), std::string::npos) << text;
  EXPECT_NE(text.find("as planned to the byte"), std::string::npos) << text;
  EXPECT_NE(text.find("group: matmul add"), std::string::npos) << text;
  EXPECT_LT(text.find(" loop\n"), text.find("group: matmul add")) << text;  // the longest comes first
}

// Replaces the first `from`, which is there.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Profile, RefusesWhatNoProfileCanBeAndNamesThePlace) {
  const std::string good = to_json(sample());
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& message) {
    try {
      profile_from_json(with(good, from, to));
      ADD_FAILURE() << "read in spite of " << to;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_plan_file);
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  };
  refused("tidemark-profile", "tidemark-plan", "not a profile");
  refused("\"version\": 1", "\"version\": 2", "another version");
  refused("\"origin\":1", "\"origin\":3", "/steps/3/origin");  // itself
  refused("\"origin\":0", "\"origin\":-2", "/steps/4/origin");
  refused("\"lane\":1", "\"lane\":3", "/kernels/1/lane");  // there are three
  refused("\"to\":1", "\"to\":2", "/steps/1/to");          // and two memories
  refused("\"first\":4,\"last\":6", "\"first\":4,\"last\":5", "6 steps, not 5");
  refused("\"first\":4,\"last\":6", "\"first\":4,\"last\":7", "/kernels/4/last");
  refused("\"first\":3", "\"first\":2", "/kernels/3/first");
  refused("\"measured\":0.001", "\"measured\":-1", "/kernels/0/measured");
  refused("\"seconds\":0.009", "\"seconds\":1e300", "/runs/0/seconds");
  refused("[0.002,512]", "[0.009,512]", "times do not increase");
  refused("[0.002,512]", "[0.002]", "not a pair");
  refused("\"high_water\":512", "\"high_water\":-1", "high_water");
  refused("\"kernel_begin\":[0.001,", "\"kernel_begin\":[0.001,0.001,", "one for each of 5 kernels");
  refused("\"kernel_begin\":[0.001,", "\"kernel_begin\":[0.5,", "kernel 0 ends before it begins");
  refused("\"work\":\"contraction\"", "\"work\":\"magic\"", "no kind of work");
  refused("\"step\":2", "\"step\":6", "/bodies/0/step");
  refused("\"machine\"", "\"machin\"", "machin");
}

TEST(Profile, BodiesInBodiesHaveALimit) {
  std::string text = to_json(sample());
  const std::string empty =
      "\"iterations\":1,\"steps\":[{\"kind\":\"compute\",\"op\":\"x\",\"work\":\"rows\","
      "\"dtype\":\"f32\",\"flops\":1,\"bytes\":1}],\"kernels\":[{\"first\":0,\"last\":1,"
      "\"lane\":0,\"predicted\":0,\"measured\":0}],\"bodies\":[";
  std::string deep = "\"bodies\": [", end;
  for (int i = 0; i < 200; ++i) {
    deep += "{\"step\":0,\"region\":0," + empty;
    end += "]}";
  }
  const std::size_t at = text.find("\"bodies\": ["), runs = text.find("\"runs\": [");
  text = text.substr(0, at) + deep + end + "],\n" + text.substr(runs);
  EXPECT_EQ(testing::code_of([&] { profile_from_json(text); }), ErrorCode::bad_plan_file);
}

// What the trace holds, checked as a reader of traces would.
struct Trace {
  explicit Trace(const std::string& text) : json(nlohmann::json::parse(text)) {}
  std::vector<nlohmann::json> of(const std::string& phase) const {
    std::vector<nlohmann::json> list;
    for (const nlohmann::json& event : json.at("traceEvents")) {
      if (event.at("ph") == phase) list.push_back(event);
    }
    return list;
  }
  nlohmann::json json;
};

std::int64_t ns(const nlohmann::json& microseconds) { return std::llround(1e3 * microseconds.get<double>()); }

TEST(ProfileTrace, SlicesOfALaneNestAndNeverCross) {
  const Trace trace(sample().to_trace());
  std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
  for (const auto& slice : trace.of("X"))
    lanes[slice.at("tid")].emplace_back(ns(slice.at("ts")), ns(slice.at("ts")) + ns(slice.at("dur")));
  EXPECT_EQ(lanes.size(), 3u);
  EXPECT_EQ(lanes[1].size(), 5u);  // three kernels, one of which has two parts
  for (const auto& [lane, slices] : lanes) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_LE(slices[i].first, slices[i].second);
      for (std::size_t j = i + 1; j < slices.size();
           ++j) {  // a later one begins behind this one or lies in it
        EXPECT_TRUE(slices[j].first >= slices[i].second ||
                    (slices[j].first >= slices[i].first && slices[j].second <= slices[i].second));
      }
    }
  }
}

TEST(ProfileTrace, EveryArrowHasABeginAndAnEndWithinASlice) {
  const Trace trace(sample().to_trace());
  std::map<int, nlohmann::json> begins, ends;
  for (const auto& event : trace.of("s")) EXPECT_TRUE(begins.emplace(event.at("id"), event).second);
  for (const auto& event : trace.of("f")) EXPECT_TRUE(ends.emplace(event.at("id"), event).second);
  ASSERT_EQ(begins.size(), 2u);  // the copy that comes back, and the product that is computed again
  std::set<std::string> what;
  for (const auto& [id, begin] : begins) {
    ASSERT_TRUE(ends.contains(id));
    const nlohmann::json& end = ends[id];
    EXPECT_EQ(begin.at("name"), end.at("name"));
    EXPECT_EQ(end.at("bp"), "e");
    EXPECT_LE(ns(begin.at("ts")), ns(end.at("ts")));
    what.insert(begin.at("name"));
    for (const nlohmann::json& event : {begin, end}) {
      bool inside = false;
      for (const auto& slice : trace.of("X"))
        inside |= slice.at("tid") == event.at("tid") && ns(slice.at("ts")) <= ns(event.at("ts")) &&
                  ns(event.at("ts")) <= ns(slice.at("ts")) + ns(slice.at("dur"));
      EXPECT_TRUE(inside) << event;
    }
  }
  EXPECT_EQ(what, (std::set<std::string>{"computed again", "comes back"}));
}

TEST(ProfileTrace, CountersOfAMemoryGoForwardInTime) {
  const Trace trace(sample().to_trace());
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> counters;
  for (const auto& event : trace.of("C"))
    counters[event.at("name")].emplace_back(ns(event.at("ts")), event.at("args").at("bytes"));
  ASSERT_EQ(counters.size(), 2u);
  for (const auto& [name, points] : counters) EXPECT_TRUE(std::ranges::is_sorted(points)) << name;
  EXPECT_EQ(counters["memory ram"][1].second, 576);
}

TEST(ProfileTrace, NamesFromOutsideCannotEndAText) {
  Profile profile = sample();
  const std::string hostile = "\"}],\\\n\x01\xff</script>";
  profile.body.steps[0].name = profile.body.steps[0].op = profile.body.steps[0].file = hostile;
  profile.lanes[0] = profile.memories[0].name = profile.machine = hostile;
  const Trace trace(profile.to_trace());
  EXPECT_EQ(trace.of("M").size(), 4u);
  EXPECT_EQ(trace.of("X").front().at("name"), "\"}],\\\n\x01\uFFFD</script>");
  const Profile read = profile_from_json(to_json(profile));
  EXPECT_EQ(read.body.steps[0].name, "\"}],\\\n\x01\uFFFD</script>");
}

}  // namespace
}  // namespace tidemark
