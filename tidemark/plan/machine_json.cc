#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tidemark/base/json_reader.h"
#include "tidemark/base/text_file.h"
#include "tidemark/plan/machine.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view format_name = "tidemark-machine";
constexpr int format_version = 2;
constexpr JsonFileKind machine_file{"machine file", ErrorCode::bad_machine_file};
constexpr Bytes most_machine_bytes = Bytes(std::int64_t{1} << 24);
constexpr int most_threads = 1 << 20;
constexpr double growth_tolerance = 1e-6;  // of rounding, where a rate grows exactly as the size

std::string_view name_at(int work) { return name_of(static_cast<WorkKind>(work)); }

Json curve_json(const Curve& curve) {
  Json list = Json::array();
  for (const Curve::Point& point : curve.points) list.push_back(Json::array({point.size, point.rate}));
  return list;
}

Curve read_curve(const JsonReader& r) {
  Curve curve;
  r.each([&](const JsonReader& pair) {
    std::vector<double> numbers;
    pair.each([&](const JsonReader& x) { numbers.push_back(x.positive()); });
    if (numbers.size() != 2) pair.reject("not a pair", "[size, rate]");
    const Curve::Point point{numbers[0], numbers[1]};
    if (!curve.points.empty()) {
      const Curve::Point& last = curve.points.back();
      if (point.size <= last.size) pair.reject("sizes do not increase");
      if (point.rate / last.rate > (1 + growth_tolerance) * (point.size / last.size)) {
        pair.reject("the rate grows faster than the size: more work would take less time",
                    fmt::format("a rate up to {:g}", last.rate * (point.size / last.size)));
      }
    }
    curve.points.push_back(point);
  });
  if (curve.points.empty()) r.reject("no points", "at least one pair [size, rate]");
  return curve;
}

WorkRates read_rates(const JsonReader& r) {
  r.only({"flops", "bytes", "speed"});
  WorkRates rates{.flops = read_curve(r.field("flops")), .bytes = read_curve(r.field("bytes"))};
  const JsonReader speed = r.field("speed");
  std::vector<std::string_view> names;
  for (int t = 0; t < dtype_count; ++t) names.push_back(name_of(static_cast<DType>(t)));
  speed.only(names);
  for (std::size_t t = 0; t < dtype_count; ++t) rates.speed[t] = speed.field(names[t]).positive();
  return rates;
}

Json memories_json(const Machine& machine) {
  Json list = Json::array();
  for (const MachineMemory& memory : machine.further)
    list.push_back({{"name", memory.name}, {"bytes", memory.bytes}});
  return list;
}

Json links_json(const Machine& machine) {
  Json list = Json::array();
  for (const Link& link : machine.links) {
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"latency", link.latency},
                    {"bandwidth", link.bandwidth},
                    {"beside_compute", link.beside_compute}});
  }
  return list;
}

Json codecs_json(const Machine& machine) {
  Json list = Json::array();
  for (const CodecRate& rate : machine.codecs)
    list.push_back({{"codec", rate.codec}, {"encode", rate.encode}, {"decode", rate.decode}});
  return list;
}

void read_memories(const JsonReader& list, Machine& machine) {
  list.each([&](const JsonReader& r) {
    r.only({"name", "bytes"});
    machine.further.push_back({.name = r.field("name").text(), .bytes = r.field("bytes").integer(1)});
  });
}

void read_links(const JsonReader& list, Machine& machine) {
  const auto last = static_cast<std::int64_t>(machine.further.size());
  list.each([&](const JsonReader& r) {
    r.only({"from", "to", "latency", "bandwidth", "beside_compute"});
    const Link link{.from = static_cast<int>(r.field("from").integer(0, last)),
                    .to = static_cast<int>(r.field("to").integer(0, last)),
                    .latency = r.field("latency").positive(),
                    .bandwidth = r.field("bandwidth").positive(),
                    .beside_compute = r.field("beside_compute").positive()};
    if (find_link(machine, link.from, link.to)) r.reject("there is such a link already");
    machine.links.push_back(link);
  });
}

void read_codecs(const JsonReader& list, Machine& machine) {
  list.each([&](const JsonReader& r) {
    r.only({"codec", "encode", "decode"});
    machine.codecs.push_back({.codec = r.field("codec").text(),
                              .encode = r.field("encode").positive(),
                              .decode = r.field("decode").positive()});
  });
}

}  // namespace

std::string to_json(const Machine& machine) {
  Json work = Json::object();
  for (int w = 1; w < work_count; ++w) {
    const WorkRates& rates = machine[static_cast<WorkKind>(w)];
    Json speed = Json::object();
    for (int t = 0; t < dtype_count; ++t) {
      speed[std::string(name_of(static_cast<DType>(t)))] = rates.speed[static_cast<std::size_t>(t)];
    }
    work[std::string(name_at(w))] = {
        {"flops", curve_json(rates.flops)}, {"bytes", curve_json(rates.bytes)}, {"speed", std::move(speed)}};
  }
  Json json = {{"format", format_name},
               {"version", format_version},
               {"name", machine.name},
               {"threads", machine.threads},
               {"memory_bytes", machine.memory_bytes},
               {"overhead", machine.overhead},
               {"work", std::move(work)},
               {"further_memories", memories_json(machine)},
               {"links", links_json(machine)},
               {"codecs", codecs_json(machine)}};
  if (machine.overlaps) json["overlaps"] = true;
  return json.dump(1);
}

Machine machine_from_json(std::string_view text) {
  const JsonDocument document(text, machine_file);
  const JsonReader root(document);
  if (root.field("format").text() != format_name) {
    root.field("format").reject("not a machine", std::string(format_name));
  }
  const std::int64_t version = root.field("version").integer();
  if (version != 1 && version != format_version)
    root.field("version").reject("another version of the format", fmt::format("1 or {}", format_version));
  root.only({"format", "version", "name", "threads", "memory_bytes", "overhead", "work", "further_memories",
             "links", "codecs", "overlaps"});
  Machine machine;
  machine.name = root.field("name").text();
  machine.threads = static_cast<int>(root.field("threads").integer(1, most_threads));
  machine.memory_bytes = root.field("memory_bytes").integer(1);
  machine.overhead = root.field("overhead").positive();
  if (const auto overlaps = root.find("overlaps")) machine.overlaps = overlaps->boolean();
  const JsonReader work = root.field("work");
  std::vector<std::string_view> names;
  for (int w = 1; w < work_count; ++w) names.push_back(name_at(w));
  work.only(names);
  for (int w = 1; w < work_count; ++w) machine[static_cast<WorkKind>(w)] = read_rates(work.field(name_at(w)));
  if (version == 1) return machine;  // of the time when there was one memory
  read_memories(root.field("further_memories"), machine);
  read_links(root.field("links"), machine);
  read_codecs(root.field("codecs"), machine);
  return machine;
}

Machine load_machine(const std::string& path) {
  std::string text;
  try {
    text = read_text_file(path, "a machine file", most_machine_bytes);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.help = "`tidemark machine --output FILE` writes one for this machine";
    fail(error.code(), std::move(parts));
  }
  try {
    return machine_from_json(text);
  } catch (Error& error) {  // the text knows its lines, not its name
    error.set_where(SourceLine(intern(path), error.where().line));
    throw;
  }
}

}  // namespace tidemark
