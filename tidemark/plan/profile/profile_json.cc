#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tidemark/base/json_reader.h"
#include "tidemark/base/text_file.h"
#include "tidemark/ir/limits.h"
#include "tidemark/plan/profile/profile.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;
using Reader = JsonReader;
constexpr std::string_view profile_format = "tidemark-profile";
constexpr int profile_version = 1;
constexpr JsonFileKind profile_file{"profile", ErrorCode::bad_plan_file};
constexpr std::int64_t most_profile_bytes = std::int64_t{1} << 60;  // so that the sum of two is a number
constexpr std::int64_t most_profile_numbers = std::numeric_limits<std::int32_t>::max();

// Names are the user's, and need not be UTF-8.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A list with an item in each line: for people who look, and for tools that compare.
template <class Items, class F>
std::string lines_of(const Items& items, const F& json_of) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? ",\n  " : "\n  ") + text_of(json_of(item));
  return text + "\n ]";
}

Json profile_step_json(const ProfileStep& step) {
  Json json = {{"kind", name_of(step.kind)}, {"op", step.op}};
  if (!step.name.empty()) json["name"] = step.name;
  if (!step.file.empty()) json.update({{"file", step.file}, {"line", step.line}});
  if (step.origin >= 0) json["origin"] = step.origin;
  if (step.kind == StepKind::compute) {
    json.update({{"work", name_of(step.work)}, {"dtype", name_of(step.dtype)}, {"flops", step.flops}});
    if (step.speed != 1) json["speed"] = step.speed;
    if (step.declared > 0) json["declared"] = step.declared;
  } else {
    json.update({{"from", step.from}, {"to", step.to}});
    if (!step.codec.empty()) json["codec"] = step.codec;
  }
  json["bytes"] = step.bytes;
  return json;
}

Json kernel_json(const ProfileKernel& kernel) {
  return {{"first", kernel.first},
          {"last", kernel.last},
          {"lane", kernel.lane},
          {"predicted", kernel.predicted},
          {"measured", kernel.measured}};
}

Json body_json(const ProfileBody& body) {
  Json steps = Json::array(), kernels = Json::array(), bodies = Json::array();
  for (const ProfileStep& step : body.steps) steps.push_back(profile_step_json(step));
  for (const ProfileKernel& kernel : body.kernels) kernels.push_back(kernel_json(kernel));
  for (const ProfileBody& inner : body.bodies) bodies.push_back(body_json(inner));
  return {{"step", body.step},         {"region", body.region},         {"iterations", body.iterations},
          {"steps", std::move(steps)}, {"kernels", std::move(kernels)}, {"bodies", std::move(bodies)}};
}

Json profile_memory_json(const ProfileMemory& memory) {
  Json curve = Json::array();
  for (const ProfileMemory::Point& point : memory.curve)
    curve.push_back(Json::array({point.seconds, point.bytes}));
  return {{"name", memory.name},
          {"input_bytes", memory.input_bytes},
          {"arena_bytes", memory.arena_bytes},
          {"high_water", memory.high_water},
          {"curve", std::move(curve)}};
}

Json run_json(const ProfileRun& run) {
  return {{"begin", run.begin},
          {"seconds", run.seconds},
          {"kernel_begin", run.kernel_begin},
          {"kernel_end", run.kernel_end}};
}

double at_least_0(const Reader& r) {
  const double x = r.number();
  if (!(x >= 0) || !std::isfinite(x)) r.reject(fmt::format("{} is out of range", x), "0 or more");
  return x;
}

// Far above any run, so that it can be counted in nanoseconds.
double read_seconds(const Reader& r) {
  constexpr double most_seconds = 1e9;
  const double x = at_least_0(r);
  if (x > most_seconds)
    r.reject(fmt::format("{} is out of range", x), fmt::format("at most {}", most_seconds));
  return x;
}

std::int32_t number_below(const Reader& r, std::size_t end, std::string_view of) {
  if (end == 0) r.reject(fmt::format("there is no {}", of));
  return static_cast<std::int32_t>(r.integer(0, static_cast<std::int64_t>(end) - 1));
}

WorkKind read_work(const Reader& r) {
  const std::string said = r.text();
  for (int w = 1; w < work_count; ++w) {
    if (name_of(static_cast<WorkKind>(w)) == said) return static_cast<WorkKind>(w);
  }
  r.reject("`" + said + "` is no kind of work");
}

DType read_dtype(const Reader& r) {
  const std::optional<DType> dtype = dtype_named(r.text());
  if (!dtype) r.reject("no such dtype");
  return *dtype;
}

// `number`: of the step, which its origin lies before.
ProfileStep read_profile_step(const Reader& r, std::size_t number, std::size_t memories) {
  ProfileStep step;
  step.kind = r.field("kind").one_of(
      {StepKind::compute, StepKind::copy, StepKind::encode, StepKind::decode, StepKind::fetch});
  step.op = r.field("op").text();
  if (const auto name = r.find("name")) step.name = name->text();
  if (const auto file = r.find("file")) {
    step.file = file->text();
    step.line =
        static_cast<std::uint32_t>(r.field("line").integer(0, std::numeric_limits<std::uint32_t>::max()));
    if (step.file.empty()) file->reject("no name of a file", "none of `file` and `line`, or a name");
  }
  if (const auto origin = r.find("origin")) step.origin = number_below(*origin, number, "step before");
  step.bytes = at_least_0(r.field("bytes"));
  if (step.kind == StepKind::compute) {
    r.only({"kind", "op", "name", "file", "line", "origin", "work", "dtype", "flops", "speed", "declared",
            "bytes"});
    step.work = read_work(r.field("work"));
    step.dtype = read_dtype(r.field("dtype"));
    step.flops = at_least_0(r.field("flops"));
    if (const auto speed = r.find("speed")) step.speed = speed->positive();
    if (const auto declared = r.find("declared")) step.declared = declared->positive();
    return step;
  }
  r.only({"kind", "op", "name", "file", "line", "origin", "from", "to", "codec", "bytes"});
  step.from = number_below(r.field("from"), memories, "memory");
  step.to = number_below(r.field("to"), memories, "memory");
  if (const auto codec = r.find("codec")) {
    step.codec = codec->text();
    if (step.codec.empty()) codec->reject("no name of a codec");
  }
  return step;
}

ProfileKernel read_kernel(const Reader& r, std::int32_t first, std::size_t steps, std::size_t lanes) {
  r.only({"first", "last", "lane", "predicted", "measured"});
  ProfileKernel kernel;
  kernel.first = first;
  if (r.field("first").integer() != first)
    r.field("first").reject("kernels have all steps, in order", fmt::format("{}", first));
  kernel.last =
      static_cast<std::int32_t>(r.field("last").integer(first + 1, static_cast<std::int64_t>(steps)));
  kernel.lane = number_below(r.field("lane"), lanes, "lane");
  kernel.predicted = read_seconds(r.field("predicted"));
  kernel.measured = read_seconds(r.field("measured"));
  return kernel;
}

// What a plan's own part and a body have alike.
struct Bounds {
  std::size_t memories = 0, lanes = 0;
};

ProfileBody read_body(const Reader& r, const Bounds& bounds, int depth) {
  if (depth > max_region_depth) r.reject(fmt::format("bodies nested more than {} deep", max_region_depth));
  ProfileBody body;
  r.field("steps").each([&](const Reader& step) {
    if (static_cast<std::int64_t>(body.steps.size()) == most_profile_numbers) step.reject("too many steps");
    body.steps.push_back(read_profile_step(step, body.steps.size(), bounds.memories));
  });
  std::int32_t first = 0;
  r.field("kernels").each([&](const Reader& kernel) {
    body.kernels.push_back(read_kernel(kernel, first, body.steps.size(), bounds.lanes));
    const auto number = static_cast<std::int32_t>(body.kernels.size()) - 1;
    for (first = body.kernels.back().first; first < body.kernels.back().last; ++first)
      body.steps[static_cast<std::size_t>(first)].kernel = number;
  });
  if (static_cast<std::size_t>(first) != body.steps.size())
    r.field("kernels").reject("kernels have all steps, in order",
                              fmt::format("{} steps, not {}", body.steps.size(), first));
  r.field("bodies").each([&](const Reader& inner) {
    inner.only({"step", "region", "iterations", "steps", "kernels", "bodies"});
    body.bodies.push_back(read_body(inner, bounds, depth + 1));
    body.bodies.back().step = number_below(inner.field("step"), body.steps.size(), "step");
    body.bodies.back().region =
        static_cast<std::int32_t>(inner.field("region").integer(0, most_profile_numbers));
    body.bodies.back().iterations = at_least_0(inner.field("iterations"));
  });
  return body;
}

ProfileMemory read_profile_memory(const Reader& r) {
  r.only({"name", "input_bytes", "arena_bytes", "high_water", "curve"});
  ProfileMemory memory{.name = r.field("name").text(),
                       .input_bytes = r.field("input_bytes").integer(0, most_profile_bytes),
                       .arena_bytes = r.field("arena_bytes").integer(0, most_profile_bytes),
                       .high_water = r.field("high_water").integer(0, most_profile_bytes)};
  r.field("curve").each([&](const Reader& pair) {
    std::vector<Reader> two;
    pair.each([&](const Reader& number) { two.push_back(number); });
    if (two.size() != 2) pair.reject("not a pair", "[seconds, bytes]");
    const ProfileMemory::Point point{read_seconds(two[0]), two[1].integer(0, most_profile_bytes)};
    if (!memory.curve.empty() && point.seconds < memory.curve.back().seconds)
      pair.reject("times do not increase");
    memory.curve.push_back(point);
  });
  return memory;
}

std::vector<double> read_kernel_times(const Reader& r, std::size_t count) {
  std::vector<double> times;
  r.each([&](const Reader& x) { times.push_back(read_seconds(x)); });
  if (times.size() != count)
    r.reject(fmt::format("{} times", times.size()), fmt::format("one for each of {} kernels", count));
  return times;
}

ProfileRun read_run(const Reader& r, std::size_t kernels) {
  r.only({"begin", "seconds", "kernel_begin", "kernel_end"});
  ProfileRun run{.begin = read_seconds(r.field("begin")),
                 .seconds = read_seconds(r.field("seconds")),
                 .kernel_begin = read_kernel_times(r.field("kernel_begin"), kernels),
                 .kernel_end = read_kernel_times(r.field("kernel_end"), kernels)};
  for (std::size_t k = 0; k < kernels; ++k) {
    if (run.kernel_end[k] < run.kernel_begin[k])
      r.field("kernel_end").reject(fmt::format("kernel {} ends before it begins", k));
  }
  return run;
}

}  // namespace

std::string to_json(const Profile& profile) {
  const auto field = [](std::string_view name, const Json& value) {
    return fmt::format(" \"{}\": {},\n", name, text_of(value));
  };
  std::string text = "{\n" + field("format", profile_format) + field("version", profile_version);
  text += field("plan_hash", profile.plan_hash) + field("target", profile.target);
  text += field("machine", profile.machine) + field("predicted", profile.predicted);
  text += field("measured", profile.measured()) + field("lanes", profile.lanes);
  const auto list = [](std::string_view name, const std::string& lines) {
    return fmt::format(" \"{}\": {}", name, lines);
  };
  text += list("memories", lines_of(profile.memories, profile_memory_json)) + ",\n";
  text += list("steps", lines_of(profile.body.steps, profile_step_json)) + ",\n";
  text += list("kernels", lines_of(profile.body.kernels, kernel_json)) + ",\n";
  text += list("bodies", lines_of(profile.body.bodies, body_json)) + ",\n";
  text += list("runs", lines_of(profile.runs, run_json)) + "\n}";
  return text;
}

Profile profile_from_json(std::string_view text, std::string_view file) {
  const JsonDocument document(text, profile_file, file);
  const Reader root(document);
  if (root.field("format").text() != profile_format)
    root.field("format").reject("not a profile", std::string(profile_format));
  if (root.field("version").integer() != profile_version)
    root.field("version").reject("another version of the format", fmt::format("{}", profile_version));
  root.only({"format", "version", "plan_hash", "target", "machine", "predicted", "measured", "lanes",
             "memories", "steps", "kernels", "bodies", "runs"});
  Profile profile{.plan_hash = root.field("plan_hash").text(),
                  .target = root.field("target").text(),
                  .machine = root.field("machine").text(),
                  .predicted = read_seconds(root.field("predicted"))};
  root.field("lanes").each([&](const Reader& lane) { profile.lanes.push_back(lane.text()); });
  root.field("memories").each([&](const Reader& r) { profile.memories.push_back(read_profile_memory(r)); });
  profile.body = read_body(root, {profile.memories.size(), profile.lanes.size()}, 0);
  root.field("runs").each(
      [&](const Reader& r) { profile.runs.push_back(read_run(r, profile.body.kernels.size())); });
  if (profile.runs.empty()) root.field("runs").reject("no runs", "at least one");
  return profile;
}

Profile load_profile(const std::string& path) {
  return profile_from_json(read_text_file(path, "a profile"), path);
}

}  // namespace tidemark
