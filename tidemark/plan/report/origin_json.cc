#include "tidemark/plan/report/origin_json.h"

#include <limits>

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;

Json limit_json(std::int64_t bytes) { return bytes < 0 ? Json(nullptr) : Json(bytes); }

std::int64_t read_limit(const JsonReader& r) { return r.kind() == JsonKind::null ? -1 : r.integer(0); }

std::string read_name(const JsonReader& r) {
  std::string name = r.text();
  if (name.empty()) r.reject("an empty name");
  return name;
}

PlanOrigin::Loop read_loop(const JsonReader& r) {
  r.only({"own", "inside", "segments", "again", "on_disk"});
  PlanOrigin::Loop loop;
  loop.own = read_limit(r.field("own"));
  loop.inside = read_limit(r.field("inside"));
  if (r.has("segments")) loop.segments = r.field("segments").integer(1, PlanOrigin::Loop::most_segments);
  if (r.has("again")) loop.again = r.field("again").integer(0, loop.segments);
  if (r.has("on_disk")) loop.on_disk = r.field("on_disk").boolean();
  return loop;
}

}  // namespace

Json origin_json(const PlanOrigin& origin) {
  Json json = {{"traced", origin.traced}, {"prepared", origin.prepared}, {"function", origin.function}};
  if (origin.micro_batches != 1) json["micro_batches"] = origin.micro_batches;
  if (origin.undone != 0) json["undone"] = origin.undone;
  if (origin.drift != 0) json["drift"] = origin.drift;
  for (const std::string& form : origin.forms)
    json["forms"].push_back(form.empty() ? Json(nullptr) : Json(form));
  for (const PlanOrigin::Loop& loop : origin.loops) {
    Json one = {{"own", limit_json(loop.own)}, {"inside", limit_json(loop.inside)}};
    if (loop.segments != 1) one["segments"] = loop.segments;
    if (loop.again != 0) one["again"] = loop.again;
    if (loop.on_disk) one["on_disk"] = true;
    json["loops"].push_back(std::move(one));
  }
  if (origin.several_steps) json["several_steps"] = true;
  if (!origin.undonated.empty()) json["undonated"] = origin.undonated;
  return json;
}

PlanOrigin read_origin(const JsonReader& r) {
  r.only({"traced", "prepared", "function", "micro_batches", "undone", "drift", "forms", "loops",
          "several_steps", "undonated"});
  PlanOrigin origin;
  origin.traced = read_name(r.field("traced"));
  origin.prepared = read_name(r.field("prepared"));
  origin.function = r.field("function").text();
  if (r.has("micro_batches")) origin.micro_batches = r.field("micro_batches").integer(1);
  if (r.has("undone")) origin.undone = r.field("undone").integer(0);
  if (r.has("drift")) {
    origin.drift = r.field("drift").number();
    if (!(origin.drift >= 0 && origin.drift < 1)) r.field("drift").reject("no share", "from 0 to 1");
  }
  if (r.has("forms")) {
    r.field("forms").each([&](const JsonReader& form) {
      origin.forms.push_back(form.kind() == JsonKind::null ? "" : read_name(form));
    });
  }
  if (r.has("loops")) {
    r.field("loops").each([&](const JsonReader& loop) { origin.loops.push_back(read_loop(loop)); });
  }
  if (r.has("several_steps")) origin.several_steps = r.field("several_steps").boolean();
  if (r.has("undonated")) {
    r.field("undonated").each([&](const JsonReader& input) {
      origin.undonated.push_back(input.integer(0, std::numeric_limits<std::int32_t>::max()));
    });
  }
  return origin;
}

}  // namespace tidemark
