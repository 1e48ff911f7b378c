#include "tidemark/plan/report/plan_json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tidemark/base/json_reader.h"
#include "tidemark/ir/limits.h"
#include "tidemark/plan/report/origin_json.h"
#include "tidemark/plan/report/plan_hash.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;
using Reader = JsonReader;
constexpr std::string_view format_name = "tidemark-plan";
constexpr int format_version = 2;
constexpr JsonFileKind plan_file{"plan file", ErrorCode::bad_plan_file};

template <class Tag>
Json id_json(Id<Tag> id) {
  return id.valid() ? Json(id.index) : Json(nullptr);
}

Json ref_json(const Ref& ref) {
  Json strides = Json::array();
  for (std::int64_t s : ref.strides) strides.push_back(s);
  return {{"value", id_json(ref.value)},
          {"buffer", id_json(ref.buffer)},
          {"offset", ref.offset},
          {"strides", std::move(strides)}};
}

Json refs_json(const std::vector<Ref>& refs) {
  Json list = Json::array();
  for (const Ref& ref : refs) list.push_back(ref_json(ref));
  return list;
}

Ref read_ref(const Reader& r) {
  r.only({"value", "buffer", "offset", "strides"});
  Ref ref;
  r.field("value").read(ref.value);
  r.field("buffer").read(ref.buffer);
  ref.offset = r.field("offset").integer();
  r.field("strides").each([&](const Reader& s) {
    if (ref.strides.rank() == max_rank) s.reject(fmt::format("more than {} dimensions", max_rank));
    ref.strides.push_back(s.integer());
  });
  return ref;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 60;  // so that the sum of two is a number
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

Buffer read_buffer(const Reader& r) {
  r.only({"binding", "purpose", "bytes", "offset", "slot", "begin", "end", "value", "memory", "codec"});
  Buffer buffer;
  buffer.binding =
      r.field("binding").one_of({Binding::argument, Binding::arena, Binding::result, Binding::tile});
  buffer.purpose = r.field("purpose").one_of(
      {Purpose::input, Purpose::donated, Purpose::value, Purpose::output, Purpose::scratch});
  buffer.bytes = r.field("bytes").integer(0);
  const auto number = [](const Reader& field) { return static_cast<std::int32_t>(field.integer(0, most)); };
  if (r.has("offset")) buffer.offset = r.field("offset").integer(0);
  if (r.has("slot")) buffer.slot = number(r.field("slot"));
  buffer.begin = number(r.field("begin"));
  buffer.end = number(r.field("end"));
  r.field("value").read(buffer.value);
  if (r.has("memory")) buffer.memory = number(r.field("memory"));
  if (r.has("codec")) {
    buffer.codec = find_codec(r.field("codec").text());
    if (!buffer.codec) r.field("codec").reject("no such codec");
  }
  return buffer;
}

Step read_step(const Reader& r) {
  r.only({"kind", "node", "in", "out", "scratch", "group", "lane", "waits"});
  Step step;
  step.kind = r.field("kind").one_of(
      {StepKind::compute, StepKind::copy, StepKind::encode, StepKind::decode, StepKind::fetch});
  if (step.kind == StepKind::compute || r.has("node")) r.field("node").read(step.node);
  r.field("in").each([&](const Reader& in) { step.in.push_back(read_ref(in)); });
  r.field("out").each([&](const Reader& out) { step.out.push_back(read_ref(out)); });
  if (step.kind == StepKind::compute || r.has("scratch")) r.field("scratch").read(step.scratch);
  if (r.has("group")) step.group = static_cast<std::int32_t>(r.field("group").integer(0, most));
  if (r.has("lane")) step.lane = static_cast<std::int32_t>(r.field("lane").integer(0, most));
  if (r.has("waits")) {
    r.field("waits").each(
        [&](const Reader& w) { step.waits.push_back(static_cast<std::int32_t>(w.integer(0, most))); });
  }
  return step;
}

Json memory_json(const PlanMemory& memory) {
  return {{"name", memory.name},
          {"alignment", memory.alignment},
          {"input_bytes", memory.input_bytes},
          {"arena_bytes", memory.arena_bytes},
          {"peak", memory.peak()},
          {"lower_bound", memory.lower_bound},
          {"budget", memory.budget}};
}

// The first memory's figures are also the plan's own.
void read_memories(const Reader& list, Plan& plan) {
  std::size_t number = 0;
  list.each([&](const Reader& r) {
    r.only({"name", "alignment", "input_bytes", "arena_bytes", "peak", "lower_bound", "budget"});
    PlanMemory memory;
    memory.name = r.field("name").text();
    memory.alignment = r.field("alignment").integer(1);
    memory.input_bytes = r.field("input_bytes").integer(0, most_bytes);
    memory.arena_bytes = r.field("arena_bytes").integer(0, most_bytes);
    memory.lower_bound = r.field("lower_bound").integer(0);
    memory.budget = r.field("budget").integer(0);
    r.field("peak").integer(0);
    if (number++ > 0) {
      plan.further.push_back(std::move(memory));
      return;
    }
    if (memory.name != first_memory_name)
      r.field("name").reject("the first memory", std::string(first_memory_name));
    plan.alignment = memory.alignment;
    plan.input_bytes = memory.input_bytes;
    plan.arena_bytes = memory.arena_bytes;
    plan.lower_bound = memory.lower_bound;
    plan.budget = memory.budget;
  });
  if (number == 0) list.reject("no memory");
}

void read_lanes(const Reader& list, Plan& plan) {
  plan.lanes.clear();
  list.each([&](const Reader& r) {
    r.only({"name", "computes", "memory"});
    plan.lanes.push_back({.name = r.field("name").text(),
                          .computes = r.field("computes").boolean(),
                          .memory = static_cast<std::int32_t>(r.field("memory").integer(0, most))});
  });
}

Json hint_json(const HintReport& hint) {
  return {{"kind", name_of(hint.kind)},    {"name", hint.name},
          {"file", hint.where.file},       {"line", hint.where.line},
          {"value", id_json(hint.value)},  {"honoured", hint.honoured},
          {"reason", hint.reason},         {"bytes", hint.bytes},
          {"kept_bytes", hint.kept_bytes}, {"runs", hint.runs},
          {"seconds", hint.seconds}};
}

HintReport read_hint(const Reader& r) {
  r.only({"kind", "name", "file", "line", "value", "honoured", "reason", "bytes", "kept_bytes", "runs",
          "seconds"});
  HintReport hint;
  hint.kind = r.field("kind").one_of(
      {HintKind::keep, HintKind::recompute, HintKind::checkpoint, HintKind::compress, HintKind::offload});
  hint.name = r.field("name").text();
  hint.where.file = intern(r.field("file").text());
  hint.where.line =
      static_cast<std::uint32_t>(r.field("line").integer(0, std::numeric_limits<std::uint32_t>::max()));
  r.field("value").read(hint.value);
  hint.honoured = r.field("honoured").boolean();
  hint.reason = r.field("reason").text();
  hint.bytes = r.field("bytes").integer(0);
  hint.kept_bytes = r.field("kept_bytes").integer(0);
  hint.runs = static_cast<int>(r.field("runs").integer(0, std::numeric_limits<int>::max()));
  hint.seconds = r.field("seconds").number();
  return hint;
}

Json algorithms_json(const PlannedAlgorithms& algorithms) {
  Json entries = Json::array();
  for (const PlannedAlgorithms::Entry& entry : algorithms.entries)
    entries.push_back({{"form", entry.form}, {"algorithm", entry.algorithm}});
  return {{"machine", algorithms.machine}, {"entries", std::move(entries)}};
}

Json plan_json(const Plan& plan);

Json bodies_json(const std::vector<NodePlans>& bodies) {
  Json list = Json::array();
  for (const NodePlans& body : bodies) {
    Json regions = Json::array();
    for (const Plan& region : body.regions) regions.push_back(plan_json(region));
    list.push_back({{"node", id_json(body.node)}, {"regions", std::move(regions)}});
  }
  return list;
}

Json plan_json(const Plan& plan) {
  Json buffers = Json::array(), steps = Json::array(), hints = Json::array();
  for (const Buffer& b : plan.buffers) {
    Json json = {{"binding", name_of(b.binding)}, {"purpose", name_of(b.purpose)}, {"bytes", b.bytes}};
    if (b.slot >= 0) {
      json["slot"] = b.slot;
    } else {
      json["offset"] = b.offset;
    }
    json.update({{"begin", b.begin}, {"end", b.end}, {"value", id_json(b.value)}});
    if (b.memory > 0) json["memory"] = b.memory;
    if (b.codec) json["codec"] = b.codec->name;
    buffers.push_back(std::move(json));
  }
  for (const Step& s : plan.steps) {
    Json json = {{"kind", name_of(s.kind)}};
    if (s.kind == StepKind::compute) json["node"] = id_json(s.node);
    json.update({{"in", refs_json(s.in)}, {"out", refs_json(s.out)}});
    if (s.kind == StepKind::compute) json["scratch"] = id_json(s.scratch);
    if (s.group >= 0) json["group"] = s.group;
    if (s.lane > 0) json["lane"] = s.lane;
    if (!s.waits.empty()) json["waits"] = s.waits;
    steps.push_back(std::move(json));
  }
  for (const HintReport& hint : plan.hints) hints.push_back(hint_json(hint));
  Json memories = Json::array(), lanes = Json::array();
  for (std::size_t m = 0; m < memory_count(plan); ++m) memories.push_back(memory_json(memory_of(plan, m)));
  for (const Lane& lane : plan.lanes)
    lanes.push_back({{"name", lane.name}, {"computes", lane.computes}, {"memory", lane.memory}});
  Json json = {{"target", plan.target},
               {"memories", std::move(memories)},
               {"lanes", std::move(lanes)},
               {"order_free_bound", plan.order_free_bound},
               {"store_all_bytes", plan.store_all_bytes},
               {"flops", plan.flops},
               {"bytes_moved", plan.bytes_moved},
               {"seconds", plan.seconds},
               {"least_seconds", plan.least_seconds},
               {"seconds_bound", plan.seconds_bound},
               {"buffers", std::move(buffers)},
               {"steps", std::move(steps)},
               {"outputs", refs_json(plan.outputs)},
               {"hints", std::move(hints)}};
  if (plan.duplicates.values > 0) {
    json["duplicates"] = {{"values", plan.duplicates.values},
                          {"steps", plan.duplicates.steps},
                          {"seconds", plan.duplicates.seconds}};
  }
  if (!plan.algorithms.empty()) json["algorithms"] = algorithms_json(plan.algorithms);
  if (plan.binds_outputs) json["binds_outputs"] = true;
  if (!plan.bodies.empty()) json["bodies"] = bodies_json(plan.bodies);
  return json;
}

PlannedAlgorithms read_algorithms(const Reader& r) {
  r.only({"machine", "entries"});
  PlannedAlgorithms algorithms{.machine = std::string(r.field("machine").text())};
  r.field("entries").each([&](const Reader& entry) {
    entry.only({"form", "algorithm"});
    algorithms.entries.push_back(
        {std::string(entry.field("form").text()), std::string(entry.field("algorithm").text())});
  });
  if (algorithms.empty()) r.reject("no algorithms", "none of it, or one at least");
  return algorithms;
}

Duplicates read_duplicates(const Reader& r) {
  r.only({"values", "steps", "seconds"});
  constexpr int most = std::numeric_limits<int>::max();
  return {.values = static_cast<int>(r.field("values").integer(0, most)),
          .steps = static_cast<int>(r.field("steps").integer(-most, most)),
          .seconds = r.field("seconds").number()};
}

Plan read_plan(const Reader& root, int depth) {
  if (depth > max_region_depth)
    root.reject(fmt::format("regions nested more than {} deep", max_region_depth));
  root.only({"format",          "version", "plan_hash",   "memories", "lanes",         "order_free_bound",
             "store_all_bytes", "flops",   "bytes_moved", "seconds",  "least_seconds", "seconds_bound",
             "buffers",         "steps",   "outputs",     "hints",    "duplicates",    "binds_outputs",
             "bodies",          "target",  "algorithms",  "origin"});
  if (depth > 0 && root.has("origin")) root.field("origin").reject("the origin of a region");
  Plan plan;
  if (root.has("target")) plan.target = root.field("target").text();  // older files are of the CPU
  read_memories(root.field("memories"), plan);
  read_lanes(root.field("lanes"), plan);
  plan.order_free_bound = root.field("order_free_bound").integer(0);
  plan.store_all_bytes = root.field("store_all_bytes").integer(0);
  plan.flops = root.field("flops").number();
  plan.bytes_moved = root.field("bytes_moved").number();
  plan.seconds = root.field("seconds").number();
  plan.least_seconds = root.field("least_seconds").number();
  plan.seconds_bound = root.field("seconds_bound").number();
  root.field("buffers").each([&](const Reader& r) { plan.buffers.push_back(read_buffer(r)); });
  root.field("steps").each([&](const Reader& r) { plan.steps.push_back(read_step(r)); });
  root.field("outputs").each([&](const Reader& r) { plan.outputs.push_back(read_ref(r)); });
  root.field("hints").each([&](const Reader& r) { plan.hints.push_back(read_hint(r)); });
  if (root.has("duplicates")) plan.duplicates = read_duplicates(root.field("duplicates"));
  if (root.has("algorithms")) plan.algorithms = read_algorithms(root.field("algorithms"));
  if (root.has("binds_outputs")) plan.binds_outputs = root.field("binds_outputs").boolean();
  if (root.has("bodies")) {
    root.field("bodies").each([&](const Reader& r) {
      r.only({"node", "regions"});
      NodePlans body;
      r.field("node").read(body.node);
      r.field("regions").each(
          [&](const Reader& region) { body.regions.push_back(read_plan(region, depth + 1)); });
      plan.bodies.push_back(std::move(body));
    });
  }
  return plan;
}

}  // namespace

std::string to_json(const Plan& plan, const PlanOrigin& origin) {
  Json json = {
      {"format", format_name}, {"version", format_version}, {"plan_hash", hash_text(plan_hash(plan))}};
  if (origin.known()) json["origin"] = origin_json(origin);
  json.update(plan_json(plan));
  return json.dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);  // names may be no UTF-8
}

Plan plan_from_json(std::string_view text) { return plan_file_from_json(text).plan; }

PlanFile plan_file_from_json(std::string_view text) {
  const JsonDocument document(text, plan_file);
  const Reader root(document);
  if (root.field("format").text() != format_name)
    root.field("format").reject("not a plan", std::string(format_name));
  if (root.field("version").integer() != format_version) {
    root.field("version").reject("another version of the format", fmt::format("{}", format_version));
  }
  if (root.has("plan_hash")) root.field("plan_hash").text();
  PlanFile file;
  if (root.has("origin")) file.origin = read_origin(root.field("origin"));
  file.plan = read_plan(root, 0);
  return file;
}

}  // namespace tidemark
